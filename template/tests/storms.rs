//! What holds in every storm, what does not, and one story whose history is kept.

use thunderhead::props::proptest::prelude::*;
use thunderhead::props::search::Sampling;
use thunderhead::props::{System, cases, storm};
use thunderhead::testing;

use {{crate}}::system;

fn of(name: &str) -> (System, thunderhead::props::Variant) {
    let system = system();
    let variant = system.variant(name).expect("the system has such a variant").clone();
    (system, variant)
}

#[test]
fn the_fixed_one_keeps_every_promise_in_every_storm() {
    let (system, fixed) = of("fixed");
    proptest!(cases(200), |(storm in storm(&system, &fixed))| testing::holds(&storm)?);
}

#[test]
fn the_draft_is_refuted_by_a_run_with_one_order() {
    let (system, draft) = of("draft");
    let found = testing::refuted(&system, &draft, Sampling::Random, 300);
    assert_eq!(found.violation.promise, "no order is booked twice");
    assert_eq!(found.case.scenario.requests.len(), 1);
}

#[test]
fn the_same_storm_is_the_same_run() {
    let (system, fixed) = of("fixed");
    testing::deterministic(&system, &fixed, 50);
}

#[test]
fn an_answer_that_is_lost_changes_nothing() {
    let history = testing::history(&[&system()], "scenarios/lost-answer.toml");
    insta::assert_snapshot!("lost-answer", history);
}
