//! The relay under random storms: what a run costs, and what judging, hashing and formatting its
//! trace cost on top. Text is made only when it is asked for, so a search does not pay for it.

mod measure;

use std::hint::black_box;
use std::time::Duration;

use criterion::Criterion;
use measure::{Table, median};
use thunderhead_props::{System, search};
use thunderhead_sim::{Run, Scenario, Source};

/// How many seeds the runs go through, round and round.
const SEEDS: u64 = 1_000;
/// In how many rounds a kind of work is compared with the bare run.
const ROUNDS: usize = 9;
const MAX_CRASHES: u32 = 3;

type Weather = (Scenario, Source);
type Work = fn(&System, &Weather);

fn main() {
    let relay = thunderhead::systems::find("relay").expect("the relay is a system");
    let random = |seed| search::of_seed(relay, seed, search::Sampling::Random, MAX_CRASHES);
    let storms: Vec<Weather> = (0..SEEDS).map(random).collect();
    let works: [(&str, Work); 4] = [
        ("run", |system, storm| _ = black_box(play(system, storm))),
        ("run + promises", judged),
        ("run + trace hash", |system, storm| _ = black_box(play(system, storm).trace.hash())),
        ("run + trace text", |system, storm| _ = black_box(play(system, storm).trace.to_string())),
    ];

    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("relay");
    group.warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3));
    let mut turn = storms.iter().cycle();
    let mut table = Table::new(["work", "median", "runs/s", "ratio"]);
    for (name, work) in works {
        let run = || work(relay, turn.next().expect("storms come round and round"));
        let Some(took) = median(&mut group, name, 100, run) else { continue };
        let round = |work: Work| {
            let mut turn = storms.iter();
            let run = || work(relay, turn.next().expect("a round is once through the storms"));
            measure::average(SEEDS as u32, run)
        };
        table.row([
            name.into(),
            format!("{took:.1?}"),
            measure::per_second(took).to_string(),
            measure::ratio(ROUNDS, || round(work), || round(works[0].1)),
        ]);
    }
    group.finish();
    println!("{table}");
}

fn play(system: &System, (scenario, source): &Weather) -> Run {
    search::play(system.reference(), scenario, source).expect("the relay serves its workload")
}

fn judged(system: &System, (scenario, source): &Weather) {
    let judged = search::check(system, system.reference(), scenario, source);
    let (_, violations) = judged.expect("the relay serves its workload");
    assert!(violations.is_empty(), "the reference breaks a promise: {violations:?}");
}
