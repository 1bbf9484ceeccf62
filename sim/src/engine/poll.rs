//! What comes before a poll and after it.

use crate::engine::ids::{HostId, TaskId};
use crate::engine::services::Service;
use crate::engine::task::{TaskWaker, Work};
use crate::engine::world::State;
use crate::protocol::fault::Fault;
use crate::protocol::site::{ChoiceKind, OpCode};

impl State {
    /// The next task to poll, chosen among those that are ready.
    #[inline(always)]
    pub fn next_ready(&mut self) -> Option<TaskId> {
        let ready = self.tasks.ready.len();
        if !self.storm.reorders() || ready < 2 {
            return self.tasks.ready.pop_front();
        }
        let (cloud, odds) = (self.key(Service::Cloud.host()), self.reorder_odds());
        let at = self.choices.choose(ChoiceKind::Ready, cloud, OpCode::NONE, ready as u32, odds);
        self.tasks.ready.remove(at as usize)
    }

    /// Takes a task's future and waker in order to poll it; none when it is dead.
    #[inline(always)]
    pub fn begin_poll(&mut self, task: TaskId) -> Option<(Work<()>, Box<TaskWaker>)> {
        let taken = self.tasks.begin_poll(task)?;
        if let Some(object) = &self.hosts[self.tasks[task].host].object {
            object.storage.set_now(self.now);
        }
        Some(taken)
    }

    /// Ends a poll that has left more to do.
    #[inline(always)]
    pub fn suspend(&mut self, task: TaskId, future: Work<()>, waker: Box<TaskWaker>) {
        let host = self.tasks.suspend(task, future, waker);
        self.end_of_poll(task, host);
    }

    /// Ends the last poll of a task.
    #[inline(always)]
    pub fn finish_task(&mut self, task: TaskId, waker: Box<TaskWaker>) {
        let host = self.tasks.finish(task, waker);
        self.end_of_poll(task, host);
    }

    /// Decides whether the polled host has to end a turn or to crash. For most polls a few flags tell that
    /// it has not.
    #[inline(always)]
    fn end_of_poll(&mut self, task: TaskId, host: HostId) {
        let slot = &self.hosts[host];
        if slot.object.is_some()
            || self.pending_crash.is_some()
            || slot.can_crash && self.storm.kills()
        {
            self.settle_poll(task, host);
        }
    }

    fn settle_poll(&mut self, task: TaskId, host: HostId) {
        let slot = &self.hosts[host];
        if slot.object.is_some() {
            self.end_of_turn(host);
            self.open_gate_behind(host, task);
        } else if self.pending_crash.is_some() {
            self.settle_pending_crash();
        } else if self.storm.crashes(&mut self.choices, slot.key, &slot.name) {
            self.crash(host, Fault::Crash, None);
        }
    }
}
