//! Comparisons under every kind of search: the reference holds, the plan is refuted in each degree of
//! repair, and what the searches prove is not vacuous.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod campaign;

use proptest::prelude::*;
use thunderhead::systems;
use thunderhead_props::search::{self, Strategy};
use thunderhead_props::{System, cases, storm};

fn comparisons() -> &'static System {
    systems::find("comparisons").expect("comparisons are registered")
}

// Two halves, so that two cores share them.
proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn the_reference_keeps_every_promise_in_every_storm(
        storm in storm(comparisons(), "reference"),
    ) {
        prop_assert_eq!(storm.violations(), vec![], "{}", storm);
    }

    #[test]
    fn the_reference_keeps_every_promise_in_as_many_storms_again(
        storm in storm(comparisons(), "reference"),
    ) {
        prop_assert_eq!(storm.violations(), vec![], "{}", storm);
    }
}

#[test]
fn the_plan_is_refuted_in_every_degree_of_repair_and_shrinks_to_three_deviations() {
    campaign::refuted_and_made_small(comparisons(), 400, 3);
}

/// What the plan breaks once the mistakes that hide the others are repaired: all of it is found.
#[test]
fn a_campaign_finds_every_promise_that_the_repaired_plan_breaks() {
    let system = comparisons();
    let mut unbroken = vec![
        "a pair keeps its newest",
        "a comparison ends once",
        "none runs for ever",
        "one comparison per request",
        "answers are true",
        "pairs are apart",
        "a retried step changes nothing",
        "no probe goes to a forbidden address",
    ];
    for seed in 0..3_000 {
        let (scenario, source) = search::of_seed(system, seed, Strategy::Random, 3);
        let (_, broken) = search::check(system, "own-storage", &scenario, &source).unwrap();
        unbroken.retain(|name| !broken.iter().any(|violation| violation.promise == *name));
        if unbroken.is_empty() {
            return;
        }
    }
    panic!("still whole: {unbroken:?}");
}

#[test]
fn a_campaign_meets_everything_that_sometimes_happens() {
    campaign::meets_everything(comparisons(), 300);
}
