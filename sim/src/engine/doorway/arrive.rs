//! The second part of a call's path: its target handles it.

use std::cell::RefMut;
use std::rc::Rc;

use crate::engine::env::Env;
use crate::engine::host::Invocation;
use crate::engine::ids::{CallId, HostId, SocketId};
use crate::engine::services::Service;
use crate::engine::verdict::Verdict;
use crate::engine::world::{State, World};
use crate::protocol::error::Error;
use crate::protocol::fault::Fault;
use crate::protocol::op::Op;
use crate::protocol::reply::Reply;
use crate::protocol::trace::EventKind;
use crate::services::d1;
use crate::services::queue::{self, MessageBatch};
use crate::services::workflow;

impl World {
    /// A call reaches its target: a service, an object or a worker.
    pub fn arrive(self: &Rc<World>, mut state: RefMut<'_, State>, call: CallId, copy: bool) {
        state.calls.arrived(call);
        let flight = &state.calls[call];
        let fault = flight.fault;
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

impl State {
    /// A call takes effect on the service it was made to.
    pub fn effect(&mut self, call: CallId, copy: bool) {
        let (now, verdict) = (self.now, self.calls[call].verdict.as_deref());
        let (service, outcome) = match self.trace.op(call.0) {
            Op::R2(op) => {
                let applied = self.services.r2.apply(now, op);
                let outcome = applied.reply.map(Reply::R2).map_err(Error::R2);
                let notifications = applied.notifications;
                return self.took_effect(call, copy, Service::R2.host(), outcome, notifications);
            }
            Op::Queue(op) => {
                let reply = self.services.queues.apply(now, op);
                (Service::Queues, reply.map(Reply::Queue).map_err(Error::Queue))
            }
            Op::Notify { queue, event } => {
                let body = queue::MessageBody::json(event).expect("a notification is JSON");
                let reply = self.services.queues.apply(now, &queue::Op::send(queue, body));
                (Service::Queues, reply.map(Reply::Queue).map_err(Error::Queue))
            }
            Op::Ai(op) => {
                let most = match verdict {
                    Some(Verdict::FewLabels(most)) => *most,
                    _ => usize::MAX,
                };
                let labels = self.services.ai.apply(op);
                let labels = labels.map(|labels| labels.into_iter().take(most).collect());
                (Service::Ai, labels.map(Reply::Ai).map_err(Error::Ai))
            }
            Op::D1(op) => {
                let stale = match verdict {
                    Some(Verdict::StaleRead(lag)) => {
                        Some(op.clone().read_from(d1::ReadFrom::Replica { lag: *lag }))
                    }
                    _ => None,
                };
                let applied = self.services.d1.apply(now, stale.as_ref().unwrap_or(op));
                if !applied.changes.is_empty() {
                    let changes = applied.changes.into();
                    self.record(Service::D1.host(), EventKind::Rows { changes });
                }
                (Service::D1, applied.reply.map(Reply::D1).map_err(Error::D1))
            }
            Op::Workflow(op) => {
                let odd = match verdict {
                    Some(Verdict::FalseExists(way)) => workflow::Anomaly::of(op).get(*way).copied(),
                    _ => None,
                };
                let applied = self.services.workflows.apply_with(now, op, odd);
                let outcome = applied.reply.map(Reply::Workflow).map_err(Error::Workflow);
                self.took_effect(call, copy, Service::Workflows.host(), outcome, Vec::new());
                return self.follow(applied.follow);
            }
            Op::Push { socket, message } => {
                let (socket, message) = (SocketId(*socket), message.clone());
                let client = self.objects.sockets[socket].client;
                if let Some(reader) = self.objects.sockets.receive(socket, message) {
                    self.wake(reader);
                }
                // A message on a connection has no answer, which is what `copy` means here.
                return self.took_effect(call, true, client, Ok(Reply::Done), Vec::new());
            }
            op => unreachable!("{op} is handled by a host"),
        };
        self.took_effect(call, copy, service.host(), outcome, Vec::new());
        self.schedule_pumps();
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
        let outcome = outcome.and(self.background().await);
        let ended = match outcome {
            Ok(()) => queue::BatchOutcome::Ok,
            Err(_) => queue::BatchOutcome::Exception,
        };
        let result = batch.result(ended);
        let outcome = outcome.map(|()| Reply::Done);
        self.world().state().handled(invocation, outcome, Some(result));
    }
}
