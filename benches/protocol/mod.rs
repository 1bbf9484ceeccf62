//! An upload pipeline that survives crashes, written once for every world it is measured in.
//!
//! A client uploads ten photos under four keys. The store keeps each and notifies the queue; the
//! queue delivers to the worker, one time in ten twice; the worker asks the store and tells the
//! agent; the agent writes a row and starts a workflow; the engine does three steps, each a guarded
//! update at the agent. One host crashes on the way.

mod hosts;
mod message;
mod plan;
mod rows;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

pub use message::{Host, Message, Reply, Verb};
pub use plan::{DOWN, Plan};
pub use rows::{Memory, Rows, Sqlite};

/// How many uploads, hence workflows.
pub const UPLOADS: u8 = 10;
/// How long a caller waits for a reply.
pub const RPC_TIMEOUT: Duration = Duration::from_secs(1);
const KEYS: u32 = 4;
const STEPS: u8 = 3;
const RETRY: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(100);
/// After so many looks the client stops waiting for workflows, and the run has failed.
const LOOKS: u32 = 300;

/// A host's view of the world it runs in.
pub trait World: Clone + 'static {
    /// Asks another host; none when no reply came within [`RPC_TIMEOUT`].
    fn call(&self, to: Host, message: Message) -> impl Future<Output = Option<Reply>>;
    /// Waits in simulated time.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()>;
    /// Simulated time since the run began.
    fn now(&self) -> Duration;
    /// A number in `0..n`.
    fn random(&self, n: u32) -> u32;
    /// Runs beside the caller and dies with its host.
    fn spawn(&self, work: impl Future<Output = ()> + 'static);
}

/// One run of the protocol: what its hosts have stored, which no crash takes away.
pub struct Protocol {
    /// The store: the newest upload under each key.
    objects: RefCell<BTreeMap<u8, u8>>,
    /// The queue: messages that are not acknowledged yet, by upload.
    pending: RefCell<BTreeMap<u8, Message>>,
    /// The agent: a row for each upload.
    rows: Rc<dyn Rows>,
    /// The engine: the last step done of each workflow.
    workflows: RefCell<BTreeMap<u8, u8>>,
    repeated: u8,
    calls: Cell<u32>,
    ended: Cell<Duration>,
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub calls: u32,
    pub simulated: Duration,
}

impl Protocol {
    /// A run that has not begun.
    pub fn new(plan: &Plan, rows: Rc<dyn Rows>) -> Rc<Protocol> {
        Rc::new(Protocol {
            objects: RefCell::default(),
            pending: RefCell::default(),
            rows,
            workflows: RefCell::default(),
            repeated: plan.repeated,
            calls: Cell::new(0),
            ended: Cell::new(Duration::ZERO),
        })
    }

    /// What the client does: uploads, and waits for the workflows.
    pub async fn client<W: World>(self: Rc<Self>, world: W) {
        for upload in 0..UPLOADS {
            let gap_ms = 500 + world.random(4_001);
            world.sleep(Duration::from_millis(gap_ms.into())).await;
            let key = world.random(KEYS) as u8;
            let put = Message { verb: Verb::Put, upload, key, step: 0 };
            while self.call(&world, Host::Store, put).await != Reply::Done {
                world.sleep(RETRY).await;
            }
        }
        for _ in 0..LOOKS {
            if self.completed() == usize::from(UPLOADS) {
                break;
            }
            world.sleep(POLL).await;
        }
        self.ended.set(world.now());
    }

    /// What the run did; an error when a workflow is missing or unfinished.
    pub fn tally(&self) -> Result<Tally, String> {
        let (started, completed) = (self.workflows.borrow().len(), self.completed());
        let all = usize::from(UPLOADS);
        if (started, completed) != (all, all) {
            return Err(format!("{started} workflows started and {completed} completed of {all}"));
        }
        Ok(Tally { calls: self.calls.get(), simulated: self.ended.get() })
    }

    fn completed(&self) -> usize {
        self.workflows.borrow().values().filter(|step| **step == STEPS).count()
    }

    async fn call<W: World>(&self, world: &W, to: Host, message: Message) -> Reply {
        self.calls.set(self.calls.get() + 1);
        world.call(to, message).await.unwrap_or(Reply::Failed)
    }
}
