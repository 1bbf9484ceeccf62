//! The second part of a call's path: its target handles it.

use std::cell::RefMut;
use std::rc::Rc;

use crate::engine::env::Env;
use crate::engine::host::Invocation;
use crate::engine::ids::{CallId, HostId};
use crate::engine::world::{State, World};
use crate::protocol::fault::Fault;
use crate::protocol::op::Op;
use crate::protocol::outcome::{Error, Reply};
use crate::protocol::trace::EventKind;
use crate::services::queue::{self, MessageBatch};
use crate::values::call::CallClass;

impl World {
    /// A call reaches its target: a service, an object or a worker.
    #[inline(always)]
    pub fn arrive(self: &Rc<World>, mut state: RefMut<'_, State>, call: CallId, copy: bool) {
        state.calls.arrived(call);
        let flight = &state.calls[call];
        let fault = flight.fault;
        if flight.class == CallClass::Socket && matches!(state.trace.op(call.0), Op::Frame { .. }) {
            return self.arrive_at_end(state, call, copy);
        }
        let Some(host) = flight.callee else { return state.effect(call, copy) };
        if state.host(host).object.is_some() {
            return self.arrive_at_object(state, host, call, copy);
        }
        if !state.host(host).up {
            return state.handler_died(call);
        }
        if fault == Some(Fault::CrashBefore) {
            state.crash(host, Fault::CrashBefore, Some(call));
            return state.handler_died(call);
        }
        state.record(host, EventKind::Begin { call: call.0 });
        let env = Env::within(&mut state, self, host);
        let (slot, invocation) = (state.host(host), Invocation { call, copy });
        let work = match state.trace.op(call.0) {
            Op::Fetch { .. } => {
                let handler = slot.fetch.as_ref().expect("checked when it was called");
                handler(env, invocation)
            }
            Op::Deliver { batch, .. } => {
                let handler = slot.queue.as_ref().expect("a consumer has a handler");
                handler(env, MessageBatch::new(batch.clone()), invocation)
            }
            op => unreachable!("{op} has no handler on a worker"),
        };
        state.spawn(&self.woken, host, Some(call), work);
    }

    /// A method call, a connection, an alarm or a message reaches an object, which is woken up if need be.
    fn arrive_at_object(
        self: &Rc<World>,
        mut state: RefMut<'_, State>,
        host: HostId,
        call: CallId,
        copy: bool,
    ) {
        if state.calls[call].fault == Some(Fault::CrashBefore) {
            state.crash(host, Fault::CrashBefore, Some(call));
            return state.handler_died(call);
        }
        if !state.host(host).up {
            state.restart(host);
        } else if state.is_idle(host) {
            state.maybe_evict(host);
        }
        if let Op::Alarm { info, .. } = *state.trace.op(call.0) {
            state.alarm_began(host, info);
        }
        state.record(host, EventKind::Begin { call: call.0 });
        drop(state);
        let work = self.object_handler(host, Invocation { call, copy });
        self.spawn(host, Some(call), work);
    }
}

impl Env {
    /// A batch has been handled; its marks go back when the background work is done too.
    pub(crate) async fn consumed(
        &self,
        invocation: Invocation,
        batch: &MessageBatch,
        outcome: Result<(), Error>,
    ) {
        let spawned = self.world().state().invocations.has_spawned(self.invocation());
        let outcome = if spawned { outcome.and(self.leave().await) } else { outcome };
        let ended = match outcome {
            Ok(()) => queue::BatchOutcome::Ok,
            Err(_) => queue::BatchOutcome::Exception,
        };
        let result = batch.result(ended);
        let outcome = outcome.map(|()| Reply::Done);
        self.world().state().handled(invocation, outcome, Some(result));
    }
}
