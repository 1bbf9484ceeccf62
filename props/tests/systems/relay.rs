//! The relay under every kind of search: the reference holds, each planted bug is found and made
//! small, and what the searches prove is not vacuous.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod campaign;

use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};
use thunderhead::systems;
use thunderhead_props::{System, cases, search, storm};
use thunderhead_sim::{Enumerate, FaultSet, Source};

fn relay() -> &'static System {
    systems::find("relay").expect("the relay is registered")
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn the_reference_keeps_every_promise_in_every_storm(storm in storm(relay(), "reference")) {
        prop_assert_eq!(storm.violations(), vec![], "{}", storm);
    }
}

/// Proptest finds a planted bug, and its shrinking is the engine's: the minimal storm is pinned.
#[test]
fn proptest_shrinks_a_failing_storm_to_its_cause() {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) };
    let mut runner = TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(Default::default()),
    );
    let outcome = runner.run(&storm(relay(), "acks-early"), |storm| {
        prop_assert_eq!(storm.violations(), vec![]);
        Ok(())
    });
    let Err(TestError::Fail(_, storm)) = outcome else { panic!("found nothing: {outcome:?}") };
    storm.violations();
    let case = storm.case().expect("it has just been played");
    assert_eq!(case.scenario.requests.len(), 1, "{storm}");
    assert!((1..=3).contains(&case.tape.len()), "{storm}");
}

#[test]
fn each_planted_bug_is_found_within_a_thousand_runs_and_shrinks_to_three_deviations() {
    campaign::refuted_and_made_small(relay(), 1_000, 3);
}

/// Plays every run within bounds and says how many there were and how many broke a promise.
fn enumerate(variant: &str, faults: FaultSet, crashes: u32, deviations: usize) -> (u64, u64) {
    let scenario = search::to_enumerate(relay(), faults, crashes);
    let mut tapes = Enumerate::new(deviations);
    let mut broken = 0;
    while let Some(tape) = tapes.next_tape() {
        let source = Source::Tape(tape);
        let (run, violations) = search::check(relay(), variant, &scenario, &source).unwrap();
        broken += u64::from(!violations.is_empty());
        tapes.tell(&run);
    }
    (tapes.visited(), broken)
}

#[test]
fn the_reference_survives_every_placement_of_two_crashes_on_one_upload() {
    let (runs, broken) = enumerate("reference", FaultSet::crashes(), 2, 4);
    assert!(runs > 1_000, "only {runs} runs");
    assert_eq!(broken, 0);
}

#[test]
fn the_reference_survives_every_pair_of_faults_on_one_upload() {
    let (runs, broken) = enumerate("reference", FaultSet::explored(), 2, 2);
    assert!(runs > 1_000, "only {runs} runs");
    assert_eq!(broken, 0);
}

#[test]
fn enumeration_finds_what_it_should() {
    let (_, broken) = enumerate("writes-twice", FaultSet::crashes(), 1, 1);
    assert!(broken > 0, "one crash is enough to write twice");
    let (_, broken) = enumerate("acks-early", FaultSet::explored(), 0, 1);
    assert!(broken > 0, "one failed call is enough to lose an upload");
}

#[test]
fn a_campaign_meets_everything_that_sometimes_happens() {
    campaign::meets_everything(relay(), 200);
}
