//! The one doorway: request, verdict, effect, reply. Every crossing between application and
//! platform, in either direction, goes through [`State::request`] and [`World::arrive`].

use std::cell::RefMut;
use std::rc::Rc;
use std::time::Duration;

use crate::engine::agenda::Scheduled;
use crate::engine::env::Env;
use crate::engine::host::Invocation;
use crate::engine::storm::Crossing;
use crate::engine::verdict::{Transit, Verdict};
use crate::engine::world::{
    AI_ACTOR, D1_ACTOR, InFlight, Outgoing, PendingCrash, QUEUES_ACTOR, R2_ACTOR, State,
    WORKFLOWS_ACTOR, World, service,
};
use crate::protocol::error::Error;
use crate::protocol::fault::Fault;
use crate::protocol::object::ObjectError;
use crate::protocol::op::Op;
use crate::protocol::reply::{Outcome, Reply};
use crate::protocol::trace::{EventKind, OutcomeId};
use crate::services::d1;
use crate::services::queue::{self, BatchResult, MessageBatch};
use crate::services::r2;
use crate::services::workflow;
use crate::values::call::CallClass;
use crate::values::push_in_place::push_in_place;

/// How long a caller waits for a reply that does not come.
const PATIENCE: Duration = Duration::from_secs(10);
/// How soon the platform notices that a worker died in the middle of a call.
const NOTICE: Duration = Duration::from_millis(1);

impl State {
    /// A call sets out. Its reply, if there ever is one, will be in `calls[call]`.
    pub fn request(&mut self, caller: u16, callee: Option<u16>, line: Option<u32>, op: Op) -> u32 {
        let call = self.prepare(caller, callee, line, op);
        self.submit(call);
        call
    }

    /// A call gets its number. It is made when it is submitted, and not before.
    // Inlined so that a question is written where it stays: see `put`.
    #[inline(always)]
    pub fn prepare(&mut self, caller: u16, callee: Option<u16>, line: Option<u32>, op: Op) -> u32 {
        let flight = InFlight {
            caller,
            task: None,
            callee,
            target: callee.unwrap_or_else(|| service(&op)),
            line,
            code: op.code(),
            class: op.class(),
            fault: None,
            verdict: None,
            outcome: None,
            closed: false,
        };
        push_in_place(&mut self.calls, flight);
        self.trace.add_op(op)
    }

    /// The output gate: nothing leaves an object before the writes ahead of it are kept.
    pub fn submit(&mut self, call: u32) {
        let flight = &mut self.calls[call as usize];
        flight.task = self.current;
        let caller = flight.caller;
        if self.current.is_some() && self.host(caller).object.is_some() {
            self.outbox.push(Outgoing::Call(call));
        } else {
            self.depart(call);
        }
    }

    fn judge(&mut self, call: u32) -> Option<(Fault, Verdict)> {
        if self.storm.spares(self.calls[call as usize].class) {
            return None;
        }
        let flight = &self.calls[call as usize];
        let caller = &self.hosts[usize::from(flight.caller)];
        // A call to a service can kill its caller; a call to a worker can kill the worker.
        let victim = flight.callee.map_or(caller, |callee| &self.hosts[usize::from(callee)]);
        let crossing = Crossing {
            caller: caller.key,
            caller_name: &caller.name,
            can_crash: victim.can_crash,
            op: self.trace.op(call),
            code: flight.code,
            class: flight.class,
        };
        self.storm.verdict(&mut self.choices, &crossing)
    }

    /// Puts the request on its way, as its verdict says.
    pub fn depart(&mut self, call: u32) {
        let flight = &self.calls[call as usize];
        let (caller, code, class) = (flight.caller, flight.code, flight.class);
        if class == CallClass::Journal {
            let verdict = self.judge(call);
            return self.write_journal(call, verdict.map(|(fault, _)| fault));
        }
        self.record(caller, EventKind::Call { call });
        let Some((fault, verdict)) = self.judge(call) else {
            let latency = self.latency(caller, code);
            return self.schedule_arrival(call, latency);
        };
        // A crash is recorded when the host dies.
        if !fault.is_crash() {
            let by = verdict.late_by().map(|by| by.as_millis() as u64);
            self.record(caller, EventKind::Fault { call: Some(call), fault, by });
        }
        let request = match &verdict {
            Verdict::Request(transit) => transit.clone(),
            _ => Transit::Usual,
        };
        let flight = &mut self.calls[call as usize];
        (flight.fault, flight.verdict) = (Some(fault), Some(Box::new(verdict)));
        if fault == Fault::CrashBefore && service_like(class) {
            return self.crash_caller(call, fault);
        }
        match request {
            Transit::Usual => {
                let latency = self.latency(caller, code);
                self.schedule_arrival(call, latency);
            }
            Transit::After(by) => {
                self.schedule_arrival(call, by);
                if by > PATIENCE {
                    self.schedule(PATIENCE, Scheduled::GiveUp { call });
                }
            }
            Transit::Twice => {
                for copy in [false, true] {
                    let latency = self.latency(caller, code);
                    self.schedule(latency, Scheduled::Arrive { call, copy });
                }
            }
            Transit::Never => self.lose_request(call),
            Transit::Refused(error) => {
                let refused = self.trace.keep(Err(error));
                self.calls[call as usize].outcome = Some(refused);
                let latency = self.latency(caller, code);
                self.schedule(latency, Scheduled::Reply { call });
            }
        }
    }

