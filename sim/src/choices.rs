//! Every decision that is not the application's own passes through [`Choices::choose`].

mod pct;
pub mod swarm;
pub mod tape;
pub(crate) mod words;

use std::sync::Arc;

use crate::choices::pct::Pct;
use crate::choices::swarm::Swarm;
use crate::choices::tape::{Deviation, Tape};
use crate::protocol::site::{self, ChoiceKind, OPS_MAX, OpCode, Site};
use crate::values::hash::mix;
use crate::values::rng::Rng;

/// Counters grow for so many hosts at a time, which is mostly once.
const HOSTS_USUAL: usize = 32;
/// How many counters a host has.
const TURNS: usize = 3 * OPS_MAX + ChoiceKind::ALL.len();

/// Where the outcomes come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// From a tape; with the benign tape, everything goes well.
    Tape(Tape),
    /// From a seed, under the weather of a swarm.
    Random {
        /// The seed of the draws.
        seed: u64,
        /// How often each fault is drawn.
        swarm: Swarm,
    },
    /// From a seed, with deliveries ordered by random priorities that change `depth` times.
    Pct {
        /// The seed of the draws.
        seed: u64,
        /// How often each fault is drawn.
        swarm: Swarm,
        /// How often a priority drops during the run.
        depth: u32,
    },
}

/// How likely each outcome is when it is generated. A tape stores the outcome, never the odds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Odds<'a> {
    /// Every outcome is equally likely.
    Even,
    /// The benign one unless a chance in 1024 says otherwise; then all others alike.
    Rare(u16),
    /// A chance in 1024 for each outcome after the benign one.
    Each(&'a [u16]),
}

/// A choice as it was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Draw {
    /// What was chosen.
    pub kind: ChoiceKind,
    /// For which call.
    pub op: OpCode,
    /// The host, as an index into the run's hosts.
    pub host: u16,
    /// The turn at this site, counting from 1.
    pub nth: u32,
    /// The outcome that was chosen.
    pub value: u32,
    /// Out of how many.
    pub of: u32,
    /// How many events had happened before.
    pub after: u32,
}

impl Draw {
    /// This draw as a line of a tape, with `value` in place of its own.
    pub fn deviation(&self, hosts: &[Arc<str>], value: u32) -> Deviation {
        Deviation { site: self.site(hosts), nth: self.nth, value, of: self.of }
    }

    /// Where it was drawn.
    pub(crate) fn site(&self, hosts: &[Arc<str>]) -> Site {
        Site { kind: self.kind, host: hosts[usize::from(self.host)].clone(), op: self.op }
    }
}

/// A host as the choices know it: an index for counting and a hash for finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostKey {
    pub index: u16,
    pub hash: u64,
}

/// The one source of every decision in a run, and the record of what it answered.
#[derive(Debug)]
pub(crate) struct Choices {
    origin: Origin,
    swarm: Swarm,
    /// Where the counters of each host are in `turns`; 0 for a host that has had no turn.
    counters: Vec<u32>,
    turns: Vec<[u32; TURNS]>,
    draws: Vec<Draw>,
    /// How many events have happened, so that each draw can be found in the trace.
    events: u32,
}

#[derive(Debug)]
enum Origin {
    /// The tape's values under (site key, turn), sorted.
    Tape(Vec<(u64, u32, u32)>),
    Random(Rng),
    Pct(Rng, Pct),
}

impl Choices {
    pub fn new(source: &Source) -> Choices {
        let (origin, swarm) = match source {
            Source::Tape(tape) => {
                let mut values: Vec<_> =
                    tape.0.iter().map(|d| (d.site.key(), d.nth, d.value)).collect();
                values.sort_unstable();
                (Origin::Tape(values), Swarm::calm())
            }
            Source::Random { seed, swarm } => (Origin::Random(Rng::new(mix(*seed))), swarm.clone()),
            Source::Pct { seed, swarm, depth } => {
                let rng = Rng::new(mix(*seed));
                let pct = Pct::new(rng.fork("pct"), *depth);
                (Origin::Pct(rng, pct), swarm.clone())
            }
        };
        Choices {
            origin,
            swarm,
            counters: Vec::new(),
            turns: Vec::with_capacity(32),
            draws: Vec::with_capacity(512),
            events: 0,
        }
    }

    /// The weather when outcomes are generated; calm when they come from a tape.
    pub fn swarm(&self) -> &Swarm {
        &self.swarm
    }

    /// An outcome in `0..of`, 0 being benign. With a single outcome nothing is drawn.
    pub fn choose(
        &mut self,
        kind: ChoiceKind,
        host: HostKey,
        op: OpCode,
        of: u32,
        odds: Odds,
    ) -> u32 {
        self.choose_here(kind, host, op, of, odds)
    }

    /// Like `choose`, inlined, for the sites that every call passes.
    #[inline(always)]
    pub fn choose_here(
        &mut self,
        kind: ChoiceKind,
        host: HostKey,
        op: OpCode,
        of: u32,
        odds: Odds,
    ) -> u32 {
        if of <= 1 {
            return 0;
        }
        let nth = self.turn(kind, host, op);
        let value = match &mut self.origin {
            Origin::Tape(values) => recorded(values, site::key(kind, host.hash, op), nth),
            Origin::Random(rng) | Origin::Pct(rng, _) => generate(rng, of, odds),
        };
        let (value, after) = (value.min(of - 1), self.events);
        self.record(Draw { kind, op, host: host.index, nth, value, of, after })
    }

