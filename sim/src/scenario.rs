//! Everything about a run that is not a choice: what is sent, which storm is allowed, how far it goes.

pub mod answers;
pub mod conversation;
pub mod limits;
pub mod script;
pub mod scripted_fault;

use std::sync::Arc;
use std::time::Duration;

use crate::protocol::fault::FaultSet;
use crate::protocol::http::Request;
use crate::scenario::scripted_fault::ScriptedFault;
use crate::values::time::Time;

/// The plan of a run. Together with a tape it determines every byte of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// What the outside world does, and when.
    pub requests: Vec<ClientRequest>,
    /// The faults that may be drawn during the storm.
    pub drawn_faults: FaultSet,
    /// The faults that a script asks for by name.
    pub faults: Vec<ScriptedFault>,
    /// Hosts to kill at a given time.
    pub kills: Vec<Kill>,
    /// Whether messages race by latency or by a chosen order.
    pub timing: Timing,
    /// When the storm ends and the calm begins.
    pub storm_ends_at: Time,
    /// How many crashes may be drawn.
    pub max_crashes: u32,
    /// How many polls and events the run may take before it counts as a livelock.
    pub max_steps: u32,
    /// From where names are counted that are made anew, such as those of `Env::unique`. The same run with another salt
    /// has other names, and differs in what depends on them.
    pub salt: u64,
}

impl Default for Scenario {
    fn default() -> Scenario {
        Scenario {
            requests: Vec::new(),
            drawn_faults: FaultSet::NONE,
            faults: Vec::new(),
            kills: Vec::new(),
            timing: Timing::Latency,
            storm_ends_at: Time::from_ms(60_000),
            max_crashes: 3,
            max_steps: 50_000,
            salt: 0,
        }
    }
}

/// One request from outside.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientRequest {
    /// When it is sent.
    pub at: Time,
    /// Who sends it.
    pub from: Arc<str>,
    /// By which name others refer to its answer, as in `{{order.response.body.id}}`.
    pub name: Option<Arc<str>>,
    /// To which worker; the first that serves requests when not said.
    pub to: Option<Arc<str>>,
    /// The request that is sent. One that refers to the answers to others is sent when those have come; if there is
    /// nothing in them that it could use, it is not sent.
    pub request: Request,
    /// How often the sender tries again when nothing comes back or the answer is a 5xx.
    pub retries: u32,
}

impl ClientRequest {
    /// A request at `at` that is tried once.
    pub fn new(
        at: Time,
        method: &str,
        path: &str,
        body: impl Into<crate::values::body::Body>,
    ) -> ClientRequest {
        let request = Request::new(method, path, body);
        ClientRequest { at, from: "client".into(), name: None, to: None, request, retries: 0 }
    }

    /// Sets a header of the request.
    pub fn with_header(mut self, name: &str, value: &str) -> ClientRequest {
        self.request.headers.set(name, value);
        self
    }

    /// Gives the request a name, by which others refer to its answer.
    ///
    /// ```
    /// use thunderhead_sim::{ClientRequest, Time};
    ///
    /// let order = ClientRequest::new(Time::ZERO, "POST", "/orders", "").named("order");
    /// let paid = "/orders/{{order.response.body.id}}/paid";
    /// let paid = ClientRequest::new(Time::from_ms(5_000), "PUT", paid, "");
    /// ```
    pub fn named(mut self, name: &str) -> ClientRequest {
        self.name = Some(name.into());
        self
    }

    /// Lets the sender try again up to `retries` times.
    pub fn retried(mut self, retries: u32) -> ClientRequest {
        self.retries = retries;
        self
    }
}

/// A host that dies at a given time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Kill {
    /// The time of the crash.
    pub at: Time,
    /// The name of the host that crashes.
    pub host: Arc<str>,
    /// How long it stays down; drawn when not said.
    pub down: Option<Duration>,
}

/// How the race between messages is decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Timing {
    /// Each message takes a drawn latency: natural times, for random runs.
    #[default]
    Latency,
    /// All messages are equally fast and the next one to arrive is chosen among those pending for
    /// the same target: few alternatives, for enumeration and priority schedules.
    Order,
}

impl Timing {
    /// The word for it in a script.
    pub fn name(self) -> &'static str {
        match self {
            Timing::Latency => "latency",
            Timing::Order => "order",
        }
    }
}
