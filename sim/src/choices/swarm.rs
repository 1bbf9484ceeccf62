//! The weather of one random run: which faults are on, and how strong each is.
//!
//! A run with everything on at once rarely gets far enough to be interesting. So each seed draws
//! its own subset and strengths; many different storms find more than one average storm.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::protocol::fault::{self, Fault, FaultSet};
use crate::values::rng::Rng;

/// Chances in 1024, one per fault, and how much the schedule is shaken.
///
/// ```
/// use thunderhead_sim::{FaultSet, Swarm};
///
/// let swarm = Swarm::of_seed(42, FaultSet::explored());
/// assert_eq!(swarm, Swarm::of_seed(42, FaultSet::explored()));
/// assert_eq!(Swarm::calm().to_string(), "calm");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Swarm {
    rates: [u16; Fault::COUNT],
    latency: bool,
}

/// The strengths a fault can have, in 1024ths: from about one in 300 to one in five.
const STRENGTHS: [u16; 5] = [3, 10, 30, 80, 200];

impl Swarm {
    /// No fault, no jitter.
    pub fn calm() -> Swarm {
        Swarm { rates: [0; Fault::COUNT], latency: false }
    }

    /// The weather that `seed` draws from the faults `allowed`.
    pub fn of_seed(seed: u64, allowed: FaultSet) -> Swarm {
        let mut rng = Rng::new(seed).fork("swarm");
        let mut swarm = Swarm::calm();
        swarm.latency = !rng.chance(256);
        // One run in eight has everything on, mildly: some bugs need three different faults.
        let everything = rng.chance(128);
        // In the order of ids, so that a seed keeps its weather when a fault is added.
        for fault in allowed.by_id() {
            let strength = STRENGTHS[rng.below(STRENGTHS.len() as u32) as usize];
            let on = rng.chance(512);
            if everything {
                swarm.rates[fault as usize] = 10;
            } else if on {
                swarm.rates[fault as usize] = strength;
            }
        }
        swarm
    }

    /// The chance of `fault` at each opportunity, in 1024ths.
    pub fn rate(&self, fault: Fault) -> u16 {
        self.rates[fault as usize]
    }

    /// Sets the chance of one fault.
    pub fn with(mut self, fault: Fault, per_1024: u16) -> Swarm {
        self.rates[fault as usize] = per_1024.min(1024);
        self
    }

    /// Whether ordinary latency varies.
    pub fn latency(&self) -> bool {
        self.latency
    }
}

impl fmt::Display for Swarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<String> = fault::ALL
            .iter()
            .filter(|kind| self.rate(kind.fault) > 0)
            .map(|kind| format!("{} {}/1024", kind.name, self.rate(kind.fault)))
            .collect();
        if self.latency {
            words.push("jitter".into());
        }
        if words.is_empty() {
            words.push("calm".into());
        }
        f.write_str(&words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_on_in_some_seeds_and_off_in_others() {
        let swarms: Vec<_> = (0..64).map(|s| Swarm::of_seed(s, FaultSet::explored())).collect();
        for fault in FaultSet::explored().iter() {
            let on = swarms.iter().filter(|swarm| swarm.rate(fault) > 0).count();
            assert!((10..54).contains(&on), "{fault} is on in {on} of 64 seeds");
        }
    }

    #[test]
    fn a_fault_that_came_later_leaves_the_weather_of_the_others_as_it_was() {
        let all = FaultSet::explored();
        let before: FaultSet = all.iter().filter(|fault| *fault != Fault::StaleRead).collect();
        for seed in 0..64 {
            let (now, then) = (Swarm::of_seed(seed, all), Swarm::of_seed(seed, before));
            assert!(before.iter().all(|fault| now.rate(fault) == then.rate(fault)), "seed {seed}");
        }
    }

    #[test]
    fn a_fault_that_is_not_allowed_is_never_on() {
        for seed in 0..64 {
            assert_eq!(Swarm::of_seed(seed, FaultSet::explored()).rate(Fault::LoseEvent), 0);
        }
    }
}
