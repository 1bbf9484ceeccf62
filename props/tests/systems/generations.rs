//! Generations under every kind of search: the reference holds, the plan is refuted, and what the
//! searches prove is not vacuous.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod campaign;

use proptest::prelude::*;
use thunderhead::systems;
use thunderhead_props::search::{self, Strategy};
use thunderhead_props::{System, cases, storm};

fn generations() -> &'static System {
    systems::find("generations").expect("generations are registered")
}

// Two halves, so that two cores share them.
proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn the_reference_keeps_every_promise_in_every_storm(
        storm in storm(generations(), "reference"),
    ) {
        prop_assert_eq!(storm.violations(), vec![], "{}", storm);
    }

    #[test]
    fn the_reference_keeps_every_promise_in_as_many_storms_again(
        storm in storm(generations(), "reference"),
    ) {
        prop_assert_eq!(storm.violations(), vec![], "{}", storm);
    }
}

#[test]
fn the_plan_is_refuted_in_every_reading_and_shrinks_to_three_deviations() {
    campaign::refuted_and_made_small(generations(), 400, 3);
}

/// What the plan breaks once its artifacts can be written at all: all of it is found.
#[test]
fn a_campaign_finds_every_promise_that_the_plan_breaks() {
    let system = generations();
    let mut unbroken = vec![
        "a generation counts its artifacts",
        "final is final",
        "tags are as asked",
        "nothing is left over",
        "what was paid for is kept",
        "one generation per key",
        "status only goes forward",
        "a stray webhook changes nothing",
    ];
    for seed in 0..3_000 {
        let (scenario, source) = search::of_seed(system, seed, Strategy::Random, 3);
        let (_, broken) = search::check(system, "no-foreign-key", &scenario, &source).unwrap();
        unbroken.retain(|name| !broken.iter().any(|violation| violation.promise == *name));
        if unbroken.is_empty() {
            return;
        }
    }
    panic!("still whole: {unbroken:?}");
}

#[test]
fn a_campaign_meets_everything_that_sometimes_happens() {
    campaign::meets_everything(generations(), 2_000);
}
