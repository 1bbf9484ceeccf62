//! Counts runs, and keeps the few smallest failures of each promise, which are shrunk at the end.

use thunderhead_sim::{Case, Run, SetupError, SortedMap, SortedSet, TraceHash};

use super::checkpoint::{Checkpoint, CheckpointError, CheckpointFailures};
use super::shard::BLOCK;
use super::{Broken, Progress};
use crate::coverage::Coverage;
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
    /// Present when it was asked for.
    pub coverage: Option<Coverage>,
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
    first: Option<TraceHash>,
    /// A hash over each block of runs.
    blocks: Vec<TraceHash>,
    seen: Vec<u64>,
    broken: SortedMap<Name, Failures>,
    coverage: Option<Coverage>,
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
        let (blocks, broken) = (Vec::new(), SortedMap::new());
        Tally { system, keep, runs: 0, first: None, blocks, seen, broken, coverage: None }
    }

    pub fn add(&mut self, record: Record) {
        if self.runs.is_multiple_of(BLOCK) {
            self.blocks.push(TraceHash::default());
        }
        self.runs += 1;
        self.first.get_or_insert(record.hash);
        if let Some(block) = self.blocks.last_mut() {
            *block = block.then(record.hash);
        }
        for (count, seen) in self.seen.iter_mut().zip(record.seen) {
            *count += u64::from(seen);
        }
        if let Some(coverage) = record.coverage {
            self.coverage.get_or_insert_default().merge(coverage);
        }
        let Some(case) = record.case else { return };
        for promise in record.broken {
            let failures = self.broken.entry(promise).or_default();
            failures.times += 1;
            failures.keep(self.keep, record.seed, case.clone());
        }
    }

    /// Adds what another part of the search has found, which comes after this one. `case` is the case of a seed.
    pub fn add_saved(
        &mut self,
        saved: &Checkpoint,
        case: impl Fn(u64) -> Result<Case, SetupError>,
    ) -> Result<(), CheckpointError> {
        if saved.runs == 0 {
            return Ok(());
        }
        let other = |what: &str| Err(CheckpointError::Other(what.into()));
        let names = self.system.sometimes().map(|(promise, _)| &*promise.name);
        if !names.eq(saved.seen.iter().map(|(name, _)| name.as_str())) {
            return other("it counts other things that sometimes happen than the system has");
        }
        if saved.blocks.len() as u64 != saved.runs.div_ceil(BLOCK) {
            return other("it has another number of hashes than its runs have blocks");
        }
        for (count, (_, seen)) in self.seen.iter_mut().zip(&saved.seen) {
            *count = count.saturating_add(*seen);
        }
        for (name, CheckpointFailures { times, seeds }) in &saved.broken {
            let Some(promise) = self.system.promise(name) else {
                return Err(CheckpointError::Other(format!(
                    "the system does not promise `{name}`"
                )));
            };
            if seeds.is_empty() || seeds.len() > self.keep {
                return other("it has too few or too many seeds of failures");
            }
            let failures = self.broken.entry(promise.name.clone()).or_default();
            failures.times = failures.times.saturating_add(*times);
            for seed in seeds {
                failures.keep(self.keep, Some(*seed), case(*seed)?);
            }
        }
        self.runs = self.runs.saturating_add(saved.runs);
        self.first = self.first.or(saved.first);
        self.blocks.extend(&saved.blocks);
        Ok(())
    }

    /// What a file has to keep in order to go on from here.
    pub fn saved(&self) -> Checkpoint {
        let broken = self.broken.iter().map(|(name, failures)| {
            let seeds = failures.smallest.iter().filter_map(|(seed, _)| *seed).collect();
            (name.to_string(), CheckpointFailures { times: failures.times, seeds })
        });
        Checkpoint {
            runs: self.runs,
            first: self.first,
            blocks: self.blocks.clone(),
            seen: self.seen().into_iter().map(|(name, times)| (name.into_owned(), times)).collect(),
            broken: broken.collect(),
        }
    }

    pub fn runs(&self) -> u64 {
        self.runs
    }

    pub fn progress(&self) -> Progress {
        let seen = self.seen.iter().filter(|times| **times > 0).count();
        Progress { runs: self.runs, seen, sometimes: self.seen.len() }
    }

    pub fn trace_hash(&self) -> TraceHash {
        self.blocks.iter().copied().reduce(TraceHash::then).unwrap_or_default()
    }

    pub fn take_coverage(&mut self) -> Option<Coverage> {
        self.coverage.take()
    }

    pub fn is_broken(&self, promise: &str) -> bool {
        self.broken.contains_key(promise)
    }

    /// The smallest failure so far of each promise that is broken and not among `told`.
    pub fn news(&self, told: &SortedSet<Name>) -> Vec<(Name, Option<u64>, Case)> {
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

    /// The smallest failure of each broken promise, in the order in which the system lists them. `shrink` makes
    /// failures smaller.
    pub fn smallest(
        mut self,
        shrink: &mut dyn FnMut(Vec<(Name, Case)>) -> Vec<Option<Shrunk>>,
    ) -> Vec<Broken> {
        let mut found = Vec::new();
        let mut work = Vec::new();
        for promise in self.system.promises() {
            let Some(Failures { times, smallest }) = self.broken.remove(&promise.name) else {
                continue;
            };
            for (seed, case) in smallest {
                found.push((times, seed, case.tape.len()));
                work.push((promise.name.clone(), case));
            }
        }
        let mut broken: Vec<Broken> = Vec::new();
        for ((times, seed, shrunk_from), shrunk) in found.into_iter().zip(shrink(work)) {
            let Some(Shrunk { case, run, violation, also }) = shrunk else { continue };
            let new = Broken { violation, also, times, seed, shrunk_from, case, run };
            match broken.last_mut().filter(|last| last.violation.promise == new.violation.promise) {
                Some(last) if size_of(&new) < size_of(last) => *last = new,
                Some(_) => {}
                None => broken.push(new),
            }
        }
        broken
    }
}

impl Failures {
    /// Keeps a failure if it is among so many smallest ones.
    fn keep(&mut self, most: usize, seed: Option<u64>, case: Case) {
        let at = self.smallest.partition_point(|(_, kept)| size(kept) <= size(&case));
        if at < most {
            self.smallest.insert(at, (seed, case));
            self.smallest.truncate(most);
        }
    }
}

fn size(case: &Case) -> (usize, usize) {
    (case.scenario.requests.len(), case.tape.len())
}

fn size_of(broken: &Broken) -> ((usize, usize), usize) {
    (size(&broken.case), broken.run.trace.events().len())
}
