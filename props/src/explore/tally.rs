//! Counts runs, and keeps the few smallest failures of each promise, which are shrunk at the end.

use std::collections::{BTreeMap, BTreeSet};

use thunderhead_sim::{Case, Run, TraceHash};

use super::Broken;
use crate::promise::{Name, Violation};
use crate::system::System;

/// What is kept of a run.
pub struct Record {
    pub hash: TraceHash,
    pub seed: Option<u64>,
    pub seen: Vec<bool>,
    pub broken: Vec<Name>,
    /// Present when a promise is broken.
    pub case: Option<Case>,
}

/// A failure that was made small.
pub struct Shrunk {
    pub case: Case,
    pub run: Run,
    pub violation: Violation,
    /// The other promises that its run breaks.
    pub also: Vec<Name>,
}

pub struct Tally<'a> {
    system: &'a System,
    /// How many failures are kept for each promise.
    keep: usize,
    runs: u64,
    hash: TraceHash,
    seen: Vec<u64>,
    broken: BTreeMap<Name, Failures>,
}

#[derive(Default)]
struct Failures {
    times: u64,
    /// Smallest first; of equals, the earlier.
    smallest: Vec<(Option<u64>, Case)>,
}

impl<'a> Tally<'a> {
    pub fn new(system: &'a System, keep: usize) -> Tally<'a> {
        let seen = vec![0; system.sometimes().count()];
        Tally { system, keep, runs: 0, hash: TraceHash::default(), seen, broken: BTreeMap::new() }
    }

    pub fn add(&mut self, record: Record) {
        self.runs += 1;
        self.hash = self.hash.then(record.hash);
        for (count, seen) in self.seen.iter_mut().zip(record.seen) {
            *count += u64::from(seen);
        }
        let Some(case) = record.case else { return };
        for promise in record.broken {
            let failures = self.broken.entry(promise).or_default();
            failures.times += 1;
            let at = failures.smallest.partition_point(|(_, kept)| size(kept) <= size(&case));
            if at < self.keep {
                failures.smallest.insert(at, (record.seed, case.clone()));
                failures.smallest.truncate(self.keep);
            }
        }
    }

    pub fn runs(&self) -> u64 {
        self.runs
    }

    pub fn trace_hash(&self) -> TraceHash {
        self.hash
    }

    pub fn is_broken(&self, promise: &str) -> bool {
        self.broken.contains_key(promise)
    }

    /// The smallest failure so far of each promise that is broken and not among `told`.
    pub fn news(&self, told: &BTreeSet<Name>) -> Vec<(Name, Option<u64>, Case)> {
        let new = self.broken.iter().filter(|(promise, _)| !told.contains(*promise));
        let news = new.filter_map(|(promise, failures)| {
            let (seed, case) = failures.smallest.first()?;
            Some((promise.clone(), *seed, case.clone()))
        });
        news.collect()
    }

    pub fn seen(&self) -> Vec<(Name, u64)> {
        let names = self.system.sometimes().map(|(promise, _)| promise.name.clone());
        names.zip(self.seen.iter().copied()).collect()
    }

    /// The smallest failure of each broken promise, in the order in which the system lists them.
    pub fn smallest(mut self, shrink: impl Fn(&str, Case) -> Option<Shrunk>) -> Vec<Broken> {
        let promises = self.system.promises();
        let broken = promises.filter_map(|promise| {
            let Failures { times, smallest } = self.broken.remove(&promise.name)?;
            let shrunk = smallest.into_iter().filter_map(|(seed, case)| {
                let shrunk_from = case.tape.len();
                let Shrunk { case, run, violation, also } = shrink(&promise.name, case)?;
                Some(Broken { violation, also, times, seed, shrunk_from, case, run })
            });
            shrunk.min_by_key(|broken| (size(&broken.case), broken.run.trace.events().len()))
        });
        broken.collect()
    }
}

fn size(case: &Case) -> (usize, usize) {
    (case.scenario.requests.len(), case.tape.len())
}
