//! The image pipeline in every run within bounds: a few uploads and deletions of one name, and all the
//! ways in which so many things can go wrong.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use thunderhead::systems;
use thunderhead_props::{System, search};
use thunderhead_sim::{ClientRequest, Enumerate, FaultSet, Scenario, Source, Time, Timing};

const PATH: &str = "/acme/cat.jpg?as=ann@acme";

fn uploads() -> &'static System {
    systems::find("uploads").expect("the uploads are registered")
}

fn put(at_ms: u64, bytes: &str) -> ClientRequest {
    ClientRequest::new(Time::from_ms(at_ms), "PUT", PATH, bytes).retried(1)
}

fn delete(at_ms: u64) -> ClientRequest {
    ClientRequest::new(Time::from_ms(at_ms), "DELETE", PATH, "").retried(1)
}

/// Plays every run within bounds, which must all be as promised, and says how many there were.
fn enumerate(
    variant: &str,
    requests: &[ClientRequest],
    faults: FaultSet,
    max_deviations: usize,
) -> u64 {
    let (requests, timing) = (requests.to_vec(), Timing::Order);
    let scenario =
        Scenario { requests, drawn_faults: faults, timing, max_crashes: 2, ..Scenario::default() };
    let mut tapes = Enumerate::new(max_deviations);
    while let Some(tape) = tapes.next_tape() {
        let source = Source::Tape(tape.clone());
        let (run, broken) = search::check(uploads(), variant, &scenario, &source).unwrap();
        assert!(broken.is_empty(), "{variant}: {broken:?}\n{tape:?}\n{}", run.trace);
        tapes.tell(&run);
    }
    tapes.visited()
}

/// How many deviations from the benign run are enumerated, of all faults and of crashes alone: as far as
/// a test may take. `ENUMERATE_DEVIATIONS=3` asks for more of all faults, which takes an hour.
fn bounds() -> [(FaultSet, usize); 2] {
    let asked = std::env::var("ENUMERATE_DEVIATIONS").ok().and_then(|text| text.parse().ok());
    [(FaultSet::explored(), asked.unwrap_or(2)), (FaultSet::crashes(), 3)]
}

/// Both references, within the bounds; there must be at least so many runs, or something is off.
fn survives(requests: &[ClientRequest], at_least: u64) {
    for variant in ["reference", "reference-history"] {
        for (faults, max_deviations) in bounds() {
            let runs = enumerate(variant, requests, faults, max_deviations);
            println!("{variant}: {runs} runs with at most {max_deviations} deviations");
            assert!(runs > at_least, "{variant}: only {runs} runs");
        }
    }
}

// The second request comes when the consumer is about to tell the agent of the first.

#[test]
fn one_upload_survives_everything() {
    survives(&[put(0, "one")], 3_000);
}

#[test]
fn two_uploads_of_one_name_survive_everything() {
    survives(&[put(0, "one"), put(1_005, "two")], 10_000);
}

#[test]
fn an_upload_and_its_deletion_survive_everything() {
    survives(&[put(0, "one"), delete(1_005)], 6_000);
}

#[test]
fn an_upload_a_deletion_and_an_upload_survive_everything() {
    survives(&[put(0, "one"), delete(1_005), put(1_010, "two")], 15_000);
}

#[test]
fn the_same_bytes_twice_survive_everything() {
    survives(&[put(0, "one"), put(1_005, "one")], 7_000);
}
