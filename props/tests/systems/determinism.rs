//! One seed gives the same bytes, twice in one process and in two processes; and a system that
//! breaks this is caught.

use std::process::Command;

use thunderhead::systems;
use thunderhead_props::search::{self, Strategy};
use thunderhead_sim::{
    ClientRequest, Cloud, Request, Response, Scenario, Source, StableHasher, Tape, Time, TraceHash,
    simulate,
};

const SEEDS: u64 = 1_000;

/// Text and hash of a seed's trace.
fn trace(seed: u64) -> (String, TraceHash) {
    let system = systems::find("relay").expect("the relay is registered");
    let strategy = if seed.is_multiple_of(4) { Strategy::Pct } else { Strategy::Random };
    let (scenario, source) = search::of_seed(system, seed, strategy, 3);
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
    for seed in 0..SEEDS {
        let (first, second) = (trace(seed), trace(seed));
        if let Some((a, b)) = first.0.lines().zip(second.0.lines()).find(|(a, b)| a != b) {
            panic!("seed {seed} differs first at\n{a}\n{b}");
        }
        assert_eq!(first, second, "seed {seed}");
    }
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

/// A worker that answers in the order of a standard hash map, which differs each time one is made.
#[expect(clippy::disallowed_types, reason = "the planted mistake that must be caught")]
fn leaky(cloud: &mut Cloud) {
    cloud.worker("web").fetch(|env, _: Request| async move {
        let names: std::collections::HashMap<u32, u32> = (0..32).map(|n| (n, n)).collect();
        for name in names.keys() {
            env.log(format!("{name}"));
        }
        Ok(Response::new(200, ""))
    });
}

#[test]
fn a_planted_hash_map_is_caught_by_running_twice() {
    let requests = vec![ClientRequest::new(Time::ZERO, "GET", "/", "")];
    let scenario = Scenario { requests, ..Scenario::default() };
    let play = || {
        let run = simulate(&scenario, &Source::Tape(Tape::benign()), &leaky).unwrap();
        (run.trace.to_string(), run.trace.hash())
    };
    let (first, second) = (play(), play());
    assert_ne!(first.0, second.0, "32 names in the same order twice: not in our lifetime");
    assert_ne!(first.1, second.1, "the hash sees what the text sees");
}
