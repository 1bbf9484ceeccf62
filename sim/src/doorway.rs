//! The one doorway: request, verdict, effect, reply. Every crossing between application and
//! platform, in either direction, goes through [`State::request`] and [`World::arrive`].

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::agenda::Event;
use crate::call::{Op, Outcome, Reply};
use crate::env::Env;
use crate::error::Error;
use crate::fault::{Class, Fault};
use crate::host::Work;
use crate::queue::{self, BatchResult, MessageBatch};
use crate::r2;
use crate::site::OpCode;
use crate::storm::{Crossing, Verdict};
use crate::trace::What;
use crate::world::{Doom, InFlight, QUEUES_ACTOR, R2_ACTOR, State, World};

/// How long a caller waits for a reply that does not come.
const PATIENCE: Duration = Duration::from_secs(10);
/// How soon the platform notices that a worker died in the middle of a call.
const NOTICE: Duration = Duration::from_millis(1);

impl State {
    /// A call sets out. Its reply, if there ever is one, will be in `calls[call]`.
    pub fn request(&mut self, caller: u16, callee: Option<u16>, op: Arc<Op>) -> u32 {
        let call = self.calls.len() as u32;
        let code = op.code();
        self.record(caller, What::Call { call, op: op.clone() });
        let verdict = self.judge(caller, callee, &op, code);
        let task = self.current;
        let flight =
            InFlight { caller, task, callee, op, code, verdict, outcome: None, closed: false };
        self.calls.push(flight);
        self.depart(call);
        call
    }

    fn judge(
        &mut self,
        caller: u16,
        callee: Option<u16>,
        op: &Op,
        code: OpCode,
    ) -> Option<Verdict> {
        // A call to a service can kill its caller; a call to a worker can kill the worker.
        let victim = callee.unwrap_or(caller);
        let crossing = Crossing {
            caller: self.key(caller),
            caller_name: &self.hosts[usize::from(caller)].name,
            mortal: self.host(victim).mortal,
            op,
            code,
        };
        self.storm.verdict(&mut self.choices, &crossing)
    }

    /// Puts the request on its way, as its verdict says.
    fn depart(&mut self, call: u32) {
        let flight = &self.calls[call as usize];
        let (caller, code, class) = (flight.caller, flight.code, flight.op.class());
        let Some(verdict) = flight.verdict.clone() else {
            let latency = self.latency(caller, code);
            return self.plan(latency, Event::Arrive { call, copy: false });
        };
        let killing = verdict.fault.is_crash();
        if !killing {
            let by = (verdict.fault == Fault::Delay).then_some(verdict.by.as_millis() as u64);
            self.record(caller, What::Fault { call: Some(call), fault: verdict.fault, by });
        }
        match verdict.fault {
            Fault::Fail => {
                let error = verdict.error.unwrap_or(Error::NetworkLost);
                self.calls[call as usize].outcome = Some(Arc::new(Err(error)));
                let latency = self.latency(caller, code);
                self.plan(latency, Event::Reply { call });
            }
            Fault::LoseRequest => self.plan(PATIENCE, Event::GiveUp { call }),
            Fault::LoseEvent => {}
            Fault::CrashBefore if class == Class::Service => {
                self.doomed = Some(Doom { host: caller, fault: verdict.fault, call });
            }
            Fault::Delay => {
                self.plan(verdict.by, Event::Arrive { call, copy: false });
                if verdict.by > PATIENCE {
                    self.plan(PATIENCE, Event::GiveUp { call });
                }
            }
            Fault::Duplicate => {
                for copy in [false, true] {
                    let latency = self.latency(caller, code);
                    self.plan(latency, Event::Arrive { call, copy });
                }
            }
            _ => {
                let latency = self.latency(caller, code);
                self.plan(latency, Event::Arrive { call, copy: false });
            }
        }
    }

    /// A service call takes effect.
    fn effect(&mut self, call: u32, copy: bool) {
        let op = self.calls[call as usize].op.clone();
        let (actor, outcome) = match &*op {
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
            Op::Fetch { .. } | Op::Deliver { .. } => unreachable!("{op} is handled by a host"),
        };
        self.took_effect(call, copy, actor, outcome, Vec::new());
        self.plan_pumps();
    }

