//! Workers in storms, beside the pipeline in Rust: runs per second of one core, played alone and with every promise
//! judged as a search does it, the size of the image that an isolate begins with, and the time to go back to it. Fails
//! when a run from images differs from the one whose isolates have all just booted.
//!
//! `cargo bench --bench workers -- --seeds 10000 ../my-worker` takes more seeds and other folders.

#[expect(dead_code, reason = "the other benches use all of it")]
mod measure;
#[path = "pipeline/system.rs"]
#[expect(dead_code, reason = "the statements that it has executed are for the other bench")]
mod pipeline;

use std::path::{Path, PathBuf};
use std::time::Duration;

use measure::{Table, average, clock, per_second};
use thunderhead_props::System;
use thunderhead_props::search::{self, Sampling};
use thunderhead_sim::{FaultSet, Scenario, Source, Swarm, TraceHash, simulate};
use thunderhead_workers::{Worker, booting_anew};

/// The allocator of the command line, whose searches this is to measure.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many seeds one measurement goes through, unless the command line says it.
const SEEDS: u64 = 300;
/// How often it is repeated; the best counts, since whatever else runs here only ever slows it.
const ROUNDS: usize = 3;
const RESTORES: u32 = 2_000;
const MAX_CRASHES: u32 = 3;

fn main() {
    let mut words = std::env::args().skip(1);
    let (mut seeds, mut folders) = (SEEDS, Vec::new());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--bench" => {}
            "--seeds" => {
                let given = words.next().and_then(|count| count.parse().ok());
                seeds = given.expect("--seeds is followed by a number");
            }
            folder => folders.push(folder.into()),
        }
    }
    if folders.is_empty() {
        folders = vec![example("uploads-reference"), example("acks-last")];
    }
    println!(
        "wanted: 400 runs/s for the pipeline, 60 for the agents SDK, 20 µs to restore below 1 MB"
    );
    let mut table = Table::new(["Worker", "runs/s", "judged", "image", "restore"]);
    let rust = rate(seeds, || in_rust(seeds));
    table.row(["the pipeline in Rust".into(), rust, "".into(), "".into(), "".into()]);
    for folder in folders {
        let row = measured(&folder, seeds);
        table.row(row.unwrap_or_else(|why| panic!("{}: {why}", folder.display())));
    }
    print!("{table}");
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/workers").join(name)
}

fn measured(folder: &Path, seeds: u64) -> Result<[String; 5], String> {
    let worker = Worker::load(folder, None)?;
    let system = worker.system(worker.name().to_string(), folder.display().to_string());
    let from_images = hashes(&system, seeds);
    assert_eq!(from_images, booting_anew(|| hashes(&system, seeds)), "{}", worker.name());
    let played = rate(seeds, || drop(hashes(&system, seeds)));
    let judged = rate(seeds, || {
        for seed in 0..seeds {
            let (scenario, source) = search::of_seed(&system, seed, Sampling::Random, MAX_CRASHES);
            let checked = search::check_drawn(&system, system.reference(), &scenario, &source);
            drop(checked.expect("the Worker serves its workload"));
        }
    });
    let image = worker.restored()?;
    let restore = average(RESTORES, || drop(worker.restored()));
    let image = format!("{} KB", image / 1024);
    Ok([worker.name().into(), played, judged, image, format!("{restore:.1?}")])
}

fn hashes(system: &System, seeds: u64) -> Vec<TraceHash> {
    let hash = |seed| {
        let (scenario, source) = search::of_seed(system, seed, Sampling::Random, MAX_CRASHES);
        let run = search::play(system.reference(), &scenario, &source);
        run.expect("the Worker serves its workload").trace.hash()
    };
    (0..seeds).map(hash).collect()
}

fn in_rust(seeds: u64) {
    let drawn_faults = FaultSet::explored();
    let scenario = Scenario { requests: pipeline::uploads(), drawn_faults, ..Scenario::default() };
    for seed in 0..seeds {
        let source = Source::Random { seed, swarm: Swarm::of_seed(seed, drawn_faults) };
        let run = simulate(&scenario, &source, &pipeline::mount).expect("the scenario fits");
        std::hint::black_box(run.trace.hash());
    }
}

/// How many of `seeds` runs a second has, by the shortest time of a few in which `work` plays them all.
fn rate(seeds: u64, mut work: impl FnMut()) -> String {
    let rounds = (0..ROUNDS).map(|_| {
        let start = clock();
        work();
        clock() - start
    });
    let shortest = rounds.min().unwrap_or(Duration::MAX);
    let runs = u32::try_from(seeds).expect("nobody waits for more runs");
    per_second(shortest / runs).to_string()
}