    /// Which of the pending deliveries to `host` comes first: an index into `flows`, which names
    /// the task behind each.
    pub fn order(&mut self, host: HostKey, flows: &[u32], odds: Odds) -> u32 {
        let of = flows.len() as u32;
        let preferred = match &mut self.origin {
            Origin::Pct(_, pct) if of > 1 => pct.pick(flows),
            _ => return self.choose(ChoiceKind::Order, host, OpCode::NONE, of, odds),
        };
        let nth = self.turn(ChoiceKind::Order, host, OpCode::NONE);
        let (kind, op, after) = (ChoiceKind::Order, OpCode::NONE, self.events);
        self.record(Draw { kind, op, host: host.index, nth, value: preferred, of, after })
    }

    /// Counts an event of the trace.
    #[inline(always)]
    pub fn happened(&mut self) {
        self.events = self.events.wrapping_add(1);
    }

    /// Everything drawn so far.
    pub fn take_draws(&mut self) -> Vec<Draw> {
        std::mem::take(&mut self.draws)
    }

    #[inline(always)]
    fn record(&mut self, draw: Draw) -> u32 {
        self.draws.push(draw);
        draw.value
    }

    #[inline(always)]
    fn turn(&mut self, kind: ChoiceKind, host: HostKey, op: OpCode) -> u32 {
        // Only three kinds of choice are counted per call; the others have one counter per host.
        let within = match kind {
            ChoiceKind::Latency => op.index(),
            ChoiceKind::Verdict => OPS_MAX + op.index(),
            ChoiceKind::Amount => 2 * OPS_MAX + op.index(),
            other => 3 * OPS_MAX + other as usize,
        };
        let host = usize::from(host.index);
        if host >= self.counters.len() {
            self.counters.resize((host + 1).next_multiple_of(HOSTS_USUAL), 0);
        }
        if self.counters[host] == 0 {
            self.turns.push([0; TURNS]);
            self.counters[host] = self.turns.len() as u32;
        }
        let turn = &mut self.turns[self.counters[host] as usize - 1][within];
        *turn += 1;
        *turn
    }
}

fn recorded(values: &[(u64, u32, u32)], key: u64, nth: u32) -> u32 {
    match values.binary_search_by_key(&(key, nth), |&(key, nth, _)| (key, nth)) {
        Ok(at) => values[at].2,
        Err(_) => 0,
    }
}

#[inline(always)]
fn generate(rng: &mut Rng, of: u32, odds: Odds) -> u32 {
    match odds {
        Odds::Even => rng.below(of),
        Odds::Rare(rate) => {
            if rng.chance(rate) {
                1 + rng.below(of - 1)
            } else {
                0
            }
        }
        Odds::Each(rates) => {
            let mut left = rng.below(1024);
            for (at, &rate) in rates.iter().take(of as usize - 1).enumerate() {
                match left.checked_sub(u32::from(rate)) {
                    Some(rest) => left = rest,
                    None => return at as u32 + 1,
                }
            }
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: HostKey = HostKey { index: 1, hash: 99 };

    fn ask(choices: &mut Choices, of: u32) -> u32 {
        choices.choose(ChoiceKind::Random, HOST, OpCode::NONE, of, Odds::Even)
    }

    #[test]
    fn a_single_outcome_draws_nothing() {
        let mut choices = Choices::new(&Source::Tape(Tape::benign()));
        assert_eq!(ask(&mut choices, 1), 0);
        assert!(choices.take_draws().is_empty());
    }

    #[test]
    fn a_tape_answers_its_own_turn_clamps_and_is_benign_where_it_ends() {
        let hosts: Vec<Arc<str>> = vec!["other".into(), "web".into()];
        let host = HostKey { index: 1, hash: crate::values::hash::StableHasher::of("web") };
        let (kind, op) = (ChoiceKind::Random, OpCode::NONE);
        let draw = Draw { kind, op, host: 1, nth: 2, value: 5, of: 6, after: 0 };
        let tape = Tape(vec![draw.deviation(&hosts, 5)]);
        let mut choices = Choices::new(&Source::Tape(tape));
        let answers: Vec<_> = [6, 3, 6]
            .map(|of| choices.choose(ChoiceKind::Random, host, OpCode::NONE, of, Odds::Even))
            .into();
        assert_eq!(answers, [0, 2, 0]);
    }

    #[test]
    fn odds_are_kept_when_outcomes_are_generated() {
        let mut rng = Rng::new(3);
        let mut seen = [0u32; 4];
        for _ in 0..10_240 {
            seen[generate(&mut rng, 4, Odds::Each(&[100, 0, 300])) as usize] += 1;
        }
        assert_eq!(seen[2], 0);
        assert!((800..1_200).contains(&seen[1]) && (2_700..3_300).contains(&seen[3]), "{seen:?}");
        assert!((0..1_000).all(|_| generate(&mut rng, 9, Odds::Rare(0)) == 0));
    }
}
