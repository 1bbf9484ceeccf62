//! Searches over seeds that the tests of every system make.

use thunderhead_props::search::{self, Strategy};
use thunderhead_props::{Expected, System};
use thunderhead_sim::{Case, Source};

/// Every variant that must be refuted is, by both kinds of seeds within so many runs each, and
/// shrinks to at most so many deviations that still break the same promise.
pub fn refuted_and_made_small(system: &System, runs: u64, most: usize) {
    for variant in system.variants {
        let Expected::Refuted(promises) = variant.expected else { continue };
        for strategy in [Strategy::Random, Strategy::Pct] {
            let found = (0..runs).find_map(|seed| {
                let (scenario, source) = search::of_seed(system, seed, strategy, 3);
                let (run, broken) =
                    search::check(system, variant.name, &scenario, &source).unwrap();
                let violation = broken.into_iter().find(|v| promises.contains(&v.promise))?;
                Some((Case { scenario, tape: run.tape() }, violation.promise))
            });
            let (case, promise) =
                found.unwrap_or_else(|| panic!("{} was not refuted by {strategy:?}", variant.name));
            let small = search::smallest(system, variant.name, case, promise).best().clone();
            assert!(small.tape.len() <= most, "{}: {:?}", variant.name, small.tape);
            let source = Source::Tape(small.tape.clone());
            let (_, again) = search::check(system, variant.name, &small.scenario, &source).unwrap();
            assert!(again.iter().any(|v| v.promise == promise), "the small case still fails");
        }
    }
}

/// Every variant that must hold shows within so many runs everything that sometimes happens.
pub fn meets_everything(system: &System, runs: u64) {
    for variant in system.variants.iter().filter(|variant| variant.expected == Expected::Holds) {
        let mut unseen: Vec<_> = system.sometimes().collect();
        for seed in 0..runs {
            let (scenario, source) = search::of_seed(system, seed, Strategy::Random, 3);
            let run = search::play(system, variant.name, &scenario, &source).unwrap();
            unseen.retain(|(_, seen)| !seen(&run.trace));
        }
        assert!(unseen.is_empty(), "{}: {unseen:?}", variant.name);
    }
}
