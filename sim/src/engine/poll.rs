//! What comes before a poll and after it.

use crate::engine::host::Work;
use crate::engine::task::{TaskWaker, Waits};
use crate::engine::world::State;
use crate::protocol::fault::Fault;
use crate::protocol::site::{ChoiceKind, OpCode};

impl State {
    /// The next task to poll, chosen among those that are ready.
    pub fn next_ready(&mut self) -> Option<u32> {
        if !self.storm.reorders() || self.ready.len() < 2 {
            return self.ready.pop_front();
        }
        let (of, odds) = (self.ready.len() as u32, self.reorder_odds());
        let cloud = self.key(crate::engine::world::CLOUD);
        let at = self.choices.choose(ChoiceKind::Ready, cloud, OpCode::NONE, of, odds);
        self.ready.remove(at as usize)
    }

    /// Before a poll. The waker too is taken: cloning it would count references each time.
    #[inline(always)]
    pub fn take_up(&mut self, task: u32) -> Option<(Work<()>, Box<TaskWaker>)> {
        let slot = &mut self.tasks[task as usize];
        slot.ready = false;
        slot.waits = Waits::Elsewhere;
        let host = slot.host;
        let future = self.futures[task as usize].take()?;
        let waker = self.wakers[task as usize].take()?;
        self.current = Some(task);
        self.polling = waker.address();
        if let Some(object) = &self.host(host).object {
            object.storage.set_now(self.now);
        }
        Some((future, waker))
    }

    /// After a poll that leaves more to do.
    #[inline(always)]
    pub fn put_down(&mut self, task: u32, future: Work<()>, waker: Box<TaskWaker>) {
        self.current = None;
        // Nobody else gives it these, and an assignment would have to drop what might be there.
        debug_assert!(self.futures[task as usize].is_none(), "a task has one future");
        self.futures[task as usize].get_or_insert(future);
        self.wakers[task as usize].get_or_insert(waker);
        self.end_of_poll(self.tasks[task as usize].host);
    }

    /// After its last poll.
    #[inline(always)]
    pub fn retire(&mut self, task: u32, waker: Box<TaskWaker>) {
        self.current = None;
        let slot = &mut self.tasks[task as usize];
        let host = slot.host;
        slot.alive = false;
        if waker.is_spare() {
            self.spare_wakers.push(waker);
        }
        self.end_of_poll(host);
    }

    /// After a poll: does the host that was polled die? Mostly it is soon clear that it does not.
    #[inline(always)]
    fn end_of_poll(&mut self, host: u16) {
        let slot = &self.hosts[usize::from(host)];
        if slot.object.is_some()
            || self.pending_crash.is_some()
            || slot.can_crash && self.storm.kills()
        {
            self.settle_poll(host);
        }
    }

    fn settle_poll(&mut self, host: u16) {
        let slot = &self.hosts[usize::from(host)];
        if slot.object.is_some() {
            self.end_of_turn(host);
        } else if self.pending_crash.is_some() {
            self.settle_pending_crash();
        } else if self.storm.crashes(&mut self.choices, slot.key, &slot.name) {
            self.crash(host, Fault::Crash, None);
        }
    }
}
