//! Generations under every kind of search: the reference holds, the plan is refuted, and what the
//! searches prove is not vacuous.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod campaign;

use proptest::prelude::*;
use thunderhead::systems;
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
    campaign::refuted_and_made_small(generations(), 400);
}

#[test]
fn a_campaign_meets_everything_that_sometimes_happens() {
    campaign::meets_everything(generations(), 600);
}
