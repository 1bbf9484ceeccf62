//! What one key has been.

use std::sync::Arc;

use super::limits::STALE_FOR;
use super::op::Entry;
use crate::values::time::Time;

/// The history of a key, oldest first. Nothing is forgotten: runs are short.
#[derive(Debug, Default)]
pub(super) struct Key {
    versions: Vec<Version>,
    /// When the key was last looked up and was not there. Locations remember that too.
    missed: Option<Time>,
}

#[derive(Debug)]
struct Version {
    /// The number of the write in its namespace.
    number: u64,
    at: Time,
    /// Nothing once the key was deleted.
    entry: Option<Arc<Entry>>,
}

impl Key {
    pub fn write(&mut self, number: u64, at: Time, entry: Option<Entry>) {
        self.versions.push(Version { number, at, entry: entry.map(Arc::new) });
    }

    /// What it is now, unless it was deleted.
    pub fn latest(&self) -> Option<Arc<Entry>> {
        self.versions.last().and_then(|version| version.entry.clone())
    }

    pub fn miss(&mut self, now: Time) {
        self.missed = Some(now);
    }

    /// The numbers of the writes that a location may not have heard of yet, the latest first.
    pub fn recent(&self, now: Time) -> impl Iterator<Item = u64> + '_ {
        let recent = self.versions.iter().rev();
        recent.take_while(move |version| now < version.at + STALE_FOR).map(|version| version.number)
    }

    /// What a location believes that has heard of no write from `unknown` on.
    pub fn believed(&self, now: Time, unknown: Option<u64>) -> Option<Arc<Entry>> {
        let entry = match self.known(unknown) {
            Some(version) => version.entry.clone(),
            // Before the first write it was not there, which only a location knows that has looked.
            None if self.missed.is_some_and(|at| now < at + STALE_FOR) => None,
            None => self.versions.first().and_then(|version| version.entry.clone()),
        };
        entry.filter(|entry| !entry.has_expired(now))
    }

    /// What a list has of it that was made without the writes from `unknown` on. Nobody has to look for a key first.
    pub fn listed(&self, now: Time, unknown: Option<u64>) -> Option<Arc<Entry>> {
        self.known(unknown)?.entry.clone().filter(|entry| !entry.has_expired(now))
    }

    /// The latest version before `unknown`.
    fn known(&self, unknown: Option<u64>) -> Option<&Version> {
        let known = |version: &&Version| unknown.is_none_or(|first| version.number < first);
        self.versions.iter().rev().find(known)
    }
}
