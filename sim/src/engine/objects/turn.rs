//! Turns of a durable object: what it does between two real awaits is committed or lost as one, and
//! nothing leaves the object before that is decided.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::host::Invocation;
use crate::engine::ids::{CallId, HostId, SocketId};
use crate::engine::objects::Outgoing;
use crate::engine::world::State;
use crate::protocol::fault::Fault;
use crate::protocol::object::ObjectError;
use crate::protocol::op::Op;
use crate::protocol::outcome::Error;
use crate::protocol::trace::EventKind;

/// How long an object is idle before it may be evicted from memory.
const IDLE: Duration = Duration::from_secs(10);

impl State {
    /// Ends the turn of an object after a poll: commits or loses its writes, then lets out what it sent.
    pub fn end_of_turn(&mut self, host: HostId) {
        let sent = std::mem::take(&mut self.objects.outbox);
        if let Some(reason) = self.objects.aborted.take() {
            return self.reset(host, &reason, sent);
        }
        let wrote = self.hosts.object(host).storage.is_dirty();
        let slot = &self.hosts[host];
        let end = self.storm.turn_ends(&mut self.choices, slot.key, &slot.name, wrote);
        if end == 2 {
            self.crash(host, Fault::Crash, None);
            return unsent(&sent).for_each(|call| self.handler_died(call));
        }
        match self.hosts.object(host).storage.commit_turn() {
            Err(error) => return self.reset(host, &error.to_string().into(), sent),
            Ok(changes) => self.record_rows(host, changes),
        }
        if self.live.is_some() {
            self.note_turn(host);
        }
        self.schedule_alarm(host);
        let mut sent = sent.into_iter();
        while self.pending_crash.is_none()
            && let Some(outgoing) = sent.next()
        {
            self.send_out(outgoing);
        }
        self.hosts.object_mut(host).last_busy = self.now;
        if self.pending_crash.is_some() {
            self.settle_pending_crash();
            unsent(sent.as_slice()).for_each(|call| self.handler_died(call));
        } else if end == 1 {
            self.crash(host, Fault::Crash, None);
        }
    }

    fn send_out(&mut self, outgoing: Outgoing) {
        match outgoing {
            Outgoing::Call(call) => self.depart(call),
            Outgoing::Answer { call, copy, outcome } => {
                let invocation = Invocation { call, copy };
                if let Op::Alarm { .. } = self.trace.op(call.0) {
                    self.alarm_ended(invocation, outcome);
                } else {
                    self.handled(invocation, outcome, None);
                }
            }
        }
    }

    /// The object resets itself: those who wait for it get the reason.
    fn reset(&mut self, host: HostId, reason: &Arc<str>, sent: Vec<Outgoing>) {
        self.record(host, EventKind::Abort { reason: reason.clone() });
        let resets = &mut self.hosts.object_mut(host).resets;
        *resets = (resets.0 + 1, reason.clone());
        let serving = self.tasks.alive_on(host).filter_map(|(_, task)| task.serves);
        let waiting: Vec<CallId> = serving.chain(unsent(&sent)).collect();
        for call in waiting {
            if let Op::Rpc { .. } | Op::Connect { .. } = self.trace.op(call.0) {
                self.answer_later(call, Error::Object(ObjectError::reset(reason.clone())));
            }
        }
        self.stop_object(host);
    }

    /// Drops an object's memory, its tasks, its connections and the writes of this turn. The next call
    /// starts it again.
    pub fn stop_object(&mut self, host: HostId) {
        self.kill_tasks(host);
        let slot = &mut self.hosts[host];
        slot.up = false;
        let object = slot.object.as_mut().expect("this host is an object");
        object.storage.reset();
        self.deferred_drops.objects.extend(object.instance.take());
        object.gates.clear();
        let alarm = object.alarm.running.take();
        let sockets: Vec<SocketId> = self.objects.sockets.of_object(host).collect();
        sockets.into_iter().for_each(|socket| self.close_socket(socket));
        self.drop_ends(host);
        if let Some(info) = alarm {
            self.hosts.object_mut(host).alarm.running = Some(info);
            self.alarm_failed(host);
        }
        self.release_alarm(host);
    }

    /// Closes a connection; a client that listens learns of it.
    pub fn close_socket(&mut self, socket: SocketId) {
        if let Some(reader) = self.objects.sockets.close(socket) {
            self.wake(reader);
        }
    }

    /// Evicts an idle object from memory, if the storm says so.
    pub fn maybe_evict(&mut self, host: HostId) {
        let slot = &self.hosts[host];
        // The platform takes such an object out of memory soon; others stay there for minutes.
        let hibernates = self.connections.accepted(host).next().is_some();
        if self.storm.evicts(&mut self.choices, slot.key, &slot.name, hibernates) {
            let memory = self.hosts.object_mut(host).instance.take();
            self.deferred_drops.objects.extend(memory);
            self.record(host, EventKind::Fault { call: None, fault: Fault::Evict, by: None });
            self.drop_bodies(host);
        }
    }

    /// Whether nothing has happened at an object for a while.
    pub fn is_idle(&self, host: HostId) -> bool {
        let object = self.hosts.object(host);
        object.instance.is_some() && self.now - object.last_busy >= IDLE && !self.is_busy(host)
    }

    /// Whether any task runs on a host.
    pub fn is_busy(&self, host: HostId) -> bool {
        self.tasks.alive_on(host).next().is_some()
    }
}

/// The calls whose answers were lost with the turn: their handlers had just finished.
fn unsent(sent: &[Outgoing]) -> impl Iterator<Item = CallId> + '_ {
    sent.iter().filter_map(|outgoing| match outgoing {
        Outgoing::Answer { call, copy: false, .. } => Some(*call),
        _ => None,
    })
}
