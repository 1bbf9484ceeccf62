//! Comparisons: all that the repaired plan breaks, and one and two of them in every run within bounds, in a pair
//! that keeps one or two.

use thunderhead::systems;
use thunderhead_props::System;
use thunderhead_sim::{ClientRequest, FaultSet, Time};

use crate::bounds::asked;
use crate::search::{self, order_only, random};

fn comparisons() -> &'static System {
    systems::find("comparisons").expect("comparisons are registered")
}

/// What the plan breaks once the mistakes that hide the others are repaired.
#[test]
fn a_search_finds_every_promise_that_the_repaired_plan_breaks() {
    let broken = [
        "a pair keeps its newest",
        "a comparison ends once",
        "none runs for ever",
        "one comparison per request",
        "answers are true",
        "pairs are apart",
        "a retried step changes nothing",
        "no probe goes to a forbidden address",
    ];
    let variant = comparisons().variant("own-storage").unwrap();
    let kept = search::kept(comparisons(), variant, &broken, random(3_000));
    assert_eq!(kept, Vec::<&str>::new(), "still kept");
}

/// So many comparisons of one pair that keeps so many, all asked for at once.
fn requests(count: u32, keep: u32) -> Vec<ClientRequest> {
    let pair = r#""leftUrl":"https://prod.example/","rightUrl":"https://staging.example/""#;
    let keep =
        ClientRequest::new(Time::ZERO, "PUT", "/keep", format!("{{{pair},\"keep\":{keep}}}"))
            .with_header("authorization", "Bearer a-token-of-operators");
    let compare = |n| {
        let body = format!("{{{pair},\"requestId\":\"r{n}\"}}");
        ClientRequest::new(Time::from_ms(100), "POST", "/compare", body).retried(1)
    };
    std::iter::once(keep).chain((0..count).map(compare)).collect()
}

/// The reference keeps every promise in every run with at most so many deviations.
fn survives(requests: Vec<ClientRequest>, faults: FaultSet, deviations: usize, at_least: u64) {
    let scenario = order_only(requests);
    search::survives(
        comparisons(),
        comparisons().reference(),
        &scenario,
        &[(faults, deviations)],
        at_least,
    );
}

#[test]
fn one_comparison_survives_every_pair_of_faults() {
    survives(requests(1, 1), FaultSet::explored(), asked(2), 5_000);
}

#[test]
fn one_comparison_survives_every_pair_of_crashes_wherever_the_hosts_come_back() {
    survives(requests(1, 1), FaultSet::crashes(), 3, 5_000);
}

#[test]
fn two_comparisons_survive_every_fault_and_every_pair_of_crashes_in_a_pair_that_keeps_one() {
    survives(requests(2, 1), FaultSet::explored(), asked(1), 250);
    survives(requests(2, 1), FaultSet::crashes(), 2, 5_000);
}

#[test]
fn two_comparisons_survive_every_fault_in_a_pair_that_keeps_two() {
    survives(requests(2, 2), FaultSet::explored(), asked(1), 300);
}
