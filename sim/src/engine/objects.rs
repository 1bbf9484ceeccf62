//! Durable objects on their hosts: turns and gates, alarms, connections, storage.

use std::sync::Arc;

use crate::engine::ids::{CallId, GateId};
use crate::engine::objects::sockets::Sockets;
use crate::protocol::outcome::Outcome;

pub(crate) mod alarm;
pub(crate) mod gate;
pub(crate) mod handler;
pub(crate) mod sockets;
pub mod storage;
pub(crate) mod turn;

/// What the engine keeps for objects besides their hosts: the turn in progress, and all connections.
pub(crate) struct Objects {
    /// What the object being polled has sent. It leaves when the turn's writes are committed.
    pub outbox: Vec<Outgoing>,
    /// The reason why the object being polled resets itself.
    pub aborted: Option<Arc<str>>,
    pub sockets: Sockets,
    gates: u32,
}

/// What an object has sent during a turn.
pub(crate) enum Outgoing {
    Call(CallId),
    Answer { call: CallId, copy: bool, outcome: Outcome },
}

impl Default for Objects {
    fn default() -> Objects {
        let outbox = Vec::with_capacity(4);
        Objects { outbox, aborted: None, sockets: Sockets::default(), gates: 0 }
    }
}

impl Objects {
    /// An id for another gate; ids count from 1 over all objects.
    fn next_gate(&mut self) -> GateId {
        self.gates += 1;
        GateId(self.gates)
    }
}
