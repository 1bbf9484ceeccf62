//! Gates: while `block_concurrency_while` runs on an object, only the tasks that it spawned run there. When it
//! has ended, its caller goes on first, and then the events that waited.

use crate::engine::host::Gate;
use crate::engine::ids::{GateId, HostId, TaskId};
use crate::engine::world::State;

impl State {
    /// Puts a ready task in the ready queue, or behind the gate of its host until that opens. Every task
    /// passes here; only objects have gates.
    #[inline(always)]
    pub fn admit(&mut self, task: TaskId) {
        let (host, pass) = (self.tasks[task].host, self.tasks[task].pass);
        let object = self.hosts[host].object.as_mut();
        match object.and_then(|object| object.gates.last_mut()) {
            Some(gate) if pass != Some(gate.id) => gate.waiting.push(task),
            _ => self.tasks.ready.push_back(task),
        }
    }

    /// Closes a gate on a host; only tasks with its pass run until it opens. A gate that is closed inside of
    /// another comes first; those that one task closes side by side have their turns one after the other.
    pub fn close_gate(&mut self, host: HostId) -> GateId {
        let id = self.objects.next_gate();
        let outer = self.tasks.current.and_then(|task| self.tasks[task].pass);
        let gates = &mut self.hosts.object_mut(host).gates;
        let outside = gates.iter().position(|gate| Some(gate.id) == outer);
        let at = outside.map_or(0, |outside| outside + 1);
        gates.insert(at, Gate { id, waiting: Vec::new(), caller: None, ended: false, outer });
        id
    }

    /// Gives a task the pass of a gate.
    pub fn give_pass(&mut self, task: TaskId, gate: GateId) {
        self.tasks[task].pass = Some(gate);
        let host = self.tasks[task].host;
        for gate in &mut self.hosts.object_mut(host).gates {
            gate.waiting.retain(|waiting| *waiting != task);
        }
        self.tasks.ready.retain(|ready| *ready != task);
        self.admit(task);
    }

    /// Puts a task that is running behind the gate of its host. Returns whether that is closed to it.
    pub fn hold_back(&mut self, task: TaskId) -> bool {
        let (host, pass) = (self.tasks[task].host, self.tasks[task].pass);
        match self.hosts.object_mut(host).gates.last_mut() {
            Some(gate) if pass != Some(gate.id) => {
                gate.waiting.push(task);
                self.tasks[task].ready = true;
                true
            }
            _ => false,
        }
    }

    /// Notes that a task awaits what keeps a gate closed.
    pub fn await_gate(&mut self, task: TaskId, id: GateId) {
        let host = self.tasks[task].host;
        let gates = &mut self.hosts.object_mut(host).gates;
        if let Some(gate) = gates.iter_mut().find(|gate| gate.id == id) {
            gate.caller = Some(task);
            gate.outer = self.tasks[task].pass;
        }
    }

    /// What kept a gate closed has ended. The gate opens when the caller has gone on, or at once when nobody
    /// awaits it.
    pub fn leave_gate(&mut self, host: HostId, id: GateId) {
        let gates = &mut self.hosts.object_mut(host).gates;
        let Some(gate) = gates.iter_mut().find(|gate| gate.id == id) else { return };
        gate.ended = true;
        // A caller that has ended meanwhile has left the handle to another task, or awaits nothing any more.
        match gate.caller.filter(|caller| self.tasks[*caller].alive) {
            None => self.open_gate(host, id),
            Some(caller) if self.tasks[caller].ready => self.give_pass(caller, id),
            Some(caller) => {
                self.tasks[caller].pass = Some(id);
                self.wake(caller);
            }
        }
    }

    /// Opens the gate whose caller has just gone on, if there is one.
    pub fn open_gate_behind(&mut self, host: HostId, caller: TaskId) {
        let gates = &self.hosts.object(host).gates;
        let behind = gates.iter().find(|gate| gate.ended && gate.caller == Some(caller));
        if let Some(id) = behind.map(|gate| gate.id) {
            self.open_gate(host, id);
        }
    }

    /// Opens a gate and admits the tasks that waited behind it.
    fn open_gate(&mut self, host: HostId, id: GateId) {
        let gates = &mut self.hosts.object_mut(host).gates;
        let Some(at) = gates.iter().position(|gate| gate.id == id) else { return };
        let gate = gates.remove(at);
        let is_open = gates.is_empty();
        self.tasks.replace_pass(host, id, gate.outer);
        gate.waiting.into_iter().for_each(|task| self.admit(task));
        if is_open {
            self.release_alarm(host);
        }
    }
}
