//! Gates: while `block_concurrency_while` runs on an object, only the tasks that it spawned run there.

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

    /// Closes a gate on a host; only tasks with its pass run until it opens.
    pub fn close_gate(&mut self, host: HostId) -> GateId {
        let id = self.objects.next_gate();
        self.hosts.object_mut(host).gates.push(Gate { id, waiting: Vec::new() });
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

    /// Opens a gate and admits the tasks that waited behind it.
    pub fn open_gate(&mut self, host: HostId, id: GateId) {
        let gates = &mut self.hosts.object_mut(host).gates;
        let Some(at) = gates.iter().position(|gate| gate.id == id) else { return };
        let gate = gates.remove(at);
        gate.waiting.into_iter().for_each(|task| self.admit(task));
    }
}
