//! Turns of a durable object: what it does between two real awaits is kept or lost as one, and
//! nothing leaves it before that is decided.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::env::Env;
use crate::engine::host::{Gate, ObjectHost, Work};
use crate::engine::objects::instance::Instance;
use crate::engine::world::{Outgoing, State, World};
use crate::protocol::error::Error;
use crate::protocol::fault::Fault;
use crate::protocol::object::{AlarmInfo, ObjectError};
use crate::protocol::op::Op;
use crate::protocol::reply::Reply;
use crate::protocol::trace::EventKind;
use crate::values::body::Body;

/// How long an object is idle before it may lose its memory.
const IDLE: Duration = Duration::from_secs(10);

impl State {
    pub fn object(&self, host: u16) -> &ObjectHost {
        self.host(host).object.as_ref().expect("this host is an object")
    }

    pub fn object_mut(&mut self, host: u16) -> &mut ObjectHost {
        self.hosts[usize::from(host)].object.as_mut().expect("this host is an object")
    }

    /// A poll of an object is over.
    pub fn end_of_turn(&mut self, host: u16) {
        let sent = std::mem::take(&mut self.outbox);
        if let Some(reason) = self.aborted.take() {
            return self.reset(host, &reason, sent);
        }
        let wrote = self.object(host).storage.is_dirty();
        let slot = &self.hosts[usize::from(host)];
        let end = self.storm.turn_ends(&mut self.choices, slot.key, &slot.name, wrote);
        if end == 2 {
            self.crash(host, Fault::Crash, None);
            return unsent(&sent).for_each(|call| self.handler_died(call));
        }
        match self.object(host).storage.commit_turn() {
            Err(error) => return self.reset(host, &error.to_string().into(), sent),
            Ok(changes) if changes.is_empty() => {}
            Ok(changes) => self.record(host, EventKind::Rows { changes: changes.into() }),
        }
        self.schedule_alarm(host);
        for outgoing in sent {
            if self.pending_crash.is_none() {
                self.send_out(outgoing);
            }
        }
        self.object_mut(host).last_busy = self.now;
        if self.pending_crash.is_some() {
            self.settle_pending_crash();
        } else if end == 1 {
            self.crash(host, Fault::Crash, None);
        }
    }

    fn send_out(&mut self, outgoing: Outgoing) {
        match outgoing {
            Outgoing::Call(call) => self.depart(call),
            Outgoing::Answer { call, copy, outcome } => {
                if let Op::Alarm { .. } = self.trace.op(call) {
                    let host = self.calls[call as usize].callee.expect("an alarm has an object");
                    self.alarm_ended(host, call, copy, outcome);
                } else {
                    self.handled(call, copy, outcome, None);
                }
            }
        }
    }

    /// The object resets itself: those who wait for it get the reason.
    fn reset(&mut self, host: u16, reason: &Arc<str>, sent: Vec<Outgoing>) {
        self.record(host, EventKind::Abort { reason: reason.clone() });
        let waiting: Vec<u32> = (self.tasks.iter())
            .filter(|task| task.host == host && task.alive)
            .filter_map(|task| task.serves)
            .chain(unsent(&sent))
            .collect();
        for call in waiting {
            if let Op::Rpc { .. } | Op::Connect { .. } = self.trace.op(call) {
                self.answer_later(call, Error::Object(ObjectError::reset(reason.clone())));
            }
        }
        self.stop_object(host);
    }

    /// Memory, tasks and the writes of this turn are gone; the next call starts it anew.
    pub fn stop_object(&mut self, host: u16) {
        self.kill_tasks(host);
        let slot = &mut self.hosts[usize::from(host)];
        slot.up = false;
        let object = slot.object.as_mut().expect("this host is an object");
        object.storage.reset();
        self.deferred_drops.objects.extend(object.instance.take());
        object.gates.clear();
        let alarm = object.alarm.running.take();
        self.close_sockets_of(host);
        if let Some(info) = alarm {
            self.object_mut(host).alarm.running = Some(info);
            self.alarm_failed(host);
        }
    }

    /// Lets a task run now, or when the gate of its host opens.
    #[inline(always)]
    pub fn admit(&mut self, task: u32) {
        let (host, pass) = (self.tasks[task as usize].host, self.tasks[task as usize].pass);
        let object = self.hosts[usize::from(host)].object.as_mut();
        match object.and_then(|object| object.gates.last_mut()) {
            Some(gate) if pass != Some(gate.id) => gate.waiting.push(task),
            _ => self.ready.push_back(task),
        }
    }

    /// Closes a gate on a host; only tasks with its pass run until it opens.
    pub fn close_gate(&mut self, host: u16) -> u32 {
        self.gates += 1;
        let id = self.gates;
        self.object_mut(host).gates.push(Gate { id, waiting: Vec::new() });
        id
    }

    /// Lets a task through a gate.
    pub fn give_pass(&mut self, task: u32, gate: u32) {
        self.tasks[task as usize].pass = Some(gate);
        let host = self.tasks[task as usize].host;
        for gate in &mut self.object_mut(host).gates {
            gate.waiting.retain(|waiting| *waiting != task);
        }
        self.ready.retain(|ready| *ready != task);
        self.admit(task);
    }

