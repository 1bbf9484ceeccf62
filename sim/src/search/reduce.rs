//! Partial-order reduction: leaves out runs that most likely show nothing new, so that an enumeration can go deeper.
//!
//! Runs are left out in two ways, each of which multiplies with every further deviation.
//!
//! *Before they are played* (`equivalents`): what a run shows of itself tells that two deviations from it come to the
//! same. A host that dies at one of two points between which nothing left it and nothing came to it dies once. A read
//! that happens twice happens once, and it is the same to its caller whether a read is lost or its answer.
//!
//! *After they were played* (`outcome`): two runs that leave and tell the same need not both be varied. Of the second,
//! only those choices are that the first did not offer. A run is compared by what promises can see of it: what took
//! effect on each service, the rows of each object and database, what became of each message, and what clients were
//! answered, each in its order. The order between them is left out, because effects on different things are
//! independent; and so are reads, what happened on hosts that died of it, and the times.
//!
//! What is assumed: memory of a host that survives between two requests does not change what it does, unless it has
//! shown in an effect; and that some milliseconds more or less do not matter as long as they change no order. Neither
//! follows from the platform. Outcomes of requests that overlap may be missed, because their handlers race; the tests
//! compare with the full enumeration on every system, and `Enumerate::new` proves what this does not.

mod equivalents;
mod outcome;

use std::sync::Arc;

use crate::engine::run::Run;
use crate::protocol::fault::FaultSet;
use crate::protocol::site::Site;
use crate::scenario::Scenario;
use crate::search::reduce::equivalents::Equivalents;
use crate::search::reduce::outcome::outcomes;
use crate::values::sorted_map::SortedMap;

/// One more deviation: a draw, as an index, and its value.
pub(super) type Choice = (usize, u32);

/// Decides which deviations from a run are worth playing.
#[derive(Debug)]
pub(super) struct Reduction {
    faults: FaultSet,
    clients: Vec<Arc<str>>,
    /// What the runs that were varied have offered, by what they leave and tell.
    offered: SortedMap<u64, Vec<Offer>>,
}

/// How often each choice was open behind the last deviation of a run, with each outcome so far.
#[derive(Debug)]
struct Offer {
    /// What the run had spent. It stands only for runs that have as little left to spend.
    deviations: usize,
    crashes: u32,
    turns: SortedMap<(Site, u64), u32>,
}

impl Reduction {
    pub fn new(scenario: &Scenario) -> Reduction {
        let mut clients: Vec<Arc<str>> = Vec::new();
        for request in &scenario.requests {
            if !clients.iter().any(|known| **known == *request.from) {
                clients.push(request.from.clone());
            }
        }
        Reduction { faults: scenario.drawn_faults, clients, offered: SortedMap::new() }
    }

    /// The deviations from a run that are worth playing, among those behind draw `from`.
    pub fn choices(&mut self, run: &Run, deviations: usize, from: usize) -> Vec<Choice> {
        let fresh = self.fresh(run, deviations, from);
        let mut equivalents = Equivalents::of(run, self.faults);
        let mut kept = Vec::new();
        for at in from..run.draws.len() {
            for value in 1..run.draws[at].of {
                // Asked of every choice: the first of several equivalents stands for all, even if it is not fresh.
                if equivalents.is_first(at, value) && fresh[at - from] {
                    kept.push((at, value));
                }
            }
        }
        kept
    }

    /// Which of the draws behind `from` no like run has offered; they count as offered from now on.
    fn fresh(&mut self, run: &Run, deviations: usize, from: usize) -> Vec<bool> {
        let outcomes = outcomes(run, &self.clients);
        let whole = outcomes.last().copied().unwrap_or_default();
        let known = self.offered.entry(whole).or_default();
        let crashes = run.crashes;
        let like =
            known.iter().filter(|offer| offer.deviations <= deviations && offer.crashes <= crashes);
        let mut offered: SortedMap<&(Site, u64), u32> = SortedMap::new();
        for (site, &turns) in like.flat_map(|offer| &offer.turns) {
            let most = offered.entry(site).or_default();
            *most = turns.max(*most);
        }
        // A choice is the same only if what was left and told before it is. Among those that are, the last turns of one
        // run are the last of the other: it does the same to the end.
        let mut turns: SortedMap<(Site, u64), u32> = SortedMap::new();
        let mut fresh = Vec::with_capacity(run.draws.len() - from);
        for draw in run.draws[from..].iter().rev() {
            let site = (draw.site(run.trace.actors()), outcomes[draw.after as usize]);
            let most = offered.get(&site).copied().unwrap_or_default();
            let turn = turns.entry(site).or_default();
            *turn += 1;
            fresh.push(*turn > most);
        }
        fresh.reverse();
        if fresh.contains(&true) {
            known.push(Offer { deviations, crashes, turns });
        }
        fresh
    }
}
