//! The image pipeline: every plan breaks what it is known to break, and a few uploads and deletions of one name
//! survive all the ways in which so many things can go wrong.

use thunderhead::systems;
use thunderhead_props::{Expected, System, search};
use thunderhead_sim::{ClientRequest, FaultSet, Scenario, Source, Tape, Time};

use crate::bounds::enumerated;
use crate::search::{kept, mixed, order_only};

const REFERENCE: &[&str] = &["reference"];
/// The second differs from the first in its ledger only, so the largest workloads are left out for it.
const BOTH: &[&str] = &["reference", "reference-history"];

const PATH: &str = "/acme/cat.jpg?as=ann@acme";

fn uploads() -> &'static System {
    systems::find("uploads").expect("the uploads are registered")
}

#[test]
fn every_plan_breaks_each_promise_it_is_known_to_break() {
    for variant in uploads().variants() {
        let Expected::Refuted(promises) = &variant.expected else { continue };
        let promises: Vec<&str> = promises.iter().map(|name| &**name).collect();
        let kept = kept(uploads(), variant, &promises, mixed(4_000));
        assert_eq!(kept, Vec::<&str>::new(), "{} keeps these", variant.name);
    }
}

/// The result of a step may have 1 MiB, and this picture has more when it is written as numbers.
#[test]
fn a_large_picture_is_classified_only_by_those_who_keep_it_out_of_the_results_of_steps() {
    let requests = vec![ClientRequest::new(Time::ZERO, "PUT", PATH, vec![200; 400_000])];
    let scenario = Scenario { requests, ..Scenario::default() };
    let benign = Source::Tape(Tape::benign());
    for (variant, ends) in [("reference", "→ 'classified'"), ("row-first", "→ 'failed'")] {
        let mounted = uploads().variant(variant).unwrap();
        let run = search::play(mounted, &scenario, &benign).unwrap();
        assert!(run.trace.wide().contains(ends), "{variant}: {}", run.trace);
    }
}

fn put(at_ms: u64, bytes: &str) -> ClientRequest {
    ClientRequest::new(Time::from_ms(at_ms), "PUT", PATH, bytes).retried(1)
}

fn delete(at_ms: u64) -> ClientRequest {
    ClientRequest::new(Time::from_ms(at_ms), "DELETE", PATH, "").retried(1)
}

/// These variants keep every promise in every run within bounds.
fn survive(
    variants: &[&str],
    requests: &[ClientRequest],
    bounds: &[(FaultSet, usize)],
    at_least: u64,
) {
    let scenario = order_only(requests.to_vec());
    for name in variants {
        let variant = uploads().variant(name).unwrap();
        crate::search::survives(uploads(), variant, &scenario, bounds, at_least);
    }
}

// The second request comes when the consumer is about to tell the agent of the first.

#[test]
fn one_upload_survives_everything() {
    survive(BOTH, &[put(0, "one")], &enumerated(2, 3), 3_000);
}

#[test]
fn two_uploads_of_one_name_survive_everything() {
    survive(REFERENCE, &[put(0, "one"), put(1_005, "two")], &enumerated(2, 2), 20_000);
}

#[test]
fn an_upload_and_its_deletion_survive_everything() {
    survive(BOTH, &[put(0, "one"), delete(1_005)], &enumerated(2, 3), 6_000);
}

#[test]
fn an_upload_a_deletion_and_an_upload_survive_every_fault_and_every_pair_of_crashes() {
    let requests = [put(0, "one"), delete(1_005), put(1_010, "two")];
    survive(REFERENCE, &requests, &enumerated(1, 2), 200);
}

#[test]
fn the_same_bytes_twice_survive_every_fault_and_every_pair_of_crashes() {
    survive(BOTH, &[put(0, "one"), put(1_005, "one")], &enumerated(1, 2), 150);
}
