//! Requests to hosts outside that a live world gives away, so that others send them over a real network.

use std::future::Future;

use crate::engine::env::Env;
use crate::engine::ids::CallId;
use crate::engine::wait::{Call, Fetch};
use crate::engine::world::State;
use crate::protocol::http::{Request, Response};
use crate::protocol::op::Op;
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
    /// Says what came of it: [`Error::NetworkLost`] if another try may go better.
    pub fn answered(&self, outcome: Result<Response, Error>) -> Arrived {
        Arrived { call: self.call, outcome: outcome.map(Reply::Fetch) }
    }
}

impl Env {
    /// Sends a request to a host outside the cloud and waits for the response. In a simulation it is the host of that
    /// name; a process that [reaches outside](crate::MachineConfig::reaches) gives the request away, to be sent over a
    /// connection that is encrypted if it is to be secure.
    pub fn fetch_outside(
        &self,
        host: &str,
        is_secure: bool,
        request: Request,
    ) -> impl Future<Output = Result<Response, Error>> + 'static {
        let mut state = self.world().state();
        if !state.reaches_outside() || state.hosts.named(host).is_some() {
            drop(state);
            return self.fetch_from(host, request);
        }
        let call = state.prepare(self.host(), None, None, Op::Fetch { to: host.into(), request });
        if is_secure && let Some(live) = &mut state.live {
            live.secure.insert(call);
        }
        Fetch(Ok(Call::new(self.world().clone(), call)))
    }
}

impl State {
    /// Whether requests to hosts outside are given away.
    pub fn reaches_outside(&self) -> bool {
        self.live.as_ref().is_some_and(|live| live.outside.is_some())
    }

    /// Gives a request to a host outside away.
    pub fn give_outside(&mut self, call: CallId) {
        let Op::Fetch { to, request } = self.trace.op(call.0) else {
            unreachable!("only requests have no host here")
        };
        let (to, request) = (to.to_string(), request.clone());
        let live = self.live.as_mut().expect("in a simulation every host is there");
        let is_secure = live.secure.remove(&call);
        let waiting = live.outside.as_mut().expect("it was asked before the call was made");
        waiting.push(Outbound { call, to, is_secure, request });
    }
}
