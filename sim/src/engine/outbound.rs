//! Requests to hosts outside that a live world gives away, so that others send them over a real network.

use crate::engine::ids::CallId;
use crate::protocol::http::{Request, Response};
use crate::protocol::outcome::{Error, Outcome, Reply};

/// A request that is to be sent, on any thread.
#[must_use = "who asked waits for the answer"]
#[derive(Debug)]
pub struct Outbound {
    call: CallId,
    /// Whom to ask: a name, or an address with the port when it is not the usual one.
    pub to: String,
    /// Whether the connection is to be encrypted.
    pub is_secure: bool,
    /// What to ask for.
    pub request: Request,
}

/// What came of it, for [`Machine::arrived`](crate::Machine::arrived).
#[must_use = "who asked waits for the answer"]
#[derive(Debug)]
pub struct Arrived {
    pub(crate) call: CallId,
    pub(crate) outcome: Outcome,
}

impl Outbound {
    pub(crate) fn new(call: CallId, to: String, is_secure: bool, request: Request) -> Outbound {
        Outbound { call, to, is_secure, request }
    }

    /// Says what came of it: [`Error::NetworkLost`] if another try may go better.
    pub fn answered(&self, outcome: Result<Response, Error>) -> Arrived {
        Arrived { call: self.call, outcome: outcome.map(Reply::Fetch) }
    }
}
