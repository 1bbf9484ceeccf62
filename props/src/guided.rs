//! Guided search: a run that shows something new is kept, and later runs are variations of it.

use std::mem::discriminant;

use thunderhead_sim::{
    Case, Draw, EventKind, Op, Rng, Run, Scenario, SortedSet, Source, StableHasher, Trace,
};

use crate::search::{self, Sampling};
use crate::system::System;

/// A search whose proposals depend on the runs it was told of, and on its seed.
#[derive(Debug)]
pub struct Guided<'a> {
    system: &'a System,
    max_crashes: u32,
    rng: Rng,
    corpus: Vec<Kept>,
    seen: SortedSet<u64>,
}

/// A case worth varying, and the choices its run was asked for.
#[derive(Debug)]
struct Kept {
    case: Case,
    draws: Vec<Draw>,
    actors: Vec<std::sync::Arc<str>>,
}

/// In how many of 1024 proposals a fresh seed is tried, so that no corner becomes the whole world.
const FRESH: u16 = 256;
/// The most changes made to a kept case at once.
const CHANGES_MAX: u32 = 3;

impl<'a> Guided<'a> {
    /// A search over the storms of `system`.
    pub fn new(system: &'a System, seed: u64, max_crashes: u32) -> Guided<'a> {
        let rng = Rng::new(seed).fork("guided");
        Guided { system, max_crashes, rng, corpus: Vec::new(), seen: SortedSet::new() }
    }

    /// What to play next.
    pub fn propose(&mut self) -> (Scenario, Source) {
        if self.corpus.is_empty() || self.rng.chance(FRESH) {
            let seed = self.rng.bits();
            return search::of_seed(self.system, seed, Sampling::Random, self.max_crashes);
        }
        let kept = &self.corpus[self.rng.below(self.corpus.len() as u32) as usize];
        let case = vary(kept, &mut self.rng);
        (case.scenario, Source::Tape(case.tape))
    }

    /// What came of a proposal. It is kept when two events followed each other as never before.
    pub fn tell(&mut self, scenario: &Scenario, run: &Run) {
        let before = self.seen.len();
        self.seen.extend(features(&run.trace));
        if self.seen.len() > before {
            let case = Case { scenario: scenario.clone(), tape: run.tape() };
            let actors = run.trace.actors().to_vec();
            self.corpus.push(Kept { case, draws: run.draws.clone(), actors });
        }
    }

    /// How many runs were worth keeping.
    pub fn kept(&self) -> usize {
        self.corpus.len()
    }
}

/// Drops, alters or adds a few deviations.
fn vary(kept: &Kept, rng: &mut Rng) -> Case {
    let mut case = kept.case.clone();
    let lines = &mut case.tape.0;
    for _ in 0..1 + rng.below(CHANGES_MAX) {
        let at = rng.below(lines.len() as u32) as usize;
        match rng.below(4) {
            0 if !lines.is_empty() => drop(lines.remove(at)),
            1 if !lines.is_empty() => lines[at].value = 1 + rng.below(lines[at].of - 1),
            _ if kept.draws.is_empty() => {}
            _ => {
                let draw = kept.draws[rng.below(kept.draws.len() as u32) as usize];
                let line = draw.deviation(&kept.actors, 1 + rng.below(draw.of - 1));
                lines.retain(|known| (&known.site, known.nth) != (&line.site, line.nth));
                lines.push(line);
            }
        }
    }
    case
}

/// One number for each pair of neighbouring events: who, what sort, which call, well or badly.
fn features(trace: &Trace) -> impl Iterator<Item = u64> {
    let shapes: Vec<u64> = trace
        .events()
        .iter()
        .map(|event| {
            let (op, outcome) = trace.carried(event);
            let (call, well) = (op.map(Op::code), outcome.is_none_or(Result::is_ok));
            let fault = match &event.kind {
                EventKind::Fault { fault, .. } | EventKind::Crash { fault, .. } => Some(*fault),
                _ => None,
            };
            StableHasher::of(&(event.actor, discriminant(&event.kind), call, fault, well))
        })
        .collect();
    let pairs: Vec<u64> = shapes.windows(2).map(StableHasher::of).collect();
    pairs.into_iter()
}