    fn took_effect(
        &mut self,
        call: u32,
        copy: bool,
        actor: u16,
        outcome: Outcome,
        notifications: Vec<r2::Notify>,
    ) {
        let outcome = Arc::new(outcome);
        let op = self.calls[call as usize].op.clone();
        self.record(actor, What::Effect { call, op, outcome: outcome.clone() });
        for notify in notifications {
            let current = self.current.take();
            let op = Op::Notify { queue: notify.queue, event: notify.event };
            self.request(R2_ACTOR, None, Arc::new(op));
            self.current = current;
        }
        if !copy {
            self.respond(call, outcome);
        }
    }

    /// Sends the reply on its way, as the call's verdict says.
    fn respond(&mut self, call: u32, outcome: Arc<Outcome>) {
        let flight = &mut self.calls[call as usize];
        let (caller, code, class) = (flight.caller, flight.code, flight.op.class());
        flight.outcome = Some(outcome);
        match flight.fault() {
            Some(Fault::LoseReply) => self.plan(PATIENCE, Event::GiveUp { call }),
            Some(Fault::CrashAfter) if class == Class::Service => {
                self.crash(caller, Fault::CrashAfter, Some(call));
            }
            _ => {
                let latency = self.latency(caller, code);
                self.plan(latency, Event::Reply { call });
            }
        }
    }

    /// A handler on a host has finished: its answer goes back, unless the verdict says otherwise.
    fn handled(&mut self, call: u32, copy: bool, outcome: Outcome, result: Option<BatchResult>) {
        let flight = &self.calls[call as usize];
        let host = flight.callee.expect("only hosts handle calls");
        let fault = flight.fault();
        let outcome = Arc::new(outcome);
        self.record(host, What::End { call, outcome: outcome.clone() });
        if fault == Some(Fault::CrashAfter) {
            self.doomed = Some(Doom { host, fault: Fault::CrashAfter, call });
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
                self.plan(latency, Event::Finish { call, result: Box::new(result) });
            }
        }
    }

    /// The worker that should have answered is gone; the platform notices and says so.
    pub fn handler_died(&mut self, call: u32) {
        let op = self.calls[call as usize].op.clone();
        match &*op {
            Op::Deliver { .. } => {
                let result = Box::new(BatchResult::died());
                self.plan(NOTICE, Event::Finish { call, result });
            }
            _ => self.plan(NOTICE, Event::GiveUp { call }),
        }
    }
}

impl World {
    /// A request reaches its target.
    pub fn arrive(self: &Rc<World>, call: u32, copy: bool) {
        let mut state = self.state();
        let flight = &state.calls[call as usize];
        let fault = flight.fault();
        let Some(host) = flight.callee else { return state.effect(call, copy) };
        if !state.host(host).up {
            return state.handler_died(call);
        }
        if fault == Some(Fault::CrashBefore) {
            state.crash(host, Fault::CrashBefore, Some(call));
            return state.handler_died(call);
        }
        let op = flight.op.clone();
        state.record(host, What::Begin { call, op });
        drop(state);
        let work = self.handler(host, call, copy);
        self.spawn(host, Some(call), work);
    }

    fn handler(self: &Rc<World>, host: u16, call: u32, copy: bool) -> Work<()> {
        let env = Env::new(self.clone(), host);
        let world = self.clone();
        let state = self.state();
        match &*state.calls[call as usize].op {
            Op::Fetch { request, .. } => {
                let handler = state.host(host).fetch.clone().expect("checked when it was called");
                let request = request.clone();
                Box::pin(async move {
                    let outcome = handler(env.clone(), request).await.map(Reply::Fetch);
                    let background = env.background().await;
                    let outcome = outcome.and_then(|reply| background.map(|()| reply));
                    world.state().handled(call, copy, outcome, None);
                })
            }
            Op::Deliver { batch, .. } => {
                let handler = state.host(host).queue.clone().expect("a consumer has a handler");
                let batch = MessageBatch::new(batch.clone());
                Box::pin(async move {
                    let outcome = handler(env.clone(), batch.clone()).await;
                    let outcome = outcome.and(env.background().await);
                    let ended = match outcome {
                        Ok(()) => queue::Outcome::Ok,
                        Err(_) => queue::Outcome::Exception,
                    };
                    let result = batch.result(ended);
                    let outcome = outcome.map(|()| Reply::Done);
                    world.state().handled(call, copy, outcome, Some(result));
                })
            }
            op @ (Op::R2(_) | Op::Queue(_) | Op::Notify { .. }) => {
                unreachable!("{op} has no handler")
            }
        }
    }
}
