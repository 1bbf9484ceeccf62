//! A search of one variant of a system: many runs, counted in a fixed order, and the smallest failure
//! of each promise.

mod bugs;
mod checkpoint;
mod progress;
mod shard;
mod strategy;
mod tally;
mod threads;

use thunderhead_sim::{
    Case, ClientRequest, Enumerate, FaultSet, Run, Scenario, SetupError, SortedSet, Source, Swarm,
    TraceHash,
};

use crate::coverage::Coverage;
use crate::guided::Guided;
use crate::panics::quietly;
use crate::promise::{Name, Violation};
use crate::promises::Reading;
use crate::search::{self, Sampling};
use crate::system::{System, Variant};
use shard::BLOCK;
use tally::{Record, Shrunk, Tally};
use threads::team;

pub use bugs::{Bug, bugs};
pub use checkpoint::{Checkpoint, CheckpointError, CheckpointFailures};
pub use progress::Progress;
pub use shard::Shard;
pub use strategy::Strategy;

/// Which variant to search, how, and for how long.
#[derive(Clone, Debug)]
pub struct Search<'a> {
    /// The system.
    pub system: &'a System,
    /// Its variant.
    pub variant: &'a Variant,
    /// How runs are chosen.
    pub strategy: Strategy,
    /// The first seed.
    pub seed: u64,
    /// The most runs to play.
    pub runs: u64,
    /// How many crashes a run may draw.
    pub max_crashes: u32,
    /// How many deviations an enumerated run may have.
    pub max_deviations: usize,
    /// Whether an enumeration leaves out runs that most likely show nothing that others do not show.
    pub reduced: bool,
    /// The faults that runs are chosen among; a guided search draws all explored faults.
    pub faults: FaultSet,
    /// The requests of enumerated runs, in place of the smallest workload.
    pub requests: Option<Vec<ClientRequest>>,
    /// The number of threads, which does not change what is found.
    pub jobs: usize,
    /// The search ends once one of these promises is broken. What such a search saves cannot be taken up.
    pub enough: Vec<Name>,
    /// Whether it ends only after what can be saved: blocks of 512 runs. Without that, it ends when it is told to.
    pub saves: bool,
    /// Whether to note which calls met which faults.
    pub coverage: bool,
    /// The part of the seeds that is played; other strategies are played as a whole.
    pub shard: Shard,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Findings {
    /// How many runs there were.
    pub runs: u64,
    /// A hash over all their traces in order, the same for any number of jobs.
    pub trace_hash: TraceHash,
    /// Whether every run within the bounds was visited, except those that a reduced search leaves out; known for
    /// enumeration only.
    pub complete: Option<bool>,
    /// In how many runs each `sometimes` was seen.
    pub seen: Vec<(Name, u64)>,
    /// The smallest failure for every promise that was broken.
    pub broken: Vec<Broken>,
    /// Which calls met which faults, if that was asked for.
    pub coverage: Option<Coverage>,
}

/// A promise that was broken, and the smallest run found that breaks it.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The violation in that run.
    pub violation: Violation,
    /// The other promises that the same run breaks.
    pub also: Vec<Name>,
    /// How many runs broke the promise.
    pub times: u64,
    /// The seed of the run that was shrunk, when it had one.
    pub seed: Option<u64>,
    /// How many choices that run had made.
    pub shrunk_from: usize,
    /// The shrunk scenario and its choices.
    pub case: Case,
    /// The run of that case.
    pub run: Run,
}

/// How many runs a search deals to the threads at once that learns from them or ends with what they found. It does so
/// after whole batches, so the size must not depend on the number of threads.
const BATCH: u64 = 64;
/// How many of the smallest failures of a promise are shrunk to find the smallest of all.
const SHRUNK: usize = 3;

impl<'a> Search<'a> {
    /// A search of a thousand runs from seed 0 on, on one thread, with what the strategy draws when nothing is said.
    pub fn new(system: &'a System, variant: &'a Variant, strategy: Strategy) -> Search<'a> {
        Search {
            system,
            variant,
            strategy,
            seed: 0,
            runs: 1_000,
            max_crashes: 3,
            max_deviations: 2,
            reduced: false,
            faults: strategy.faults(),
            requests: None,
            jobs: 1,
            enough: Vec::new(),
            saves: true,
            coverage: false,
            shard: Shard::WHOLE,
        }
    }
}

