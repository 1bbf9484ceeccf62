//! What will happen when: the events of a run, ordered by time and then by when they were scheduled.

use crate::services::queue::{BatchResult, QueueId};
use crate::services::workflow::Engine;
use crate::values::time::Time;

/// Something that happens to the world at its time.
#[derive(Debug)]
pub(crate) enum Scheduled {
    /// A sleeping task has slept enough.
    Wake { task: u32 },
    /// A request reaches its target. A copy is the network's own repetition: nobody hears its reply.
    Arrive { call: u32, copy: bool },
    /// A reply reaches its caller.
    Reply { call: u32 },
    /// A caller stops waiting.
    GiveUp { call: u32 },
    /// The result of a delivery reaches the queue.
    Finish { call: u32, result: Box<BatchResult> },
    /// A dead host comes back.
    Restart { host: u16 },
    /// A host dies because the script says so.
    Kill { index: usize },
    /// An object's alarm is due.
    Alarm { host: u16, at: Time },
    /// An instance of a workflow begins a life.
    Start { engine: Box<Engine> },
    /// A batch may be due.
    Pump { queue: QueueId },
    /// A lease or a retention may have ended.
    Expire,
    /// A request comes from outside.
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

/// A scheduled event that can be called off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimerId(u64);

/// A sorted list and not a heap: few events are pending at a time and most new ones are for soon, so
/// there is little to move; and what is called off can be taken out.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// The latest first.
    entries: Vec<Entry>,
    scheduled: u64,
}

impl Agenda {
    // Inlined so that an event is written where it stays: see `put`.
    #[inline(always)]
    pub fn schedule(&mut self, at: Time, event: Scheduled) -> TimerId {
        self.scheduled += 1;
        let timer = TimerId(self.scheduled);
        // Those of its own time were scheduled before it.
        let sooner = self.entries.iter().rev().take_while(|other| other.at <= at).count();
        self.entries.insert(self.entries.len() - sooner, Entry { at, timer, event });
        timer
    }

    /// Calls off what was scheduled for that time; it is as if it had never been.
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

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(event: Option<(Time, Scheduled)>) -> u32 {
        match event {
            Some((_, Scheduled::Wake { task })) => task,
            other => panic!("expected a wake, got {other:?}"),
        }
    }

    #[test]
    fn events_come_by_time_and_then_by_plan() {
        let mut agenda = Agenda::default();
        for (at, id) in [(5, 1), (3, 2), (5, 3)] {
            agenda.schedule(Time::from_ms(at), Scheduled::Wake { task: id });
        }
        assert_eq!([(); 3].map(|()| task(agenda.pop())), [2, 1, 3]);
        assert!(agenda.pop().is_none());
    }

    #[test]
    fn an_event_that_was_called_off_never_comes() {
        let mut agenda = Agenda::default();
        let mut plan = |at, task| agenda.schedule(Time::from_ms(at), Scheduled::Wake { task });
        let (first, _, last) = (plan(1, 1), plan(2, 2), plan(3, 3));
        agenda.cancel(Time::from_ms(1), first);
        agenda.cancel(Time::from_ms(3), last);
        agenda.cancel(Time::from_ms(3), last);
        assert_eq!(agenda.peek().map(|(at, _)| at), Some(Time::from_ms(2)));
        assert_eq!(task(agenda.pop()), 2);
        assert!(agenda.peek().is_none() && agenda.pop().is_none());
    }

    #[test]
    fn of_several_events_at_one_time_the_right_one_is_called_off() {
        for called_off in 0..3 {
            let mut agenda = Agenda::default();
            agenda.schedule(Time::from_ms(4), Scheduled::Wake { task: 9 });
            let timers =
                [0, 1, 2].map(|task| agenda.schedule(Time::from_ms(5), Scheduled::Wake { task }));
            agenda.schedule(Time::from_ms(6), Scheduled::Wake { task: 9 });
            agenda.cancel(Time::from_ms(5), timers[called_off]);
            let left = std::iter::from_fn(|| agenda.pop()).map(|event| task(Some(event)));
            let kept = (0..3).filter(|task| *task != called_off as u32);
            assert!(left.eq([9].into_iter().chain(kept).chain([9])), "without {called_off}");
        }
    }

    #[test]
    fn a_chosen_event_overtakes_and_the_rest_keep_their_order() {
        let mut agenda = Agenda::default();
        for id in 0..4 {
            agenda.schedule(Time::from_ms(1), Scheduled::Wake { task: id });
        }
        let odd =
            |event: &Scheduled, _: Time| matches!(event, Scheduled::Wake { task } if task % 2 == 1);
        assert_eq!(task(agenda.pop_among(8, odd, |events| events.len() - 1)), 3);
        assert_eq!([(); 3].map(|()| task(agenda.pop())), [0, 1, 2]);
    }
}
