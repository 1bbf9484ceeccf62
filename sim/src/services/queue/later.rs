//! Messages that are due much later are put away when they are written down, and read back before they are due.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use super::Queues;
use super::backlog::Backlog;
use super::persistence::Persisted;
use crate::values::backing_store::BackingStore;
use crate::values::sorted_map::SortedMap;
use crate::values::sorted_set::SortedSet;
use crate::values::time::Time;

/// A message that is due after so long need not be in memory.
const AHEAD: Duration = Duration::from_secs(30);
/// So long before it is due it is read back.
const BEFORE: Duration = Duration::from_secs(10);
/// So long after they could not be read back it is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// How many are read back at a time.
const MOST: usize = 1_000;

/// The messages of one queue that are not in memory.
#[derive(Clone, Debug)]
pub(super) struct Later {
    backing_store: Rc<dyn BackingStore>,
    count: u64,
    /// None of them is due before, or can be read before.
    next: Time,
    /// When the oldest of them was sent, if that is known.
    oldest: Cell<Option<Time>>,
    /// The last one that was read back: those before it are not to be read again.
    read: (Time, u64),
    /// Messages that are being written down, with the changes of which number, in their order.
    leaving: VecDeque<(u64, u64)>,
    /// The number of the last of those changes, by message. Until the last change of one is on disk, memory knows
    /// better.
    unwritten: SortedMap<u64, u64>,
    /// Messages that were written down to be put away, and then were due so soon that they stayed.
    stayed: SortedSet<(Time, u64)>,
}

/// How much of a queue an earlier process has put away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PutAway {
    pub count: u64,
    pub bytes: u64,
    /// When the first of them is due.
    pub next: Time,
}

impl Queues {
    /// From now on messages that are due much later are not held in memory for longer than it takes to write them down.
    pub(crate) fn set_backing_store(&mut self, backing_store: &Rc<dyn BackingStore>) {
        self.backing_store = Some(backing_store.clone());
        self.backlogs.iter_mut().for_each(|backlog| backlog.put_away_on(backing_store));
    }

    /// The changes up to this number are on disk.
    pub(crate) fn written(&mut self, now: Time, number: u64) {
        self.backlogs.iter_mut().for_each(|backlog| backlog.put_away(now, number));
    }

    /// Takes note of what an earlier process has put away.
    pub(crate) fn restore_later(&mut self, queue: &str, away: PutAway) {
        let id = self.queue_or_new(queue);
        self.backlog_mut(id).restore_later(away);
    }

    /// How many messages are in memory.
    pub(crate) fn held(&self) -> usize {
        self.backlogs.iter().map(Backlog::held).sum()
    }

    /// Whether messages are not in memory.
    pub(crate) fn any_later(&self, queue: super::QueueId) -> bool {
        self.backlog(queue).later_count() > 0
    }
}

/// Whether a message that is due then need not be in memory.
pub(super) fn is_later(now: Time, due: Time) -> bool {
    due > now + AHEAD
}

impl Backlog {
    pub fn put_away_on(&mut self, backing_store: &Rc<dyn BackingStore>) {
        self.later = Some(Later {
            backing_store: backing_store.clone(),
            count: 0,
            next: Time::NEVER,
            oldest: Cell::new(None),
            read: (Time::ZERO, 0),
            leaving: VecDeque::new(),
            unwritten: SortedMap::new(),
            stayed: SortedSet::new(),
        });
    }

    /// A message is being written down, among the changes of this number. Returns whether it is due so late that it is
    /// to be put away.
    pub fn is_leaving(&mut self, now: Time, seq: u64, due: Time, number: u64) -> bool {
        let Some(later) = self.later.as_mut().filter(|_| is_later(now, due)) else { return false };
        later.leaving.push_back((number, seq));
        later.unwritten.insert(seq, number);
        true
    }

    /// Forgets the messages that can be read back.
    fn put_away(&mut self, now: Time, number: u64) {
        let Some(mut later) = self.later.take() else { return };
        while let Some((with, seq)) = later.leaving.pop_front_if(|(with, _)| *with <= number) {
            // It may have changed again since, and then that has to be written first.
            if later.unwritten.get(&seq) != Some(&with) {
                continue;
            }
            later.unwritten.remove(&seq);
            let changed = self.changed.as_ref().is_some_and(|changed| changed.contains(&seq));
            let Some(due) = self.due(seq).filter(|_| !changed) else { continue };
            if !is_later(now, due) {
                later.stayed.insert((due, seq));
                continue;
            }
            let Some(sent) = self.forget(seq, due) else { continue };
            let oldest = later.oldest.get().map_or(sent, |oldest| oldest.min(sent));
            if later.count == 0 || later.oldest.get().is_some() {
                later.oldest.set(Some(oldest));
            }
            later.count += 1;
            later.next = later.next.min(due);
        }
        self.later = Some(later);
    }

    /// Reads back the messages that are due soon.
    pub fn read_back(&mut self, now: Time) {
        let Some(mut later) = self.later.take() else { return };
        if later.count > 0 && later.next <= now + BEFORE {
            match later.backing_store.messages(&self.name, later.read, MOST) {
                Some(messages) => self.put_back_all(now, &mut later, messages),
                None => later.next = now + BEFORE + AGAIN,
            }
        }
        self.later = Some(later);
    }

    fn put_back_all(&mut self, now: Time, later: &mut Later, messages: Vec<(u64, String)>) {
        later.oldest.set(None);
        later.next = Time::NEVER;
        for (seq, value) in messages {
            let Ok(kept) = serde_json::from_str::<Persisted>(&value) else { continue };
            later.next = kept.due;
            if is_later(now, kept.due) {
                break;
            }
            later.read = (kept.due, seq);
            let known = self.due(seq).is_some()
                || later.unwritten.contains_key(&seq)
                || later.stayed.contains(&(kept.due, seq));
            if !known {
                later.count = later.count.saturating_sub(1);
                self.put_back(seq, kept);
            }
        }
        if later.next == Time::NEVER {
            // All that there were are read.
            later.count = 0;
        }
        later.stayed.retain(|place| *place >= later.read);
    }

    /// When messages have to be read back, if there are any.
    pub fn reads_at(&self) -> Option<Time> {
        let later = self.later.as_ref().filter(|later| later.count > 0)?;
        Some(Time::ZERO + (later.next - (Time::ZERO + BEFORE)))
    }

    pub fn later_count(&self) -> u64 {
        self.later.as_ref().map_or(0, |later| later.count)
    }

    /// When the oldest message was sent that is not in memory.
    pub fn oldest_later(&self) -> Option<Time> {
        let later = self.later.as_ref().filter(|later| later.count > 0)?;
        if later.oldest.get().is_none() {
            let found = later.backing_store.oldest_message(&self.name, later.read);
            let kept = found.and_then(|value| serde_json::from_str::<Persisted>(&value).ok());
            later.oldest.set(kept.map(|kept| kept.timestamp));
        }
        later.oldest.get()
    }

    fn restore_later(&mut self, away: PutAway) {
        self.add_bytes(away.bytes);
        if let Some(later) = &mut self.later {
            (later.count, later.next) = (away.count, away.next);
        }
    }
}
