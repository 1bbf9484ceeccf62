//! The agenda: the events to come in a run, ordered by time and then by when they were scheduled.

use crate::engine::ids::{CallId, EndId, HostId, TaskId};
use crate::services::queue::{BatchResult, QueueId};
use crate::services::workflow::Engine;
use crate::values::sorted_map::SortedMap;
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
    /// An end of a WebSocket that is on its way in a response may have been lost with it.
    Unclaimed { end: EndId },
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

/// How many events the near list holds at most.
const NEAR_MOST: usize = 256;
/// How many of them are kept when it is too long, and fetched when it runs out.
const NEAR_USUAL: usize = 128;
/// How many events [`Agenda::pop_among`] can look at: those that it offers and those that it passes over.
const LOOKED_AT: usize = 32;

/// A sorted list and not a heap: few events are pending at a time and most new ones are for soon, so
/// there is little to move; and a cancelled event can be removed. A run with many requests has many
/// events pending. The later ones are then in a tree, so that the list stays short.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// The next events, the latest first.
    near: Vec<Entry>,
    /// All others, each later than the near ones.
    far: SortedMap<(Time, u64), Scheduled>,
    scheduled: u64,
}

impl Agenda {
    // Inlined so that an event is constructed in place: see `push_in_place`.
    #[inline(always)]
    pub fn schedule(&mut self, at: Time, event: Scheduled) -> TimerId {
        self.scheduled += 1;
        let timer = TimerId(self.scheduled);
        if self.is_far(at) {
            self.far.insert((at, timer.0), event);
            return timer;
        }
        // Events of the same time come in the order in which they were scheduled.
        let sooner = self.near.iter().rev().take_while(|other| other.at <= at).count();
        self.near.insert(self.near.len() - sooner, Entry { at, timer, event });
        if self.near.len() > NEAR_MOST {
            self.send_away();
        }
        timer
    }

    /// Whether a new event for `at` comes after some of the far ones.
    #[inline(always)]
    fn is_far(&self, at: Time) -> bool {
        !self.far.is_empty()
            && self.far.first_key_value().is_some_and(|((first, _), _)| at >= *first)
    }

    /// Moves the latest of the near events to the far ones.
    #[cold]
    fn send_away(&mut self) {
        let later = self.near.drain(..NEAR_MOST - NEAR_USUAL);
        self.far.extend(later.map(|entry| ((entry.at, entry.timer.0), entry.event)));
    }

    /// Fetches far events when few near ones are left.
    #[inline(always)]
    fn refill(&mut self) {
        if !self.far.is_empty() && self.near.len() < LOOKED_AT {
            self.fetch();
        }
    }

    #[cold]
    fn fetch(&mut self) {
        let wanted = NEAR_USUAL - self.near.len();
        let next = std::iter::from_fn(|| self.far.pop_first()).take(wanted);
        let next = next.map(|((at, timer), event)| Entry { at, timer: TimerId(timer), event });
        let mut all: Vec<Entry> = next.collect();
        all.reverse();
        all.append(&mut self.near);
        self.near = all;
    }

    /// Removes an event that was scheduled for `at`, if it is still pending.
    pub fn cancel(&mut self, at: Time, timer: TimerId) {
        if self.is_far(at) && self.far.remove(&(at, timer.0)).is_some() {
            return;
        }
        let later = self.near.partition_point(|entry| entry.at > at);
        let mut then = self.near[later..].iter().take_while(|entry| entry.at == at);
        if let Some(index) = then.position(|entry| entry.timer == timer) {
            self.near.remove(later + index);
        }
    }

    /// The next event and its time.
    pub fn pop(&mut self) -> Option<(Time, Scheduled)> {
        self.refill();
        self.near.pop().map(|entry| (entry.at, entry.event))
    }

    /// All events, in no order.
    pub fn events(&self) -> impl Iterator<Item = &Scheduled> {
        self.near.iter().map(|entry| &entry.event).chain(self.far.values())
    }

    /// The next event, without taking it.
    pub fn peek(&mut self) -> Option<(Time, &Scheduled)> {
        self.refill();
        self.near.last().map(|entry| (entry.at, &entry.event))
    }

