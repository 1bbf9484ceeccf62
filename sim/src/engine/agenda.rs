//! The agenda: the events to come in a run, ordered by time and then by when they were scheduled.

use crate::engine::ids::{CallId, HostId, TaskId};
use crate::services::queue::{BatchResult, QueueId};
use crate::services::workflow::Engine;
use crate::values::time::Time;

/// An event on the agenda.
#[derive(Debug)]
pub(crate) enum Scheduled {
    /// The sleep of a task ends.
    Wake { task: TaskId },
    /// A call reaches its target. A copy is the network's repetition of a request; it is not replied to.
    Arrive { call: CallId, copy: bool },
    /// A reply reaches its caller.
    Reply { call: CallId },
    /// A caller stops waiting for a reply.
    GiveUp { call: CallId },
    /// The result of a delivery reaches the queue.
    Finish { call: CallId, result: Box<BatchResult> },
    /// A crashed host restarts.
    Restart { host: HostId },
    /// A host crashes because the script says so.
    Kill { index: usize },
    /// An object's alarm is due.
    Alarm { host: HostId, at: Time },
    /// A workflow engine starts on the host of its instance.
    StartWorkflow { engine: Box<Engine> },
    /// A batch of a queue may be due.
    Pump { queue: QueueId },
    /// A lease or a retention may have ended.
    Expire,
    /// A client sends a request of the scenario.
    Request { index: usize },
    /// The storm ends.
    Calm,
}

#[derive(Debug)]
struct Entry {
    at: Time,
    timer: TimerId,
    event: Scheduled,
}

/// Names a scheduled event, in order to cancel it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimerId(u64);

/// A sorted list and not a heap: few events are pending at a time and most new ones are for soon, so
/// there is little to move; and a cancelled event can be removed.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// The pending events, the latest first.
    entries: Vec<Entry>,
    scheduled: u64,
}

impl Agenda {
    // Inlined so that an event is constructed in place: see `push_in_place`.
    #[inline(always)]
    pub fn schedule(&mut self, at: Time, event: Scheduled) -> TimerId {
        self.scheduled += 1;
        let timer = TimerId(self.scheduled);
        // Events of the same time come in the order in which they were scheduled.
        let sooner = self.entries.iter().rev().take_while(|other| other.at <= at).count();
        self.entries.insert(self.entries.len() - sooner, Entry { at, timer, event });
        timer
    }

    /// Removes an event that was scheduled for `at`, if it is still pending.
    pub fn cancel(&mut self, at: Time, timer: TimerId) {
        let later = self.entries.partition_point(|entry| entry.at > at);
        let mut then = self.entries[later..].iter().take_while(|entry| entry.at == at);
        if let Some(index) = then.position(|entry| entry.timer == timer) {
            self.entries.remove(later + index);
        }
    }

    /// The next event and its time.
    pub fn pop(&mut self) -> Option<(Time, Scheduled)> {
        self.entries.pop().map(|entry| (entry.at, entry.event))
    }

    /// The next event, without taking it.
    pub fn peek(&self) -> Option<(Time, &Scheduled)> {
        self.entries.last().map(|entry| (entry.at, &entry.event))
    }

    /// Lets `choose` pick one by its index among the next event and those after it that `like`
    /// accepts, and takes that. No more than `most` are offered, and no more than `most` passed over.
    pub fn pop_among(
        &mut self,
        most: usize,
        like: impl Fn(&Scheduled, Time) -> bool,
        choose: impl FnOnce(&[&Scheduled]) -> usize,
    ) -> Option<(Time, Scheduled)> {
        let last = self.entries.len().checked_sub(1)?;
        let mut candidates = vec![last];
        let mut passed = 0;
        for index in (0..last).rev() {
            if candidates.len() == most || passed == most {
                break;
            }
            let entry = &self.entries[index];
            if like(&entry.event, entry.at) { candidates.push(index) } else { passed += 1 }
        }
        let events: Vec<&Scheduled> =
            candidates.iter().map(|at| &self.entries[*at].event).collect();
        let chosen = self.entries.remove(candidates[choose(&events)]);
        Some((chosen.at, chosen.event))
    }

    /// Removes every event.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wake(task: u32) -> Scheduled {
        Scheduled::Wake { task: TaskId(task) }
    }

    fn task(event: Option<(Time, Scheduled)>) -> u32 {
        match event {
            Some((_, Scheduled::Wake { task })) => task.0,
            other => panic!("expected a wake, got {other:?}"),
        }
    }

    #[test]
    fn events_come_by_time_and_then_in_the_order_of_scheduling() {
        let mut agenda = Agenda::default();
        for (at, id) in [(5, 1), (3, 2), (5, 3)] {
            agenda.schedule(Time::from_ms(at), wake(id));
        }
        assert_eq!([(); 3].map(|()| task(agenda.pop())), [2, 1, 3]);
        assert!(agenda.pop().is_none());
    }

    #[test]
    fn a_cancelled_event_never_comes() {
        let mut agenda = Agenda::default();
        let mut schedule = |at, task| agenda.schedule(Time::from_ms(at), wake(task));
        let (first, _, last) = (schedule(1, 1), schedule(2, 2), schedule(3, 3));
        agenda.cancel(Time::from_ms(1), first);
        agenda.cancel(Time::from_ms(3), last);
        agenda.cancel(Time::from_ms(3), last);
        assert_eq!(agenda.peek().map(|(at, _)| at), Some(Time::from_ms(2)));
        assert_eq!(task(agenda.pop()), 2);
        assert!(agenda.peek().is_none() && agenda.pop().is_none());
    }

    #[test]
    fn of_several_events_at_one_time_the_right_one_is_cancelled() {
        for cancelled in 0..3 {
            let mut agenda = Agenda::default();
            agenda.schedule(Time::from_ms(4), wake(9));
            let timers = [0, 1, 2].map(|task| agenda.schedule(Time::from_ms(5), wake(task)));
            agenda.schedule(Time::from_ms(6), wake(9));
            agenda.cancel(Time::from_ms(5), timers[cancelled]);
            let left = std::iter::from_fn(|| agenda.pop()).map(|event| task(Some(event)));
            let kept = (0..3).filter(|task| *task != cancelled as u32);
            assert!(left.eq([9].into_iter().chain(kept).chain([9])), "without {cancelled}");
        }
    }

    #[test]
    fn a_chosen_event_overtakes_and_the_rest_keep_their_order() {
        let mut agenda = Agenda::default();
        for id in 0..4 {
            agenda.schedule(Time::from_ms(1), wake(id));
        }
        let odd = |event: &Scheduled, _: Time| matches!(event, Scheduled::Wake { task } if task.0 % 2 == 1);
        assert_eq!(task(agenda.pop_among(8, odd, |events| events.len() - 1)), 3);
        assert_eq!([(); 3].map(|()| task(agenda.pop())), [0, 1, 2]);
    }
}
