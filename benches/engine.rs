//! One protocol, three worlds: this engine, tokio with paused time, and turmoil. Prints how they
//! compare, and fails when a run does not complete its workflows or the worlds do different work.

mod measure;
mod protocol;
mod worlds;

use std::rc::Rc;
use std::time::Duration;

use criterion::Criterion;
use measure::{Table, median};
use protocol::{Memory, Plan, Protocol, Rows, Sqlite, Tally, UPLOADS};
use worlds::{paused, simulated, wire};

/// How many seeds the runs go through, round and round.
const SEEDS: u64 = 64;
/// How many of them are counted before anything is timed.
const COUNTED: usize = 8;
/// In how many rounds a contender is compared with its base, at most.
const ROUNDS: usize = 25;
/// By how many calls in a hundred two worlds may differ: a crash costs one more retries than the
/// other, and nothing else may.
const TOLERANCE: u32 = 5;

/// One line of the table.
struct Contender {
    name: &'static str,
    rows: Rc<dyn Rows>,
    play: fn(&Plan, &Rc<Protocol>),
    /// The contender that this one is compared with: its own kind on this engine.
    against: &'static str,
    samples: usize,
    /// How many runs make one round of a comparison: some tens of milliseconds, or one run.
    round: u32,
}

impl Contender {
    /// One run, checked.
    fn run(&self, plan: &Plan) -> Tally {
        self.rows.begin();
        let protocol = Protocol::new(plan, self.rows.clone());
        (self.play)(plan, &protocol);
        self.rows.end();
        protocol.tally().unwrap_or_else(|wrong| panic!("{}, {plan:?}: {wrong}", self.name))
    }

    /// The average time of a run in one round.
    fn round(&self, plans: &[Plan]) -> Duration {
        let mut turn = plans.iter().cycle();
        measure::average(self.round, || {
            self.run(turn.next().expect("plans come round and round"));
        })
    }

    /// The average over the counted plans.
    fn count(&self, plans: &[Plan]) -> Tally {
        let plans = &plans[..COUNTED];
        let (mut calls, mut simulated) = (0, Duration::ZERO);
        for tally in plans.iter().map(|plan| self.run(plan)) {
            calls += tally.calls;
            simulated += tally.simulated;
        }
        Tally { calls: calls / COUNTED as u32, simulated: simulated / COUNTED as u32 }
    }
}

fn contenders() -> Vec<Contender> {
    let memory: Rc<dyn Rows> = Rc::new(Memory::default());
    let sqlite: Rc<dyn Rows> = Rc::new(Sqlite::new());
    let line = |name, rows: &Rc<dyn Rows>, play, against| Contender {
        name,
        rows: rows.clone(),
        play,
        against,
        samples: 100,
        round: 256,
    };
    let slow = |name, play, samples, round| Contender {
        samples,
        round,
        ..line(name, &memory, play, "thunderhead")
    };
    let ours: fn(&Plan, &Rc<Protocol>) = |plan, protocol| drop(simulated::run(plan, protocol));
    vec![
        line("thunderhead", &memory, ours, "thunderhead"),
        line("tokio paused", &memory, paused::run, "thunderhead"),
        line("thunderhead + SQLite", &sqlite, ours, "thunderhead + SQLite"),
        line("tokio paused + SQLite", &sqlite, paused::run, "thunderhead + SQLite"),
        slow("turmoil 10 ms", |plan, run| wire::run(plan, run, ms(10)), 20, 2),
        slow("turmoil 1 ms", |plan, run| wire::run(plan, run, ms(1)), 10, 1),
    ]
}

fn main() {
    let plans: Vec<Plan> = (0..SEEDS).map(Plan::of_seed).collect();
    let contenders = contenders();
    let tallies: Vec<Tally> = contenders.iter().map(|one| one.count(&plans)).collect();
    let least = tallies.iter().map(|tally| tally.calls).min().unwrap_or(0);
    let most = tallies.iter().map(|tally| tally.calls).max().unwrap_or(0);
    assert!((most - least) * 100 <= least * TOLERANCE, "not the same work: {tallies:?}");

    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("protocol");
    group.warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3));
    let mut turn = plans.iter().cycle();
    let mut table = Table::new(["world", "calls", "simulated", "median", "runs/s", "ratio"]);
    for (contender, tally) in contenders.iter().zip(&tallies) {
        let run = || _ = contender.run(turn.next().expect("plans come round and round"));
        let Some(took) = median(&mut group, contender.name, contender.samples, run) else {
            continue;
        };
        let base = contenders.iter().find(|other| other.name == contender.against);
        let base = base.expect("it is one of them");
        let rounds = contender.samples.min(ROUNDS);
        table.row([
            contender.name.into(),
            tally.calls.to_string(),
            format!("{:.1?}", tally.simulated),
            format!("{took:.1?}"),
            measure::per_second(took).to_string(),
            measure::ratio(rounds, || contender.round(&plans), || base.round(&plans)),
        ]);
    }
    group.finish();
    println!(
        "One run: {UPLOADS} workflows. Each ratio is to this engine with the same rows.\n{table}"
    );
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
