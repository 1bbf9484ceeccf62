//! Commands under every kind of search: the reference holds, every alternative of the plan is refuted in the
//! ways it is known to fail and in no other, and what the searches prove is not vacuous.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod campaign;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use thunderhead::systems;
use thunderhead_props::search::{self, Strategy};
use thunderhead_props::{Expected, System, cases, storm};

/// In how many storms the verdicts are reached.
const STORMS: u64 = 1_000;

fn commands() -> &'static System {
    systems::find("commands").expect("the commands are registered")
}

// Two halves, so that two cores share them.
proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn the_reference_keeps_every_promise_in_every_storm(
        storm in storm(commands(), "reference"),
    ) {
        prop_assert_eq!(storm.violations(), vec![], "{}", storm);
    }

    #[test]
    fn the_reference_keeps_every_promise_in_as_many_storms_again(
        storm in storm(commands(), "reference"),
    ) {
        prop_assert_eq!(storm.violations(), vec![], "{}", storm);
    }
}

/// The verdict on each alternative: it breaks every promise that it is said to break, and keeps all others.
#[test]
fn every_alternative_breaks_the_promises_it_is_known_to_break_and_keeps_the_others() {
    let system = commands();
    for variant in system.variants {
        let Expected::Refuted(promises) = variant.expected else { continue };
        let mut broken = BTreeMap::new();
        for seed in 0..STORMS {
            let strategy = if seed % 4 == 0 { Strategy::Pct } else { Strategy::Random };
            let (scenario, source) = search::of_seed(system, seed, strategy, 3);
            let (_, violations) = search::check(system, variant.name, &scenario, &source).unwrap();
            for violation in violations {
                *broken.entry(violation.promise).or_insert(0) += 1;
            }
        }
        println!("{} in {STORMS} storms: {broken:?}", variant.name);
        let expected: BTreeSet<&str> = promises.iter().copied().collect();
        let found: BTreeSet<&str> = broken.into_keys().collect();
        assert_eq!(found, expected, "{}", variant.name);
    }
}

/// How many processors there are is a matter of deviations too, so a history may need a few more.
#[test]
fn every_alternative_is_refuted_and_shrinks_to_a_handful_of_deviations() {
    campaign::refuted_and_made_small(commands(), 400, 6);
}

#[test]
fn a_campaign_meets_everything_that_sometimes_happens() {
    campaign::meets_everything(commands(), 1_000);
}
