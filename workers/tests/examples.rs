//! The Workers in `examples/workers`: the naive ones are refuted by the promises that every system is judged by, with
//! nothing but their `storm.http` or `storm.ts`, and the correct ones hold.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::PathBuf;

use thunderhead_props::search::{self, Sampling};
use thunderhead_props::{System, Violation};
use thunderhead_sim::Case;
use thunderhead_workers::Worker;

/// The Workers with a mistake in them, each with the most deviations that its shortest failure may need.
const NAIVE: [(&str, usize); 15] = [
    ("acks-early", 1),
    ("alarm-repeats", 1),
    ("charges-outside-a-step", 1),
    ("chat-in-memory", 2),
    ("counts-deliveries", 1),
    ("floating-promise", 1),
    ("kv-read-modify-write", 1),
    ("last-one-wins", 2),
    ("lost-update", 1),
    ("memory-for-storage", 1),
    ("orphaned-files", 1),
    ("row-means-done", 1),
    ("seats-oversold", 1),
    ("streams-an-import", 1),
    ("uploads-plan", 1),
];

/// Those without.
const CORRECT: [&str; 11] = [
    "acks-last",
    "charges-in-a-step",
    "chat-in-storage",
    "counts-orders",
    "kv-key-each",
    "no-lost-update",
    "seats-sold-once",
    "storage-first",
    "streams-an-import-once",
    "two-workers",
    "uploads-reference",
];

/// How far a naive one is searched at most, and a correct one always.
const RUNS: (u64, u64) = (1_000, 60);

fn system(name: &str) -> System {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../examples/workers").join(name);
    Worker::load(&folder, None)
        .unwrap_or_else(|why| panic!("{why}"))
        .system(name.to_string(), name.to_string())
}

/// The first of these seeds that breaks a promise.
fn broken(system: &System, seeds: u64) -> Option<(u64, Case, Violation)> {
    (0..seeds).find_map(|seed| {
        let (scenario, source) = search::of_seed(system, seed, Sampling::Random, 3);
        let (run, violations) =
            search::check(system, system.reference(), &scenario, &source).unwrap();
        Some((seed, Case { scenario, tape: run.tape() }, violations.into_iter().next()?))
    })
}

#[test]
fn every_naive_worker_is_refuted_and_the_failure_is_short() {
    for (name, most) in NAIVE {
        let system = system(name);
        let found = broken(&system, RUNS.0);
        let (seed, case, violation) = found.unwrap_or_else(|| panic!("{name} holds"));
        let shrunk = search::smallest(&system, system.reference(), case, &violation.promise);
        let shortest = shrunk.best().tape.len();
        println!("{name}: seed {seed}, {shortest} deviations: {}", violation.promise);
        assert!(
            shortest <= most,
            "{name} needs {shortest} deviations to break: {}",
            violation.promise
        );
    }
}

#[test]
fn no_correct_worker_is_alarmed_about() {
    for name in CORRECT {
        if let Some((seed, _, violation)) = broken(&system(name), RUNS.1) {
            panic!("{name}, seed {seed}: {}: {}", violation.promise, violation.finding.message);
        }
    }
}
