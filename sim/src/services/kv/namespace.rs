//! The keys of one namespace.

use std::ops::Bound;
use std::sync::Arc;

use super::key::Key;
use super::limits::DEFAULT_LIMIT;
use super::op::{Entry, ListOptions, Listed, Listing, seconds};
use super::persistence::Persisted;
use crate::values::sorted_map::SortedMap;
use crate::values::time::Time;

#[derive(Debug, Default)]
pub(super) struct Namespace {
    keys: SortedMap<Arc<str>, Key>,
    writes: u64,
    /// In a process that runs for long, what is to be written down.
    pub(super) kept: Option<Persisted>,
}

impl Namespace {
    /// The last write wins, whatever the writer knew of others.
    pub fn write(&mut self, now: Time, key: &Arc<str>, entry: Option<Entry>) {
        self.writes += 1;
        if self.kept.is_some() {
            self.forget(key);
            if let Some(entry) = entry {
                self.restore(key.clone(), entry);
            }
            return self.note(key);
        }
        self.keys.entry(key.clone()).or_default().write(self.writes, now, entry);
    }

    /// Removes what has expired, in a process that runs for long.
    pub fn expire(&mut self, now: Time) {
        while let Some(kept) = &mut self.kept
            && kept.expiring.first().is_some_and(|(at, _)| *at <= seconds(now))
            && let Some((_, key)) = kept.expiring.pop_first()
        {
            self.forget(&key);
            self.note(&key);
        }
    }

    /// What a key is.
    pub fn latest(&self, key: &str) -> Option<Arc<Entry>> {
        self.keys.get(key)?.latest()
    }

    /// Makes an entry all that a key has ever been.
    pub fn restore(&mut self, key: Arc<str>, entry: Entry) {
        if let (Some(kept), Some(at)) = (&mut self.kept, entry.expiration) {
            kept.expiring.insert((at, key.clone()));
        }
        let mut only = Key::default();
        only.write(self.writes, Time::ZERO, Some(entry));
        self.keys.insert(key, only);
    }

    fn forget(&mut self, key: &Arc<str>) {
        let gone = self.keys.remove(key).and_then(|gone| gone.latest());
        if let (Some(kept), Some(at)) = (&mut self.kept, gone.and_then(|gone| gone.expiration)) {
            kept.expiring.remove(&(at, key.clone()));
        }
    }

    fn note(&mut self, key: &Arc<str>) {
        if let Some(kept) = &mut self.kept {
            kept.changed.insert(key.clone());
        }
    }

    /// What a location believes that has not heard of the latest `lag` writes of the key.
    pub fn read(&mut self, now: Time, key: &Arc<str>, lag: u64) -> Option<Entry> {
        if self.kept.is_some() {
            return self.latest(key).map(|entry| (*entry).clone());
        }
        let known = self.keys.entry(key.clone()).or_default();
        let unknown = known.recent(now).take(usize_of(lag)).last();
        let entry = known.believed(now, unknown);
        if entry.is_none() {
            known.miss(now);
        }
        entry.map(|entry| (*entry).clone())
    }

    /// A page of keys, as a location knows them that has not heard of the latest `lag` writes of the namespace.
    pub fn list(&self, now: Time, options: &ListOptions, lag: u64) -> Listing {
        let unknown = self.unknown(now, lag);
        let after = options.cursor.as_deref();
        let prefix = options.prefix.as_deref().unwrap_or_default();
        let from: Bound<&str> = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        let keys = self.keys.range::<str, _>((from, Bound::Unbounded));
        let mut found =
            keys.take_while(|(name, _)| name.starts_with(prefix)).filter_map(|(name, key)| {
                let entry = key.listed(now, unknown)?;
                let (expiration, metadata) = (entry.expiration, entry.metadata.clone());
                Some(Listed { name: name.clone(), expiration, metadata })
            });
        let limit = usize::try_from(options.limit.unwrap_or(DEFAULT_LIMIT)).unwrap_or_default();
        let keys: Vec<Listed> = found.by_ref().take(limit).collect();
        let complete = found.next().is_none();
        let cursor = keys.last().filter(|_| !complete).map(|last| last.name.clone());
        Listing { keys, complete, cursor }
    }

    /// The first of the latest `lag` writes, among those that a location may not have heard of.
    fn unknown(&self, now: Time, lag: u64) -> Option<u64> {
        if lag == 0 {
            return None;
        }
        let mut numbers: Vec<u64> = self.keys.values().flat_map(|key| key.recent(now)).collect();
        numbers.sort_unstable();
        numbers.get(numbers.len().saturating_sub(usize_of(lag))).copied()
    }
}

fn usize_of(lag: u64) -> usize {
    usize::try_from(lag).unwrap_or(usize::MAX)
}
