//! The first part of a call's path: from its caller to its target.

use std::time::Duration;

use crate::choices::Odds;
use crate::choices::words::LATENCIES;
use crate::engine::agenda::Scheduled;
use crate::engine::calls::InFlight;
use crate::engine::doorway::CALL_TIMEOUT;
use crate::engine::ids::{CallId, EndId, HostId, SocketId, StubId};
use crate::engine::objects::Outgoing;
use crate::engine::services::Service;
use crate::engine::storm::Crossing;
use crate::engine::verdict::{Transit, Verdict};
use crate::engine::world::{PendingCrash, State};
use crate::protocol::fault::Fault;
use crate::protocol::op::Op;
use crate::protocol::site::{ChoiceKind, OpCode};
use crate::protocol::trace::EventKind;
use crate::scenario::Timing;
use crate::values::call::CallClass;

impl State {
    /// Makes a call on behalf of the task being polled. The reply, if one ever comes, is kept in
    /// `calls[call]`.
    pub fn request(
        &mut self,
        caller: HostId,
        callee: Option<HostId>,
        stub: Option<StubId>,
        op: Op,
    ) -> CallId {
        let call = self.prepare(caller, callee, stub, op);
        self.submit(call);
        call
    }

    /// Makes a call that no task awaits, even if one is being polled.
    pub fn request_unawaited(&mut self, caller: HostId, callee: Option<HostId>, op: Op) {
        let current = self.tasks.current.take();
        let call = self.request(caller, callee, None, op);
        self.calls[call].dropped = true;
        self.tasks.current = current;
    }

    /// The host of the service that an operation is for.
    #[inline(always)]
    fn service_host(&self, op: &Op) -> HostId {
        match op {
            Op::Kv(_) => self.services.kv_host.unwrap_or(Service::Cloud.host()),
            op => Service::of(op).host(),
        }
    }

    /// Gives a call its number, under which the trace keeps its operation. The call is made when it is
    /// submitted.
    // Inlined so that the operation is constructed in place: see `push_in_place`.
    #[inline(always)]
    pub fn prepare(
        &mut self,
        caller: HostId,
        callee: Option<HostId>,
        stub: Option<StubId>,
        op: Op,
    ) -> CallId {
        let flight = InFlight {
            caller,
            task: None,
            callee,
            target: callee.unwrap_or_else(|| self.service_host(&op)),
            stub,
            code: op.code(),
            class: op.class(),
            fault: None,
            verdict: None,
            outcome: None,
            closed: false,
            once: false,
            dropped: false,
        };
        let call = self.calls.add(flight);
        let number = self.trace.add_op(op);
        assert_eq!(call.0, number, "the trace and the calls number alike");
        call
    }

    /// Lets a prepared call depart. From an object it departs at the end of the turn, because nothing may
    /// leave an object before the writes ahead of it are committed (the output gate).
    pub fn submit(&mut self, call: CallId) {
        let flight = &mut self.calls[call];
        flight.task = self.tasks.current;
        let caller = flight.caller;
        if self.tasks.current.is_some() && self.host(caller).object.is_some() {
            self.objects.outbox.push(Outgoing::Call(call));
        } else {
            self.depart(call);
        }
    }

    /// Asks the storm what goes wrong with a call.
    fn judge(&mut self, call: CallId) -> Option<(Fault, Verdict)> {
        let flight = &self.calls[call];
        if self.storm.spares(flight.class) {
            return None;
        }
        let caller = &self.hosts[flight.caller];
        // A call to a service can crash its caller; a call to a host can crash that host.
        let victim = flight.callee.map_or(caller, |callee| &self.hosts[callee]);
        let crossing = Crossing {
            caller: caller.key,
            caller_name: &caller.name,
            can_crash: victim.can_crash,
            target: flight.target,
            op: self.trace.op(call.0),
            code: flight.code,
            class: flight.class,
            now: self.now,
        };
        let once = flight.once;
        let verdict = self.storm.verdict(&mut self.choices, &crossing);
        verdict.filter(|(fault, _)| !(once && *fault == Fault::Duplicate))
    }

