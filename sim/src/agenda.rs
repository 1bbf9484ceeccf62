//! What will happen when: the events of a run, ordered by time and then by when they were planned.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::queue::{BatchResult, QueueId};
use crate::time::Time;
use crate::workflow::Engine;

/// Something that happens to the world at its time.
#[derive(Debug)]
pub(crate) enum Event {
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
    Send { index: usize },
    /// The storm ends.
    Calm,
}

#[derive(Debug)]
struct Entry {
    at: Time,
    seq: u64,
    event: Event,
}

impl Entry {
    fn key(&self) -> (Time, u64) {
        (self.at, self.seq)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    /// The earliest is the greatest, because a heap gives its greatest first.
    fn cmp(&self, other: &Entry) -> Ordering {
        other.key().cmp(&self.key())
    }
}

#[derive(Debug, Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Entry>,
    planned: u64,
}

impl Agenda {
    pub fn plan(&mut self, at: Time, event: Event) {
        self.planned += 1;
        self.heap.push(Entry { at, seq: self.planned, event });
    }

    /// The next event and its time.
    pub fn pop(&mut self) -> Option<(Time, Event)> {
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }

    /// The next event, without taking it.
    pub fn peek(&self) -> Option<(Time, &Event)> {
        self.heap.peek().map(|entry| (entry.at, &entry.event))
    }

    /// Takes up to `most` events in order while `like` accepts them, then lets `choose` pick one by
    /// index; the others go back to where they were.
    pub fn pop_among(
        &mut self,
        most: usize,
        like: impl Fn(&Event, Time) -> bool,
        choose: impl FnOnce(&[&Event]) -> usize,
    ) -> Option<(Time, Event)> {
        let mut passed = Vec::new();
        let mut candidates = vec![self.heap.pop()?];
        while candidates.len() < most && passed.len() < most {
            let Some(entry) = self.heap.pop() else { break };
            if like(&entry.event, entry.at) { candidates.push(entry) } else { passed.push(entry) }
        }
        let events: Vec<&Event> = candidates.iter().map(|entry| &entry.event).collect();
        let chosen = candidates.swap_remove(choose(&events));
        self.heap.extend(passed.into_iter().chain(candidates));
        Some((chosen.at, chosen.event))
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.heap.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(event: Option<(Time, Event)>) -> u32 {
        match event {
            Some((_, Event::Wake { task })) => task,
            other => panic!("expected a wake, got {other:?}"),
        }
    }

    #[test]
    fn events_come_by_time_and_then_by_plan() {
        let mut agenda = Agenda::default();
        for (at, id) in [(5, 1), (3, 2), (5, 3)] {
            agenda.plan(Time::from_ms(at), Event::Wake { task: id });
        }
        assert_eq!([(); 3].map(|()| task(agenda.pop())), [2, 1, 3]);
        assert!(agenda.pop().is_none());
    }

    #[test]
    fn a_chosen_event_overtakes_and_the_rest_keep_their_order() {
        let mut agenda = Agenda::default();
        for id in 0..4 {
            agenda.plan(Time::from_ms(1), Event::Wake { task: id });
        }
        let odd = |event: &Event, _: Time| matches!(event, Event::Wake { task } if task % 2 == 1);
        assert_eq!(task(agenda.pop_among(8, odd, |events| events.len() - 1)), 3);
        assert_eq!([(); 3].map(|()| task(agenda.pop())), [0, 1, 2]);
    }
}