impl Search<'_> {
    /// Plays the runs. After each batch, `go_on` is told how far the search is and may end it.
    pub fn run(&self, go_on: &mut dyn FnMut(Progress) -> bool) -> Result<Findings, SetupError> {
        self.run_and_tell(&mut |_| {}, go_on)
    }

    /// Like [`run`](Search::run). When a promise is broken for the first time, `found` is told of it after that
    /// batch, with the run as it was: the smallest is known only at the end.
    pub fn run_and_tell(
        &self,
        found: &mut dyn FnMut(&Broken),
        go_on: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Findings, SetupError> {
        let tally = Tally::new(self.system, SHRUNK);
        self.run_from(tally, found, &mut |tally| go_on(tally.progress()))
    }

    /// Like [`run_and_tell`](Search::run_and_tell) for a search of seeds that can be stopped and taken up. It begins
    /// behind what was `saved`; after each batch, `go_on` is also given what there is to save.
    pub fn take_up(
        &self,
        saved: Option<&Checkpoint>,
        found: &mut dyn FnMut(&Broken),
        go_on: &mut dyn FnMut(Progress, &dyn Fn() -> Checkpoint) -> bool,
    ) -> Result<Findings, CheckpointError> {
        let tally = match saved {
            Some(saved) => self.tally(&[(self.shard, saved)])?,
            None => Tally::new(self.system, SHRUNK),
        };
        let go_on = &mut |tally: &Tally| go_on(tally.progress(), &|| tally.saved());
        Ok(self.run_from(tally, found, go_on)?)
    }

    /// What the shards of a search have found together, in their order.
    pub fn merge(&self, shards: &[(Shard, &Checkpoint)]) -> Result<Findings, CheckpointError> {
        Ok(self.findings(self.tally(shards)?, None))
    }

    /// How many runs belong to a shard.
    pub fn runs_of(&self, shard: Shard) -> u64 {
        let turns = shard.turns(self.runs);
        turns.end - turns.start
    }

    /// Puts together what was saved, if this is the search that saved it.
    fn tally(&self, shards: &[(Shard, &Checkpoint)]) -> Result<Tally<'_>, CheckpointError> {
        let mut tally = Tally::new(self.system, SHRUNK);
        for (shard, saved) in shards {
            let (all, first) = (self.runs_of(*shard), shard.turns(self.runs).start);
            if saved.runs > all || saved.runs < all && !saved.runs.is_multiple_of(BLOCK) {
                let other = "it has another number of runs than its search";
                return Err(CheckpointError::Other(other.into()));
            }
            let first = self.seed.wrapping_add(first);
            if saved.runs > 0 && saved.first != Some(quietly(|| self.run_of(first))?.1.trace.hash())
            {
                let changed = "its first run is another one now: the system has changed since";
                return Err(CheckpointError::Other(changed.into()));
            }
            let case = |seed| quietly(|| self.run_of(seed)).map(|(case, _)| case);
            tally.add_saved(saved, case)?;
        }
        Ok(tally)
    }

    /// The case of a seed, and its run.
    fn run_of(&self, seed: u64) -> Result<(Case, Run), SetupError> {
        let sampling = self.strategy.sampling().unwrap_or(Sampling::Random);
        let (scenario, source) =
            search::of_seed_among(self.system, seed, sampling, self.max_crashes, self.faults);
        let run = search::play(self.variant, &scenario, &source)?;
        Ok((Case { scenario, tape: run.tape() }, run))
    }

    fn run_from(
        &self,
        mut tally: Tally<'_>,
        found: &mut dyn FnMut(&Broken),
        go_on: &mut dyn FnMut(&Tally) -> bool,
    ) -> Result<Findings, SetupError> {
        let mut told: SortedSet<Name> = SortedSet::new();
        let mut ended = |tally: &Tally| {
            for (promise, seed, case) in tally.news(&told) {
                quietly(|| self.as_played(&promise, seed, case)).iter().for_each(&mut *found);
                told.insert(promise);
            }
            let enough = self.enough.iter().any(|name| tally.is_broken(name));
            enough || !go_on(tally)
        };
        let mut complete = None;
        match (self.strategy, self.strategy.sampling()) {
            (_, Some(sampling)) => self.seeds(sampling, &mut tally, &mut ended)?,
            (Strategy::Guided, _) => self.guided(&mut tally, &mut ended)?,
            _ => complete = Some(self.enumerate(&mut tally, &mut ended)?),
        }
        Ok(self.findings(tally, complete))
    }

    fn findings(&self, mut tally: Tally<'_>, complete: Option<bool>) -> Findings {
        let (runs, trace_hash, seen) = (tally.runs(), tally.trace_hash(), tally.seen());
        let coverage = tally.take_coverage();
        let shrink = |(promise, case): (Name, Case)| self.shrink(&promise, case);
        let broken = team(self.jobs, shrink, |deal| tally.smallest(deal));
        Findings { runs, trace_hash, complete, seen, broken, coverage }
    }

    /// The faults that the run of `seed` may draw.
    pub fn swarm(&self, seed: u64) -> Swarm {
        Swarm::of_seed(seed, self.faults)
    }

    fn seeds(
        &self,
        sampling: Sampling,
        tally: &mut Tally,
        ended: &mut dyn FnMut(&Tally) -> bool,
    ) -> Result<(), SetupError> {
        let turns = self.shard.turns(self.runs);
        let mut done = turns.start + tally.runs();
        // What is saved consists of whole blocks. A search that ends with its first find saves nothing.
        let step = if self.saves && self.enough.is_empty() { BLOCK } else { BATCH };
        let play = |seed| {
            let (scenario, source) =
                search::of_seed_among(self.system, seed, sampling, self.max_crashes, self.faults);
            self.play(scenario, &source, Some(seed)).map(|(record, _)| record)
        };
        team(self.jobs, play, |deal| {
            while done < turns.end {
                let next = turns.end.min(done.saturating_add(step));
                let batch = (done..next).map(|turn| self.seed.wrapping_add(turn));
                for record in deal(batch.collect()) {
                    tally.add(record?);
                }
                done = next;
                if ended(tally) {
                    break;
                }
            }
            Ok(())
        })
    }

    fn guided(
        &self,
        tally: &mut Tally,
        ended: &mut dyn FnMut(&Tally) -> bool,
    ) -> Result<(), SetupError> {
        let mut guide = Guided::new(self.system, self.seed, self.max_crashes);
        let mut done = 0;
        let play = |(scenario, source): (Scenario, Source)| {
            let (record, run) = self.play(scenario.clone(), &source, None)?;
            Ok((record, scenario, run))
        };
        team(self.jobs, play, |deal| {
            while done < self.runs {
                let size = BATCH.min(self.runs - done);
                done += size;
                for result in deal((0..size).map(|_| guide.propose()).collect()) {
                    let (record, scenario, run) = result?;
                    guide.tell(&scenario, &run);
                    tally.add(record);
                }
                if ended(tally) {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Uses one thread, because where the next run deviates depends on the last one.
    fn enumerate(
        &self,
        tally: &mut Tally,
        ended: &mut dyn FnMut(&Tally) -> bool,
    ) -> Result<bool, SetupError> {
        let mut scenario = search::to_enumerate(self.system, self.faults, self.max_crashes);
        if let Some(requests) = &self.requests {
            scenario.requests = requests.clone();
        }
        let mut tapes = match self.reduced {
            true => Enumerate::reduced(self.max_deviations, &scenario),
            false => Enumerate::new(self.max_deviations),
        };
        while let Some(tape) = tapes.next_tape() {
            if tally.runs() >= self.runs {
                return Ok(false);
            }
            let source = Source::Tape(tape);
            let (record, run) = quietly(|| self.play(scenario.clone(), &source, None))?;
            tapes.tell(&run);
            tally.add(record);
            if tally.runs().is_multiple_of(BATCH) && ended(tally) {
                return Ok(false);
            }
        }
        ended(tally);
        Ok(true)
    }

    fn play(
        &self,
        scenario: Scenario,
        source: &Source,
        seed: Option<u64>,
    ) -> Result<(Record, Run), SetupError> {
        let run = search::play(self.variant, &scenario, source)?;
        let (broken, seen) = self.told(&scenario, &run);
        let coverage = self.coverage.then(|| {
            let mut coverage = Coverage::default();
            coverage.add(&run.trace, scenario.drawn_faults);
            coverage
        });
        let case = (!broken.is_empty()).then(|| Case { scenario, tape: run.tape() });
        Ok((Record { hash: run.trace.hash(), seed, seen, broken, case, coverage }, run))
    }

    /// The promises that a run breaks, and which `sometimes` it shows.
    fn told(&self, scenario: &Scenario, run: &Run) -> (Vec<Name>, Vec<bool>) {
        let reading = Reading::of(&run.trace);
        let violations = self.system.judge_drawn_read(self.variant, scenario, run, &reading);
        let seen = self.system.sometimes().map(|(_, seen)| seen.read(&reading));
        (violations.into_iter().map(|v| v.promise).collect(), seen.collect())
    }

    /// A run that breaks `promise`, not shrunk.
    fn as_played(&self, promise: &str, seed: Option<u64>, case: Case) -> Option<Broken> {
        let source = Source::Tape(case.tape.clone());
        let (run, violations) =
            search::check(self.system, self.variant, &case.scenario, &source).ok()?;
        let (violation, also) = told_apart(violations, promise)?;
        let shrunk_from = case.tape.len();
        Some(Broken { violation, also, times: 1, seed, shrunk_from, case, run })
    }

    /// The smallest case that still breaks `promise`, with its run.
    fn shrink(&self, promise: &str, case: Case) -> Option<Shrunk> {
        let shrinker = search::smallest(self.system, self.variant, case, promise);
        let best = shrinker.best();
        let source = Source::Tape(best.tape.clone());
        let (run, violations) =
            search::check(self.system, self.variant, &best.scenario, &source).ok()?;
        let (violation, also) = told_apart(violations, promise)?;
        // The tape that the run consumed, without choices that it never asked for.
        let case = Case { scenario: best.scenario.clone(), tape: run.tape() };
        Some(Shrunk { case, run, violation, also })
    }
}

/// The violation of one promise, and the other promises that are broken.
fn told_apart(violations: Vec<Violation>, promise: &str) -> Option<(Violation, Vec<Name>)> {
    let (mut one, others): (Vec<_>, Vec<_>) =
        violations.into_iter().partition(|found| *found.promise == *promise);
    Some((one.pop()?, others.into_iter().map(|other| other.promise).collect()))
}
