//! Ten uploads through R2, a queue, an object with real SQLite and a workflow of three steps, under
//! swarm faults and judged by every promise. Prints complete runs per second of one core beside the
//! time that SQLite alone takes for the same statements, and fails when a promise is broken.

mod promises;
mod system;

use std::time::Duration;

use criterion::Criterion;
use promises::promises;
use rusqlite::types::Value as Bare;
use system::{Executed, UPLOADS};
use thunderhead_props::judge;
use thunderhead_sim::sqlite::Value;
use thunderhead_sim::{FaultSet, Run, Scenario, Source, Swarm, simulate};

/// The allocator of the command line, whose searches this is to measure. SQLite has its own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many seeds one measurement goes through.
const SEEDS: u64 = 2_000;
/// How often it is repeated; the best counts, since whatever else runs here only ever slows it.
const ROUNDS: usize = 5;
const WANTED_RUNS_PER_SECOND: u64 = 2_000;
const WANTED_RATIO: u64 = 6;

fn main() {
    let scenario = Scenario {
        requests: system::uploads(),
        drawn_faults: FaultSet::explored(),
        ..Scenario::default()
    };
    let statements: Vec<Vec<Executed>> =
        (0..SEEDS).map(|seed| system::executed(|| drop(play(&scenario, seed)))).collect();
    let bare = Sqlite::new();
    compare(&scenario, &bare, &statements);

    let mut criterion = Criterion::default().sample_size(20).configure_from_args();
    let mut group = criterion.benchmark_group("pipeline");
    let mut seeds = (0..SEEDS).cycle();
    group.bench_function("run", |bencher| {
        bencher.iter(|| play(&scenario, seeds.next().expect("seeds come round")));
    });
    let mut runs = statements.iter().cycle();
    group.bench_function("sqlite alone", |bencher| {
        bencher.iter(|| bare.replay(runs.next().expect("runs come round"), true));
    });
    group.finish();
    criterion.final_summary();
}

/// One complete run, judged.
fn play(scenario: &Scenario, seed: u64) -> Run {
    let swarm = Swarm::of_seed(seed, scenario.drawn_faults);
    let source = Source::Random { seed, swarm };
    let run = simulate(scenario, &source, &system::mount).expect("the scenario fits the pipeline");
    let broken = judge(promises(), &run);
    assert!(broken.is_empty(), "seed {seed}: {broken:?}\n{}", run.trace);
    run
}

fn compare(scenario: &Scenario, bare: &Sqlite, statements: &[Vec<Executed>]) {
    let runs = best(|| (0..SEEDS).for_each(|seed| drop(play(scenario, seed))));
    let alone = best(|| statements.iter().for_each(|run| bare.replay(run, true)));
    let at_once = best(|| statements.iter().for_each(|run| bare.replay(run, false)));
    let all = || statements.iter().flatten();
    let count = all().filter(|one| matches!(one, Executed::Statement(..))).count();
    let per_run = |time: Duration| time.as_nanos() as u64 / SEEDS;
    let per_second = 1_000_000_000 / per_run(runs).max(1);
    println!("pipeline of {UPLOADS} uploads, {SEEDS} seeds, time of one core:");
    println!("  {per_second} runs per second (wanted: {WANTED_RUNS_PER_SECOND})");
    println!("  {} µs a run", per_run(runs) / 1_000);
    let each = count as u64 / SEEDS;
    println!("SQLite alone, for the same {each} statements a run:");
    for (how, time) in [("in the same transactions", alone), ("in one transaction", at_once)] {
        let (run, alone) = (per_run(runs), per_run(time).max(1));
        let tenths = (10 * run + alone / 2) / alone;
        let (microseconds, whole, rest) = (per_run(time) / 1_000, tenths / 10, tenths % 10);
        println!("  {microseconds} µs {how}, ratio {whole}.{rest} (wanted: {WANTED_RATIO})");
    }
}

/// The shortest time of this thread that `work` takes, of a few.
fn best(mut work: impl FnMut()) -> Duration {
    let rounds = (0..ROUNDS).map(|_| {
        let before = on_cpu();
        work();
        on_cpu() - before
    });
    rounds.min().expect("there are rounds")
}

/// How long this thread has run on a core: on a busy machine the clock on the wall says little.
fn on_cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat");
    let text = text.expect("the scheduler tells how long a thread has run");
    let nanoseconds = text.split(' ').next().and_then(|word| word.parse().ok());
    Duration::from_nanos(nanoseconds.expect("the first word of schedstat is a number"))
}

/// SQLite with nothing around it.
struct Sqlite(rusqlite::Connection);

impl Sqlite {
    fn new() -> Sqlite {
        let connection = rusqlite::Connection::open_in_memory().expect("memory opens");
        connection.set_prepared_statement_cache_capacity(64);
        let sqlite = Sqlite(connection);
        // As in the pool, the table is there before a run begins.
        sqlite.execute(system::CREATE, &[]);
        sqlite
    }

    /// Executes what a run has executed, each turn as a transaction if they are to be told apart, and
    /// forgets it.
    fn replay(&self, run: &[Executed], turns: bool) {
        self.execute("savepoint run", &[]);
        let mut open = false;
        for executed in run {
            match executed {
                Executed::Statement(sql, bindings) => {
                    if turns && !std::mem::replace(&mut open, true) {
                        self.execute("savepoint turn", &[]);
                    }
                    self.execute(sql, bindings);
                }
                Executed::Turn if std::mem::take(&mut open) => self.execute("release turn", &[]),
                Executed::Turn => {}
            }
        }
        self.execute("rollback to run", &[]);
        self.execute("release run", &[]);
    }

    fn execute(&self, sql: &str, bindings: &[Value]) {
        let done = || -> rusqlite::Result<()> {
            let mut statement = self.0.prepare_cached(sql)?;
            for (at, value) in bindings.iter().enumerate() {
                let text = value.as_str().expect("the pipeline binds text");
                statement.raw_bind_parameter(at + 1, Bare::Text(text.into()))?;
            }
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next()? {
                row.get_ref(0)?;
            }
            Ok(())
        };
        done().unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}
