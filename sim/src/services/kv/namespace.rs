//! The keys of one namespace.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::key::Key;
use super::limits::DEFAULT_LIMIT;
use super::op::{Entry, ListOptions, Listed, Listing};
use crate::values::time::Time;

#[derive(Debug, Default)]
pub(super) struct Namespace {
    keys: BTreeMap<Arc<str>, Key>,
    writes: u64,
}

impl Namespace {
    /// The last write wins, whatever the writer knew of others.
    pub fn write(&mut self, now: Time, key: &Arc<str>, entry: Option<Entry>) {
        self.writes += 1;
        self.keys.entry(key.clone()).or_default().write(self.writes, now, entry);
    }

    /// What a location believes that has not heard of the latest `lag` writes of the key.
    pub fn read(&mut self, now: Time, key: &Arc<str>, lag: u64) -> Option<Entry> {
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
        let from: Bound<&str> = after.map_or(Bound::Unbounded, Bound::Excluded);
        let prefix = options.prefix.as_deref().unwrap_or_default();
        let keys = self.keys.range::<str, _>((from, Bound::Unbounded));
        let mut found =
            keys.filter(|(name, _)| name.starts_with(prefix)).filter_map(|(name, key)| {
                let entry = key.believed(now, unknown)?;
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
