//! The third part of a call's path: its answer goes back.

use crate::engine::agenda::Scheduled;
use crate::engine::doorway::request::crashes_caller;
use crate::engine::doorway::{CALL_TIMEOUT, NOTICE};
use crate::engine::host::Invocation;
use crate::engine::ids::{CallId, HostId};
use crate::engine::live::Flaw;
use crate::engine::objects::Outgoing;
use crate::engine::services::Service;
use crate::engine::verdict::{Transit, Verdict};
use crate::engine::world::{PendingCrash, State};
use crate::protocol::fault::Fault;
use crate::protocol::object::ObjectError;
use crate::protocol::op::Op;
use crate::protocol::outcome::{Error, Outcome};
use crate::protocol::trace::{EventKind, OutcomeId};
use crate::services::queue::BatchResult;
use crate::services::r2;

impl State {
    /// A service has applied a call: records the effect, sends R2's notifications, and answers.
    pub(super) fn took_effect(
        &mut self,
        call: CallId,
        copy: bool,
        actor: HostId,
        outcome: Outcome,
        notifications: Vec<r2::Notify>,
    ) {
        let outcome = self.trace.keep(outcome);
        self.record(actor, EventKind::Effect { call: call.0, outcome });
        self.calls[call].outcome.get_or_insert(outcome);
        for notify in notifications {
            let op = Op::Notify { queue: notify.queue, event: notify.event };
            if self.live.is_some() && !self.has_flaw(Flaw::NotifiesLater) {
                self.notify_at_once(op);
            } else {
                self.request_unawaited(Service::R2.host(), None, op);
            }
        }
        if !copy {
            self.respond(call, outcome);
        }
    }

    /// Notifies a queue in the tick of the change, so that both are written down together or not at all.
    fn notify_at_once(&mut self, op: Op) {
        let call = self.prepare(Service::R2.host(), None, None, op);
        self.record(Service::R2.host(), EventKind::Call { call: call.0 });
        self.effect(call, true);
        self.over(call);
    }

    /// A handler on an object has finished: its answer leaves at the end of the turn.
    pub fn handled_by_object(&mut self, invocation: Invocation, outcome: Outcome) {
        let Invocation { call, copy } = invocation;
        self.objects.outbox.push(Outgoing::Answer { call, copy, outcome });
    }

    /// A handler on a host has finished.
    #[inline(always)]
    pub fn handled(
        &mut self,
        invocation: Invocation,
        outcome: Outcome,
        result: Option<BatchResult>,
    ) {
        let outcome = self.trace.keep(outcome);
        self.ended(invocation, outcome, result);
    }

    /// Sends the answer of a handler back, unless the verdict says otherwise.
    fn ended(&mut self, of: Invocation, outcome: OutcomeId, result: Option<BatchResult>) {
        let Invocation { call, copy } = of;
        let flight = &self.calls[call];
        let (fault, code) = (flight.fault, flight.code);
        let host = flight.callee.expect("only hosts handle calls");
        self.record(host, EventKind::End { call: call.0, outcome });
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
                let latency = self.latency(host, code);
                self.schedule(latency, Scheduled::Finish { call, result: Box::new(result) });
            }
        }
    }

    /// Puts the answer to a call on its way, as the call's verdict says.
    fn respond(&mut self, call: CallId, outcome: OutcomeId) {
        let flight = &mut self.calls[call];
        let (caller, code, class) = (flight.caller, flight.code, flight.class);
        flight.outcome = Some(outcome);
        let verdict = flight.verdict.as_deref();
        if matches!(verdict, Some(Verdict::CrashAfter)) && crashes_caller(class) {
            return self.crash(caller, Fault::CrashAfter, Some(call));
        }
        match verdict {
            Some(Verdict::Blackout) => self.blackout(call),
            Some(Verdict::Reply(Transit::Never)) => {
                self.schedule(CALL_TIMEOUT, Scheduled::GiveUp { call });
            }
            Some(Verdict::Reply(Transit::After(by))) => {
                let by = *by;
                self.schedule(by, Scheduled::Reply { call });
                if by > CALL_TIMEOUT {
                    self.schedule(CALL_TIMEOUT, Scheduled::GiveUp { call });
                }
            }
            _ => {
                let latency = self.latency(caller, code);
                self.schedule(latency, Scheduled::Reply { call });
            }
        }
    }

    /// The host that should have answered is gone; the platform notices and answers in its place.
    pub fn handler_died(&mut self, call: CallId) {
        match self.trace.op(call.0) {
            Op::Alarm { .. } => {
                let host = self.calls[call].callee.expect("an alarm has an object");
                self.over(call);
                self.alarm_failed(host);
            }
            Op::Rpc { .. } | Op::Connect { .. } => {
                self.answer_later(call, Error::Object(ObjectError::disconnected()));
            }
            Op::SocketMessage { .. } | Op::Frame { .. } => self.over(call),
            Op::Deliver { .. } => {
                let result = Box::new(BatchResult::died());
                self.schedule(NOTICE, Scheduled::Finish { call, result });
            }
            _ => self.schedule(NOTICE, Scheduled::GiveUp { call }),
        }
    }

    /// A call that nobody awaits has been handled, so that a live world may forget it.
    pub fn over(&mut self, call: CallId) {
        if self.live.is_some() {
            let flight = &mut self.calls[call];
            (flight.closed, flight.dropped) = (true, true);
        }
    }

    /// Answers a call with an error of the platform, soon.
    pub fn answer_later(&mut self, call: CallId, error: Error) {
        let answer = self.trace.keep(Err(error));
        self.calls[call].outcome = Some(answer);
        self.schedule(NOTICE, Scheduled::Reply { call });
    }

    /// A reply reaches its caller, who may have given up before.
    pub fn reply(&mut self, call: CallId) {
        let outcome = self.calls[call].outcome;
        self.answer(call, outcome.expect("a reply on its way has an outcome"));
    }

    /// A caller that has heard nothing concludes that the connection is lost.
    pub fn give_up(&mut self, call: CallId) {
        if !self.calls[call].closed {
            let lost = self.trace.keep(Err(Error::NetworkLost));
            self.answer(call, lost);
        }
    }

    /// Closes a call with its answer and wakes the task that awaits it, if that is alive.
    fn answer(&mut self, call: CallId, outcome: OutcomeId) {
        let flight = &mut self.calls[call];
        if flight.closed {
            return;
        }
        flight.closed = true;
        flight.outcome = Some(outcome);
        let (caller, task) = (flight.caller, flight.task);
        let Some(task) = task.filter(|task| self.tasks[*task].alive) else { return };
        self.record(caller, EventKind::Return { call: call.0, outcome });
        self.wake(task);
    }
}