    /// Lets `choose` pick one by its index among the next event and those after it that `like`
    /// accepts, and takes that. No more than `most` are offered, and no more than `most` passed over.
    pub fn pop_among(
        &mut self,
        most: usize,
        like: impl Fn(&Scheduled, Time) -> bool,
        choose: impl FnOnce(&[&Scheduled]) -> usize,
    ) -> Option<(Time, Scheduled)> {
        assert!(2 * most <= LOOKED_AT, "enough events are near");
        self.refill();
        let last = self.near.len().checked_sub(1)?;
        let mut candidates = vec![last];
        let mut passed = 0;
        for index in (0..last).rev() {
            if candidates.len() == most || passed == most {
                break;
            }
            let entry = &self.near[index];
            if like(&entry.event, entry.at) { candidates.push(index) } else { passed += 1 }
        }
        let events: Vec<&Scheduled> = candidates.iter().map(|at| &self.near[*at].event).collect();
        let chosen = self.near.remove(candidates[choose(&events)]);
        Some((chosen.at, chosen.event))
    }

    /// Removes every event.
    pub fn clear(&mut self) {
        self.near.clear();
        self.far.clear();
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

    /// What an agenda of any size must do, written down simply.
    #[test]
    fn a_long_agenda_behaves_as_a_sorted_list() {
        let mut rng = crate::values::rng::Rng::new(11);
        let (mut agenda, mut list) = (Agenda::default(), Vec::new());
        let mut now = 0;
        for id in 0..20_000 {
            // The agenda grows to some thousands of events, and shrinks to none at the end.
            if rng.below(20_000) > id {
                let at = now + u64::from(rng.below(50) * rng.below(50));
                list.push((at, agenda.schedule(Time::from_ms(at), wake(id)), id));
                list.sort_by_key(|(at, timer, _)| (*at, timer.0));
            } else if rng.chance(100) && !list.is_empty() {
                let (at, timer, _) = list.remove(rng.below(list.len() as u32) as usize);
                agenda.cancel(Time::from_ms(at), timer);
            } else if rng.chance(100) {
                let odd = |event: &Scheduled, _: Time| matches!(event, Scheduled::Wake { task } if task.0 % 2 == 1);
                let mut offered = Vec::new();
                let taken = agenda.pop_among(8, odd, |events| {
                    offered = events
                        .iter()
                        .map(|event| match event {
                            Scheduled::Wake { task } => task.0,
                            _ => unreachable!(),
                        })
                        .collect();
                    events.len() - 1
                });
                let mut like = list
                    .iter()
                    .take(1)
                    .chain(list.iter().skip(1).take(15).filter(|(.., id)| id % 2 == 1));
                assert!(
                    offered.iter().all(|id| like.any(|(.., other)| other == id)),
                    "{offered:?}"
                );
                if let Some((at, Scheduled::Wake { task })) = taken {
                    list.retain(|(.., id)| *id != task.0);
                    now = now.max(at.as_ms());
                }
            } else {
                let first = (!list.is_empty()).then(|| list.remove(0));
                assert_eq!(agenda.peek().map(|(at, _)| at.as_ms()), first.map(|(at, ..)| at));
                match (agenda.pop(), first) {
                    (Some((at, Scheduled::Wake { task })), Some((first, _, id))) => {
                        assert_eq!((at.as_ms(), task.0), (first, id));
                        now = first;
                    }
                    (None, None) => {}
                    (other, first) => panic!("{other:?} instead of {first:?}"),
                }
            }
        }
        let left = std::iter::from_fn(|| agenda.pop()).map(|event| task(Some(event)));
        assert!(left.eq(list.into_iter().map(|(.., id)| id)));
    }

    #[test]
    fn the_near_events_stay_few_however_many_are_scheduled() {
        let mut agenda = Agenda::default();
        let mut longest = 0;
        for id in 0..10_000 {
            agenda.schedule(Time::from_ms(u64::from(id) % 7), wake(id));
            longest = longest.max(agenda.near.len());
        }
        while agenda.pop().is_some() {
            longest = longest.max(agenda.near.len());
        }
        assert!(longest <= NEAR_MOST, "{longest}");
    }
}