    /// Puts a task that is running behind the gate of its host, if that is closed to it.
    pub fn held_back(&mut self, task: u32) -> bool {
        let (host, pass) = (self.tasks[task as usize].host, self.tasks[task as usize].pass);
        match self.object_mut(host).gates.last_mut() {
            Some(gate) if pass != Some(gate.id) => {
                gate.waiting.push(task);
                self.tasks[task as usize].ready = true;
                true
            }
            _ => false,
        }
    }

    pub fn open_gate(&mut self, host: u16, id: u32) {
        let gates = &mut self.object_mut(host).gates;
        let Some(at) = gates.iter().position(|gate| gate.id == id) else { return };
        let gate = gates.remove(at);
        gate.waiting.into_iter().for_each(|task| self.admit(task));
    }
}

/// What an object is asked to do.
enum ObjectCall {
    Rpc(Arc<str>, Body),
    Alarm(AlarmInfo),
    Message(u32, Body),
    Connect,
}

impl ObjectCall {
    fn of(op: &Op) -> ObjectCall {
        match op {
            Op::Rpc { method, args, .. } => ObjectCall::Rpc(method.clone(), args.clone()),
            Op::Alarm { info, .. } => ObjectCall::Alarm(*info),
            Op::SocketMessage { socket, message, .. } => {
                ObjectCall::Message(*socket, message.clone())
            }
            Op::Connect { .. } => ObjectCall::Connect,
            _ => unreachable!("{op} does not go to an object"),
        }
    }
}

/// The calls whose answers were lost with the turn: their handlers had just finished.
fn unsent(sent: &[Outgoing]) -> impl Iterator<Item = u32> + '_ {
    sent.iter().filter_map(|outgoing| match outgoing {
        Outgoing::Answer { call, copy: false, .. } => Some(*call),
        _ => None,
    })
}

impl World {
    /// A call, an alarm or a message reaches an object.
    pub fn arrive_at_object(self: &Rc<World>, host: u16, call: u32, copy: bool) {
        let mut state = self.state();
        let fault = state.calls[call as usize].fault;
        if fault == Some(Fault::CrashBefore) {
            state.crash(host, Fault::CrashBefore, Some(call));
            return state.handler_died(call);
        }
        if !state.host(host).up {
            state.restart(host);
        } else if state.idle(host) {
            let slot = &state.hosts[usize::from(host)];
            let (key, name) = (slot.key, slot.name.clone());
            let State { storm, choices, .. } = &mut *state;
            if storm.evicts(choices, key, &name) {
                let memory = state.object_mut(host).instance.take();
                state.deferred_drops.objects.extend(memory);
                state.record(host, EventKind::Fault { call: None, fault: Fault::Evict, by: None });
            }
        }
        if let Op::Alarm { info, .. } = *state.trace.op(call) {
            state.alarm_began(host, info);
        }
        state.record(host, EventKind::Begin { call });
        let asked = ObjectCall::of(state.trace.op(call));
        drop(state);
        let work = self.object_handler(host, call, copy, asked);
        self.spawn(host, Some(call), work);
    }

    fn object_handler(
        self: &Rc<World>,
        host: u16,
        call: u32,
        copy: bool,
        asked: ObjectCall,
    ) -> Work<()> {
        let env = Env::new(self.clone(), host);
        let world = self.clone();
        Box::pin(async move {
            let instance = world.instance(host);
            // A constructor may have closed the gate behind itself.
            env.admitted().await;
            let thrown = |error: Error| match error {
                error @ Error::Object(_) => error,
                error => Error::Object(ObjectError::thrown(error.to_string())),
            };
            let outcome = match asked {
                ObjectCall::Rpc(method, args) => {
                    instance.rpc(method, args).await.map(Reply::Rpc).map_err(thrown)
                }
                ObjectCall::Alarm(info) => instance.alarm(info).await.map(|()| Reply::Done),
                ObjectCall::Message(socket, message) => {
                    instance.message(socket, message).await.map(|()| Reply::Done)
                }
                ObjectCall::Connect => {
                    let mut state = world.state();
                    let client = state.calls[call as usize].caller;
                    Ok(Reply::Socket(state.open_socket(client, host)))
                }
            };
            let outcome = match env.background().await {
                Ok(()) => outcome,
                Err(error) => outcome.and(Err(error)),
            };
            world.state().answered(call, copy, outcome);
        })
    }

    /// The object in memory, made anew when there is none.
    fn instance(self: &Rc<World>, host: u16) -> Rc<dyn Instance> {
        let state = self.state();
        let object = state.object(host);
        if let Some(instance) = &object.instance {
            return instance.clone();
        }
        let (id, storage, class) =
            (object.id.clone(), object.storage.clone(), object.class.clone());
        drop(state);
        let env = Env::new(self.clone(), host);
        let instance = (class.construct)(env, id, storage);
        self.state().object_mut(host).instance = Some(instance.clone());
        instance
    }
}

impl State {
    /// Whether nothing has happened at an object for a while.
    fn idle(&self, host: u16) -> bool {
        let object = self.object(host);
        object.instance.is_some() && self.now - object.last_busy >= IDLE && !self.is_busy(host)
    }

    /// Whether anything is going on at a host.
    pub fn is_busy(&self, host: u16) -> bool {
        self.tasks.iter().any(|task| task.host == host && task.alive)
    }
}
