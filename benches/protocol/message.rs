//! What the hosts say to each other, small enough for one frame.

/// A host that serves requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    Store,
    Queue,
    Worker,
    Agent,
    Engine,
}

impl Host {
    /// Every host, in the order of their discriminants.
    pub const ALL: [Host; 5] = [Host::Store, Host::Queue, Host::Worker, Host::Agent, Host::Engine];

    pub fn name(self) -> &'static str {
        match self {
            Host::Store => "store",
            Host::Queue => "queue",
            Host::Worker => "worker",
            Host::Agent => "agent",
            Host::Engine => "engine",
        }
    }
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Client to store: keep this upload.
    Put,
    /// Store to queue: an upload was kept.
    Notify,
    /// Queue to worker: handle this upload.
    Deliver,
    /// Worker to store: is the upload there?
    Head,
    /// Worker to agent: write it down and have its workflow run.
    Observe,
    /// Agent to engine: run the workflow of this upload.
    Start,
    /// Engine to agent: a step is done.
    Advance,
}

impl Verb {
    const ALL: [Verb; 7] = [
        Verb::Put,
        Verb::Notify,
        Verb::Deliver,
        Verb::Head,
        Verb::Observe,
        Verb::Start,
        Verb::Advance,
    ];
}

/// A request about one upload.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    pub verb: Verb,
    pub upload: u8,
    pub key: u8,
    /// Which step is done; only [`Verb::Advance`] uses it.
    pub step: u8,
}

impl Message {
    pub const BYTES: usize = 4;

    pub fn to_bytes(self) -> [u8; Message::BYTES] {
        [self.verb as u8, self.upload, self.key, self.step]
    }

    /// The message in `bytes`; only our own frames are read, so anything else is our mistake.
    pub fn from_bytes(bytes: &[u8]) -> Message {
        let [verb, upload, key, step] = bytes.try_into().expect("a frame has four bytes");
        Message { verb: Verb::ALL[usize::from(verb)], upload, key, step }
    }

    /// The same upload, asked something else.
    pub fn with(self, verb: Verb) -> Message {
        Message { verb, ..self }
    }
}

/// What is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    Done,
    /// The guard did not hold: it has happened before.
    Already,
    /// Try again later.
    Failed,
}

impl Reply {
    /// The reply as a status that is at home in HTTP and fits a frame of two bytes.
    pub fn status(self) -> u16 {
        match self {
            Reply::Done => 200,
            Reply::Already => 409,
            Reply::Failed => 503,
        }
    }

    pub fn from_status(status: u16) -> Reply {
        match status {
            200 => Reply::Done,
            409 => Reply::Already,
            _ => Reply::Failed,
        }
    }
}
