//! The relay: what proptest makes of a failure, and what enumeration finds.

use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRng, TestRunner};
use thunderhead::systems;
use thunderhead_props::{System, search, storm};
use thunderhead_sim::{Enumerate, FaultSet};

use crate::search::enumerate;

fn relay() -> &'static System {
    systems::find("relay").expect("the relay is registered")
}

/// Proptest finds a planted bug, and its shrinking is the engine's: the minimal storm is pinned.
#[test]
fn proptest_shrinks_a_failing_storm_to_its_cause() {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) };
    let rng = TestRng::deterministic_rng(Default::default());
    let mut runner = TestRunner::new_with_rng(config, rng);
    let outcome = runner.run(&storm(relay(), relay().variant("acks-early").unwrap()), |storm| {
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
fn enumeration_finds_what_it_should() {
    let broken = |variant, faults, crashes| {
        let scenario = search::to_enumerate(relay(), faults, crashes);
        let mut broken = 0;
        let (variant, tapes) = (relay().variant(variant).unwrap(), Enumerate::new(1));
        enumerate(relay(), variant, &scenario, tapes, |_, found| broken += found.len());
        broken
    };
    assert!(broken("writes-twice", FaultSet::crashes(), 1) > 0, "one crash is enough");
    assert!(broken("acks-early", FaultSet::explored(), 0) > 0, "one failed call is enough");
}