    /// The request never arrives; what its caller notices depends on the call.
    fn lose_request(&mut self, call: u32) {
        match self.trace.op(call) {
            Op::SocketMessage { .. } | Op::Push { .. } => self.drop_connection(call),
            Op::Alarm { .. } => self.handler_died(call),
            // A service that notifies another does not wait for an answer.
            Op::Notify { .. } => {}
            _ => self.schedule(PATIENCE, Scheduled::GiveUp { call }),
        }
    }

    /// Plans when a request arrives: not before those that left earlier through the same stub.
    fn schedule_arrival(&mut self, call: u32, after: Duration) {
        let mut at = self.now + after;
        if let Some(line) = self.calls[call as usize].line {
            let line = &mut self.lines[line as usize];
            at = at.max(line.last);
            line.last = at;
            line.pending.push_back(call);
        }
        self.agenda.schedule(at, Scheduled::Arrive { call, copy: false });
    }

    /// The host that made this call dies when its poll is over.
    pub fn crash_caller(&mut self, call: u32, fault: Fault) {
        let host = self.calls[call as usize].caller;
        self.pending_crash = Some(PendingCrash { host, fault, call });
    }

    fn drop_connection(&mut self, call: u32) {
        if let Op::Push { socket, .. } | Op::SocketMessage { socket, .. } = *self.trace.op(call) {
            self.close_socket(socket);
        }
    }

    /// A service call takes effect.
    pub fn effect(&mut self, call: u32, copy: bool) {
        let (actor, outcome) = match self.trace.op(call) {
            Op::R2(op) => {
                let applied = self.r2.apply(self.now, op);
                let outcome = applied.reply.map(Reply::R2).map_err(Error::R2);
                return self.took_effect(call, copy, R2_ACTOR, outcome, applied.notifications);
            }
            Op::Queue(op) => {
                let reply = self.queues.apply(self.now, op);
                (QUEUES_ACTOR, reply.map(Reply::Queue).map_err(Error::Queue))
            }
            Op::Notify { queue, event } => {
                let body = queue::MessageBody::json(event).expect("a notification is JSON");
                let reply = self.queues.apply(self.now, &queue::Op::send(queue, body));
                (QUEUES_ACTOR, reply.map(Reply::Queue).map_err(Error::Queue))
            }
            Op::Ai(op) => {
                let most = match self.calls[call as usize].verdict.as_deref() {
                    Some(Verdict::FewLabels(most)) => *most,
                    _ => usize::MAX,
                };
                let labels =
                    self.ai.apply(op).map(|labels| labels.into_iter().take(most).collect());
                (AI_ACTOR, labels.map(Reply::Ai).map_err(Error::Ai))
            }
            Op::D1(op) => {
                let stale = match self.calls[call as usize].verdict.as_deref() {
                    Some(Verdict::StaleRead(lag)) => {
                        Some(op.clone().read_from(d1::ReadFrom::Replica { lag: *lag }))
                    }
                    _ => None,
                };
                let applied = self.d1.apply(self.now, stale.as_ref().unwrap_or(op));
                if !applied.changes.is_empty() {
                    self.record(D1_ACTOR, EventKind::Rows { changes: applied.changes.into() });
                }
                (D1_ACTOR, applied.reply.map(Reply::D1).map_err(Error::D1))
            }
            Op::Workflow(op) => {
                let odd = match self.calls[call as usize].verdict.as_deref() {
                    Some(Verdict::FalseExists(way)) => workflow::Anomaly::of(op).get(*way).copied(),
                    _ => None,
                };
                let applied = self.workflows.apply_with(self.now, op, odd);
                let outcome = applied.reply.map(Reply::Workflow).map_err(Error::Workflow);
                self.took_effect(call, copy, WORKFLOWS_ACTOR, outcome, Vec::new());
                return self.follow(applied.follow);
            }
            Op::Push { socket, message } => {
                let (socket, message) = (*socket, message.clone());
                let client = self.sockets[socket as usize].client;
                self.pushed(socket, message);
                // Nobody waits for the answer to a message on a connection.
                return self.took_effect(call, true, client, Ok(Reply::Done), Vec::new());
            }
            op => unreachable!("{op} is handled by a host"),
        };
        self.took_effect(call, copy, actor, outcome, Vec::new());
        self.schedule_pumps();
    }

    fn took_effect(
        &mut self,
        call: u32,
        copy: bool,
        actor: u16,
        outcome: Outcome,
        notifications: Vec<r2::Notify>,
    ) {
        let outcome = self.trace.keep(outcome);
        self.record(actor, EventKind::Effect { call, outcome });
        self.calls[call as usize].outcome.get_or_insert(outcome);
        for notify in notifications {
            let current = self.current.take();
            self.request(
                R2_ACTOR,
                None,
                None,
                Op::Notify { queue: notify.queue, event: notify.event },
            );
            self.current = current;
        }
        if !copy {
            self.respond(call, outcome);
        }
    }

