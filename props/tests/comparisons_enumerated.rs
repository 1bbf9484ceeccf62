//! Comparisons in every run within bounds: one and two of them, in a pair that keeps one or two.
//!
//! These bounds are what a test has time for; `ENUMERATE_DEVIATIONS=3` asks for more, which is millions of
//! runs and wants a release build and two hours.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use thunderhead::systems;
use thunderhead_props::{System, search};
use thunderhead_sim::{ClientRequest, Enumerate, FaultSet, Scenario, Source, Time, Timing};

fn comparisons() -> &'static System {
    systems::find("comparisons").expect("comparisons are registered")
}

/// So many comparisons of one pair that keeps so many, all asked for at once.
fn requests(count: u32, keep: u32) -> Vec<ClientRequest> {
    let pair = r#""leftUrl":"https://prod.example/","rightUrl":"https://staging.example/""#;
    let keep =
        ClientRequest::new(Time::ZERO, "PUT", "/keep", format!("{{{pair},\"keep\":{keep}}}"));
    let compare = |n| {
        let body = format!("{{{pair},\"requestId\":\"r{n}\"}}");
        ClientRequest::new(Time::from_ms(100), "POST", "/compare", body).retried(1)
    };
    std::iter::once(keep).chain((0..count).map(compare)).collect()
}

/// Plays every run within bounds and says how many there were; every promise must hold in each.
fn enumerate(
    requests: Vec<ClientRequest>,
    faults: FaultSet,
    crashes: u32,
    deviations: usize,
) -> u64 {
    let timing = Timing::Order;
    let scenario = Scenario {
        requests,
        drawn_faults: faults,
        timing,
        max_crashes: crashes,
        ..Scenario::default()
    };
    let mut tapes = Enumerate::new(deviations);
    while let Some(tape) = tapes.next_tape() {
        let source = Source::Tape(tape.clone());
        let (run, violations) =
            search::check(comparisons(), "reference", &scenario, &source).unwrap();
        assert_eq!(violations, vec![], "{tape:?}");
        tapes.tell(&run);
    }
    println!("{} runs with at most {deviations} deviations", tapes.visited());
    tapes.visited()
}

/// How many deviations from the benign run: as many as a test has time for, or as asked.
fn deviations(usual: usize) -> usize {
    let asked = std::env::var("ENUMERATE_DEVIATIONS").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(usual)
}

#[test]
fn one_comparison_survives_every_pair_of_faults() {
    for keep in [1, 2] {
        let runs = enumerate(requests(1, keep), FaultSet::explored(), 2, deviations(2));
        assert!(runs > 5_000, "only {runs} runs");
    }
}

#[test]
fn one_comparison_survives_every_pair_of_crashes_wherever_the_hosts_come_back() {
    let runs = enumerate(requests(1, 1), FaultSet::crashes(), 2, 3);
    assert!(runs > 5_000, "only {runs} runs");
}

#[test]
fn two_comparisons_survive_every_pair_of_faults_in_a_pair_that_keeps_one() {
    let runs = enumerate(requests(2, 1), FaultSet::explored(), 2, deviations(2));
    assert!(runs > 10_000, "only {runs} runs");
}

#[test]
fn two_comparisons_survive_every_fault_in_a_pair_that_keeps_two() {
    let runs = enumerate(requests(2, 2), FaultSet::explored(), 2, deviations(1));
    assert!(runs > 300, "only {runs} runs");
}

#[test]
fn two_comparisons_survive_every_pair_of_crashes_in_a_pair_that_keeps_two() {
    let runs = enumerate(requests(2, 2), FaultSet::crashes(), 2, 2);
    assert!(runs > 10_000, "only {runs} runs");
}
