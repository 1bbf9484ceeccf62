//! A search plays millions of runs in one process: no isolate, and nothing that one holds, may be left behind.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;

use thunderhead_props::System;
use thunderhead_props::search::{self, Sampling};
use thunderhead_workers::Worker;

const RUNS: u64 = 1_500;
/// After so many runs every pool has what it will ever have.
const WARM_UP: u64 = 500;
const GROWTH_MAX: usize = 2 << 20;

fn play(system: &System, seed: u64) {
    let (scenario, source) = search::of_seed(system, seed, Sampling::Random, 3);
    drop(search::play(system.reference(), &scenario, &source).unwrap());
}

/// Bytes of this process that are in memory.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4_096
}

#[test]
fn more_runs_of_a_worker_take_no_more_memory() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/workers/acks-last");
    let system = Worker::load(&folder, None).unwrap().system("acks-last".into(), String::new());
    (0..WARM_UP).for_each(|seed| play(&system, seed));
    let before = resident();
    (WARM_UP..RUNS).for_each(|seed| play(&system, seed));
    let grown = resident().saturating_sub(before);
    assert!(grown < GROWTH_MAX, "{} KiB more after {RUNS} runs", grown >> 10);
}
