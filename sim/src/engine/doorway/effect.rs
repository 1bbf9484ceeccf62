//! How a call takes effect on the service it was made to: one arm for each service.

use crate::engine::ids::{CallId, SocketId};
use crate::engine::inference::Inferred;
use crate::engine::live::Live;
use crate::engine::outbound::{Arrived, Outbound};
use crate::engine::services::Service;
use crate::engine::verdict::Verdict;
use crate::engine::world::State;
use crate::protocol::op::Op;
use crate::protocol::outcome::{Error, Outcome, Reply};
use crate::services::ai::{self, Ai};
use crate::services::{d1, queue, workflow};
use crate::values::body::Body;

impl State {
    /// A call takes effect on the service it was made to.
    pub fn effect(&mut self, call: CallId, copy: bool) {
        let (now, verdict) = (self.now, self.calls[call].verdict.as_deref());
        let (service, outcome) = match self.trace.op(call.0) {
            Op::R2(op) => {
                let applied = self.services.r2.apply(now, op);
                if let Some(live) = &mut self.live {
                    live.note_r2(op, &applied.reply);
                }
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
                let live = self.live.as_deref_mut();
                match infer(live, &mut self.services.ai, call, op, verdict) {
                    Some(outcome) => (Service::Ai, outcome),
                    None => return,
                }
            }
            Op::D1(op) => {
                let stale = match verdict {
                    Some(Verdict::StaleRead(lag)) => {
                        Some(op.clone().read_from(d1::ReadFrom::Replica { lag: *lag }))
                    }
                    _ => None,
                };
                let applied = self.services.d1.apply(now, stale.as_ref().unwrap_or(op));
                self.record_rows(Service::D1.host(), applied.changes);
                (Service::D1, applied.reply.map(Reply::D1).map_err(Error::D1))
            }
            Op::Kv(op) => {
                let reply = self.services.kv.apply(now, op, lag(verdict));
                let outcome = reply.map(Reply::Kv).map_err(Error::Kv);
                let host = self.services.kv_host.unwrap_or(Service::Cloud.host());
                return self.took_effect(call, copy, host, outcome, Vec::new());
            }
            Op::Workflow(op) => {
                let odd = match verdict {
                    Some(Verdict::FalseExists(way)) => workflow::Anomaly::of(op).get(*way).copied(),
                    _ => None,
                };
                let applied = self.services.workflows.apply_with(now, op, odd);
                let outcome = applied.reply.map(Reply::Workflow).map_err(Error::Workflow);
                if let Some(live) = &mut self.live {
                    live.note_workflow(op);
                }
                self.took_effect(call, copy, Service::Workflows.host(), outcome, Vec::new());
                return self.follow(applied.follow);
            }
            Op::Push { socket, message } => {
                let (socket, message) = (SocketId(*socket), message.clone());
                return self.pushed(call, socket, message);
            }
            Op::Fetch { .. } => return self.give_outside(call),
            op => unreachable!("{op} is handled by a host"),
        };
        self.took_effect(call, copy, service.host(), outcome, Vec::new());
        self.schedule_pumps();
    }

    /// A picture that was given away has been looked at.
    pub fn inferred(&mut self, done: Inferred) {
        let outcome = done.labels.map(|labels| Reply::Ai(labels.into())).map_err(Error::Ai);
        self.took_effect(done.call, false, Service::Ai.host(), outcome, Vec::new());
    }

    /// Whether requests to hosts outside are given away.
    pub fn reaches_outside(&self) -> bool {
        self.live.as_ref().is_some_and(|live| live.outside.is_some())
    }

    /// Gives a request to a host outside away.
    fn give_outside(&mut self, call: CallId) {
        let Op::Fetch { to, request } = self.trace.op(call.0) else {
            unreachable!("only requests have no host here")
        };
        let (to, request) = (to.to_string(), request.clone());
        let live = self.live.as_mut().expect("in a simulation every host is there");
        let is_secure = live.secure.remove(&call);
        let waiting = live.outside.as_mut().expect("it was asked before the call was made");
        waiting.push(Outbound::new(call, to, is_secure, request));
    }

    /// A request that was given away has been answered, or will not be.
    pub fn arrived(&mut self, done: Arrived) {
        self.took_effect(done.call, false, Service::Cloud.host(), done.outcome, Vec::new());
    }

    /// A message has come to the client's end of a connection.
    fn pushed(&mut self, call: CallId, socket: SocketId, message: Body) {
        let client = self.objects.sockets[socket].client;
        if let Some(reader) = self.objects.sockets.receive(socket, message) {
            self.wake(reader);
        }
        // A message on a connection has no answer, which is what `copy` means here.
        self.took_effect(call, true, client, Ok(Reply::Done), Vec::new());
        self.over(call);
    }
}

/// What the model answers; nothing yet when the picture was given away.
fn infer(
    live: Option<&mut Live>,
    ai: &mut Ai,
    call: CallId,
    op: &ai::Op,
    verdict: Option<&Verdict>,
) -> Option<Outcome> {
    if live.is_some_and(|live| live.give_away(call, ai, op)) {
        return None;
    }
    let most = match verdict {
        Some(Verdict::FewLabels(most)) => *most,
        _ => usize::MAX,
    };
    let labels = ai.apply(op).map(|labels| labels.into_iter().take(most).collect());
    Some(labels.map(Reply::Ai).map_err(Error::Ai))
}

/// How many writes the location that answers a read has not heard of.
fn lag(verdict: Option<&Verdict>) -> u64 {
    match verdict {
        Some(Verdict::StaleRead(lag)) => *lag,
        _ => 0,
    }
}
