//! Appending and claiming, with more and more history in the table.
//!
//! History is processed commands, as a database has them after years. None of the operations
//! should feel it: the table at the end says how much slower each is than with little history.

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on has nothing to say")]
#![allow(clippy::float_arithmetic, reason = "rates are for eyes, not for traces")]

#[path = "../tests/stores/support/cluster.rs"]
#[allow(dead_code, reason = "the tests need the rest")]
mod cluster;
#[path = "measured/mod.rs"]
mod measured;

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use cluster::{Cluster, Listens};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use measured::{Postgres, Sqlite, Subject};
use serde_json::json;
use thunderhead_stream::{NewMessage, Store};
use tokio::runtime::Runtime;

const HISTORIES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// Commands that wait while everything is measured, so that a page and a claim are full.
const BACKLOG: usize = 1_000;
const BATCH: usize = 10;
/// Behind all due moments, so that claims always find something.
const NOW: i64 = 2_000_000_000_000;

/// Seconds per operation, by operation, database and history.
type Table = RefCell<Vec<(&'static str, &'static str, usize, f64)>>;

fn batch(prefix: &str) -> Vec<NewMessage> {
    let ids = (0..BATCH).map(|number| format!("{prefix}-{number}"));
    ids.map(|id| NewMessage::output_command(&id, "CheckOut", json!({ "guest": id }))).collect()
}

fn measure(
    criterion: &mut Criterion,
    runtime: &Runtime,
    table: &Table,
    subject: &impl Subject,
    history: usize,
) {
    let store = subject.store();
    let name = subject.name();
    let number = Cell::new(0_u64);
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(BATCH as u64));
    let mut time = |operation: &'static str, prepare: &dyn Fn(), once: &dyn Fn()| {
        let (spent, times) = (Cell::new(Duration::ZERO), Cell::new(0));
        group.bench_function(BenchmarkId::new(operation, history), |bench| {
            bench.iter_custom(|count| {
                (0..count).for_each(|_| prepare());
                let begun = Instant::now();
                (0..count).for_each(|_| once());
                let elapsed = begun.elapsed();
                spent.set(spent.get() + elapsed);
                times.set(times.get() + count);
                elapsed
            });
        });
        let seconds = spent.get().as_secs_f64() / times.get() as f64;
        table.borrow_mut().push((operation, name, history, seconds));
    };
    let append = || {
        number.set(number.get() + 1);
        let workflow = format!("new-{}", number.get());
        let version = runtime.block_on(store.append(&workflow, 0, &batch(&workflow), NOW)).unwrap();
        assert_eq!(version, BATCH as i64);
    };
    time("pending", &|| {}, &|| {
        let page = store.pending_commands(None, None, BATCH as u32);
        assert_eq!(runtime.block_on(page).unwrap().len(), BATCH);
    });
    // What is claimed is given back, so that the next claim finds the same.
    time("claim and release", &|| {}, &|| {
        let claims = runtime.block_on(store.claim("bench", NOW, 60_000, BATCH as u32)).unwrap();
        assert_eq!(claims.len(), BATCH);
        for claim in &claims {
            assert!(runtime.block_on(store.release(claim, claim.message.created_at)).unwrap());
        }
    });
    time("append", &|| {}, &append);
    // Before the clock runs, as much is added as is going to be marked.
    time("claim and mark", &append, &|| {
        let claims = runtime.block_on(store.claim("bench", NOW, 60_000, BATCH as u32)).unwrap();
        assert_eq!(claims.len(), BATCH);
        for claim in &claims {
            let key = claim.message.key();
            assert!(runtime.block_on(store.mark_command_processed(&key, NOW)).unwrap());
        }
    });
    group.finish();
}

fn histories(criterion: &mut Criterion) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let table = Table::default();
    for history in HISTORIES {
        let sqlite = Sqlite::new(history, BACKLOG);
        measure(criterion, &runtime, &table, &sqlite, history);
        // Commits wait for the disk on both, as they would for real money.
        let cluster = runtime.block_on(Cluster::start_with(Listens::Socket, "fsync=on"));
        let postgres = runtime.block_on(Postgres::new(&cluster, history, BACKLOG));
        measure(criterion, &runtime, &table, &postgres, history);
    }
    print(&table.borrow());
}

fn print(table: &[(&'static str, &'static str, usize, f64)]) {
    println!("\n| {BATCH} at a time, commands a second | history | SQLite | PostgreSQL |");
    println!("|---|---|---|---|");
    let find = |operation, name, history| {
        let entry =
            table.iter().find(|entry| (entry.0, entry.1, entry.2) == (operation, name, history));
        entry.expect("everything was measured").3
    };
    for operation in ["append", "pending", "claim and release", "claim and mark"] {
        for history in HISTORIES {
            let cell = |name| {
                let (now, first) =
                    (find(operation, name, history), find(operation, name, HISTORIES[0]));
                format!("{:.0} ({:.2}×)", BATCH as f64 / now, now / first)
            };
            println!("| {operation} | {history} | {} | {} |", cell("sqlite"), cell("postgres"));
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = histories
}
criterion_main!(benches);
