//! One seed gives the same bytes, twice in one process and in two processes. That a system which breaks this is caught
//! is tested beside `thunderhead::testing`.

use std::process::Command;

use thunderhead::{systems, testing};
use thunderhead_props::search::{self, Sampling};
use thunderhead_sim::{StableHasher, TraceHash};

const SEEDS: u64 = 1_000;

/// Text and hash of a seed's trace.
fn trace(seed: u64) -> (String, TraceHash) {
    let system = systems::find("relay").expect("the relay is registered");
    let sampling = if seed.is_multiple_of(4) { Sampling::Pct } else { Sampling::Random };
    let (scenario, source) = search::of_seed(system, seed, sampling, 3);
    let run = search::play(system.reference(), &scenario, &source).expect("the workload fits");
    (run.trace.to_string(), run.trace.hash())
}

/// Everything about all seeds in one number: the bytes of every text and every hash.
fn fingerprint() -> u64 {
    let all: Vec<_> = (0..SEEDS).map(trace).collect();
    StableHasher::of(&all)
}

#[test]
fn a_thousand_seeds_give_the_same_bytes_twice_in_one_process() {
    let system = systems::find("relay").expect("the relay is registered");
    testing::deterministic(system, system.reference(), SEEDS);
}

#[test]
fn a_thousand_seeds_give_the_same_bytes_in_two_processes() {
    const ASKED: &str = "THUNDERHEAD_TEST_FINGERPRINT";
    const THIS: &str = "determinism::a_thousand_seeds_give_the_same_bytes_in_two_processes";
    if std::env::var_os(ASKED).is_some() {
        println!("fingerprint {:016x}", fingerprint());
        return;
    }
    let this = std::env::current_exe().expect("a test has a path");
    let run = Command::new(this)
        .args(["--exact", THIS, "--nocapture"])
        .env(ASKED, "1")
        .output()
        .expect("the test binary runs again");
    let text = String::from_utf8_lossy(&run.stdout);
    let other = text.split("fingerprint ").nth(1).map(|rest| &rest[..16]);
    assert_eq!(other, Some(format!("{:016x}", fingerprint()).as_str()), "{text}");
}