    /// Sends the reply on its way, as the call's verdict says.
    fn respond(&mut self, call: u32, outcome: OutcomeId) {
        let flight = &mut self.calls[call as usize];
        let (caller, code, class) = (flight.caller, flight.code, flight.class);
        flight.outcome = Some(outcome);
        let verdict = flight.verdict.as_deref();
        if matches!(verdict, Some(Verdict::CrashAfter)) && service_like(class) {
            return self.crash(caller, Fault::CrashAfter, Some(call));
        }
        match verdict {
            Some(Verdict::Reply(Transit::Never)) => {
                self.schedule(PATIENCE, Scheduled::GiveUp { call })
            }
            Some(Verdict::Reply(Transit::After(by))) => {
                let by = *by;
                self.schedule(by, Scheduled::Reply { call });
                if by > PATIENCE {
                    self.schedule(PATIENCE, Scheduled::GiveUp { call });
                }
            }
            _ => {
                let latency = self.latency(caller, code);
                self.schedule(latency, Scheduled::Reply { call });
            }
        }
    }

    /// A handler on an object has finished: its answer leaves with the turn.
    pub fn answered(&mut self, call: u32, copy: bool, outcome: Outcome) {
        self.outbox.push(Outgoing::Answer { call, copy, outcome });
    }

    /// A handler on a host has finished.
    #[inline(always)]
    pub fn handled(
        &mut self,
        call: u32,
        copy: bool,
        outcome: Outcome,
        result: Option<BatchResult>,
    ) {
        let outcome = self.trace.keep(outcome);
        self.ended(call, copy, outcome, result);
    }

    /// Its answer goes back, unless the verdict says otherwise.
    fn ended(&mut self, call: u32, copy: bool, outcome: OutcomeId, result: Option<BatchResult>) {
        let flight = &self.calls[call as usize];
        let host = flight.callee.expect("only hosts handle calls");
        let fault = flight.fault;
        self.record(host, EventKind::End { call, outcome });
        if fault == Some(Fault::CrashAfter) {
            self.pending_crash = Some(PendingCrash { host, fault: Fault::CrashAfter, call });
            return;
        }
        match result {
            None if copy => {}
            None => self.respond(call, outcome),
            // A queue that hears nothing waits for the lease to end.
            Some(_) if fault == Some(Fault::LoseReply) => {}
            Some(result) => {
                let code = self.calls[call as usize].code;
                let latency = self.latency(host, code);
                self.schedule(latency, Scheduled::Finish { call, result: Box::new(result) });
            }
        }
    }

    /// The worker that should have answered is gone; the platform notices and says so.
    pub fn handler_died(&mut self, call: u32) {
        match self.trace.op(call) {
            Op::Alarm { .. } => {
                let host = self.calls[call as usize].callee.expect("an alarm has an object");
                self.alarm_failed(host);
            }
            Op::Rpc { .. } | Op::Connect { .. } => {
                self.answer_later(call, Error::Object(ObjectError::disconnected()));
            }
            Op::SocketMessage { .. } => {}
            Op::Deliver { .. } => {
                let result = Box::new(BatchResult::died());
                self.schedule(NOTICE, Scheduled::Finish { call, result });
            }
            _ => self.schedule(NOTICE, Scheduled::GiveUp { call }),
        }
    }

    /// The platform answers in place of a handler that is gone.
    pub fn answer_later(&mut self, call: u32, error: Error) {
        let answer = self.trace.keep(Err(error));
        self.calls[call as usize].outcome = Some(answer);
        self.schedule(NOTICE, Scheduled::Reply { call });
    }
}

/// Whether a platform service answers it, so that a crash on it is the caller's.
fn service_like(class: CallClass) -> bool {
    matches!(class, CallClass::Service | CallClass::Ai | CallClass::Create | CallClass::Read)
}

impl World {
    /// A request reaches its target.
    pub fn arrive(self: &Rc<World>, mut state: RefMut<'_, State>, call: u32, copy: bool) {
        let flight = &state.calls[call as usize];
        let (fault, callee) = (flight.fault, flight.callee);
        if let Some(line) = flight.line {
            state.lines[line as usize].pending.retain(|pending| *pending != call);
        }
        let Some(host) = callee else { return state.effect(call, copy) };
        if state.host(host).object.is_some() {
            drop(state);
            return self.arrive_at_object(host, call, copy);
        }
        if !state.host(host).up {
            return state.handler_died(call);
        }
        if fault == Some(Fault::CrashBefore) {
            state.crash(host, Fault::CrashBefore, Some(call));
            return state.handler_died(call);
        }
        state.record(host, EventKind::Begin { call });
        let env = Env::within(&mut state, self, host);
        let (slot, invocation) = (state.host(host), Invocation { call, copy });
        let work = match state.trace.op(call) {
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
}

impl Env {
    /// A batch has been handled; its marks go back when the background is done too.
    pub(crate) async fn consumed(
        &self,
        call: Invocation,
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
        self.world().state().handled(call.call, call.copy, outcome, Some(result));
    }
}