    /// Puts a call on its way, as its verdict says.
    pub fn depart(&mut self, call: CallId) {
        let flight = &self.calls[call];
        let (caller, code, class) = (flight.caller, flight.code, flight.class);
        if class == CallClass::Journal {
            let verdict = self.judge(call);
            return self.write_journal(call, verdict.map(|(fault, _)| fault));
        }
        self.record(caller, EventKind::Call { call: call.0 });
        let Some((fault, verdict)) = self.judge(call) else {
            let latency = self.latency(caller, code);
            return self.schedule_arrival(call, latency);
        };
        // A crash is recorded when the host crashes.
        if !fault.is_crash() {
            let by = verdict.late_by().map(|by| by.as_millis() as u64);
            self.record(caller, EventKind::Fault { call: Some(call.0), fault, by });
        }
        let request = verdict.request(self.trace.op(call.0));
        let flight = &mut self.calls[call];
        (flight.fault, flight.verdict) = (Some(fault), Some(Box::new(verdict)));
        if fault == Fault::CrashBefore && crashes_caller(class) {
            return self.crash_caller(call, fault);
        }
        match request {
            Transit::Usual => {
                let latency = self.latency(caller, code);
                self.schedule_arrival(call, latency);
            }
            Transit::After(by) => {
                self.schedule_arrival(call, by);
                if by > CALL_TIMEOUT {
                    self.schedule(CALL_TIMEOUT, Scheduled::GiveUp { call });
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
                self.calls[call].outcome = Some(refused);
                let latency = self.latency(caller, code);
                self.schedule(latency, Scheduled::Reply { call });
            }
        }
    }

    /// Loses a request on its way. What its caller notices depends on the call.
    fn lose_request(&mut self, call: CallId) {
        match *self.trace.op(call.0) {
            Op::SocketMessage { socket, .. } | Op::Push { socket, .. } => {
                self.close_socket(SocketId(socket));
            }
            Op::Frame { end, .. } => self.cut(call, EndId(end)),
            Op::Alarm { .. } => self.handler_died(call),
            // A service that notifies another does not wait for an answer.
            Op::Notify { .. } => {}
            _ => self.schedule(CALL_TIMEOUT, Scheduled::GiveUp { call }),
        }
    }

    /// Schedules the arrival of a call: not before those that left earlier through the same stub.
    fn schedule_arrival(&mut self, call: CallId, after: Duration) {
        let at = self.calls.line_up(call, self.now + after);
        self.agenda.schedule(at, Scheduled::Arrive { call, copy: false });
    }

    /// Draws how long the next message of a call travels.
    // Not inlined: it is long and has many callers.
    #[inline(never)]
    pub fn latency(&mut self, host: HostId, op: OpCode) -> Duration {
        // On the wall clock, what takes time takes time.
        if self.live.is_some() {
            return Duration::ZERO;
        }
        let of = match self.scenario.timing {
            Timing::Latency if self.storm.active() => LATENCIES.len() as u32,
            Timing::Latency | Timing::Order => 1,
        };
        let odds = if self.choices.swarm().latency() { Odds::Even } else { Odds::Rare(0) };
        let drawn = self.choices.choose_here(ChoiceKind::Latency, self.key(host), op, of, odds);
        LATENCIES[drawn as usize]
    }

    /// Crashes the host that made this call when its poll is over.
    pub fn crash_caller(&mut self, call: CallId, fault: Fault) {
        let host = self.calls[call].caller;
        self.pending_crash = Some(PendingCrash { host, fault, call });
    }
}

/// Whether a platform service answers calls of this class, so that a crash on one is the caller's.
pub(super) fn crashes_caller(class: CallClass) -> bool {
    matches!(class, CallClass::Service | CallClass::Ai | CallClass::Create | CallClass::Read)
}
