//! The strategies of a search.

use std::fmt;

use thunderhead_sim::FaultSet;

use crate::search::Sampling;

/// How runs are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// A new workload and a new set of faults for every seed.
    Random,
    /// Like `Random`, with deliveries ordered by changing priorities.
    Pct,
    /// Like `Random`, with every fault that can be survived, in storms of a minute to days.
    Weather,
    /// Every run of the smallest workload within bounds.
    Enumerate,
    /// Variations of the runs that showed something new.
    Guided,
}

impl Strategy {
    /// Every strategy.
    pub const ALL: [Strategy; 5] =
        [Strategy::Random, Strategy::Pct, Strategy::Enumerate, Strategy::Guided, Strategy::Weather];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Random => "random",
            Strategy::Pct => "pct",
            Strategy::Enumerate => "enumerate",
            Strategy::Guided => "guided",
            Strategy::Weather => "weather",
        }
    }

    /// What a seed means to it, if it plays one seed after the other: then its runs do not depend on each other.
    pub fn sampling(self) -> Option<Sampling> {
        match self {
            Strategy::Random => Some(Sampling::Random),
            Strategy::Pct => Some(Sampling::Pct),
            Strategy::Weather => Some(Sampling::Weather),
            Strategy::Enumerate | Strategy::Guided => None,
        }
    }

    /// The faults that it draws when none are named.
    pub fn faults(self) -> FaultSet {
        match self {
            Strategy::Weather => FaultSet::survivable(),
            _ => FaultSet::explored(),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
