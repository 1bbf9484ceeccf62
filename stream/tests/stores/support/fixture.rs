//! Databases to test on: each fixture is empty at first, and opens any number of stores on itself.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::future::Future;
use std::path::PathBuf;
use std::sync::{Barrier, OnceLock};
use std::time::Duration;

use thunderhead_stream::postgres::{Clock, Settings, connect};
use thunderhead_stream::{PostgresStore, SqliteStore, Store};

use super::cluster::{Cluster, empty_directory};
use super::pooler::Pooler;

/// A database that is gone with this value.
pub trait Fixture: Sync {
    /// What it opens.
    type Store: Store;

    /// Opens one more connection.
    async fn open(&self) -> Self::Store;

    /// Runs a statement of somebody else's.
    async fn execute(&self, sql: &str);
}

/// A SQLite database in a file of its own.
#[derive(Debug)]
pub struct Sqlite {
    directory: PathBuf,
}

impl Sqlite {
    /// A file that no other test has.
    pub async fn new() -> Sqlite {
        Sqlite { directory: empty_directory("sqlite").unwrap() }
    }
}

impl Fixture for Sqlite {
    type Store = SqliteStore;

    async fn open(&self) -> SqliteStore {
        // Those who wait for the one lock that there is are many, and the disk may be slow.
        let patience = Duration::from_secs(120);
        SqliteStore::open_with(&self.directory.join("stream.sqlite"), patience).unwrap()
    }

    async fn execute(&self, sql: &str) {
        self.open().await.connection().execute_batch(sql).unwrap();
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.directory).unwrap();
    }
}

/// A database in the one server that the tests of this process share.
#[derive(Debug)]
pub struct Postgres {
    settings: Settings,
}

impl Postgres {
    /// A database that no other test has.
    pub async fn new() -> Postgres {
        static CLUSTER: OnceLock<Cluster> = OnceLock::new();
        let cluster = CLUSTER.get_or_init(|| in_a_thread(|| block_on(Cluster::start())));
        let settings = cluster.config(&cluster.create_database().await);
        // The facts choose their times.
        Postgres { settings: Settings { clock: Clock::Caller, ..settings } }
    }

    /// How to connect to it.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}

impl Fixture for Postgres {
    type Store = PostgresStore;

    async fn open(&self) -> PostgresStore {
        PostgresStore::connect(&self.settings).await.unwrap()
    }

    async fn execute(&self, sql: &str) {
        connect(&self.settings).await.unwrap().batch_execute(sql).await.unwrap();
    }
}

/// A database behind a pooler: every transaction may be on another connection of the server, of which there are
/// fewer than connections of ours.
#[derive(Debug)]
pub struct Pooled {
    settings: Settings,
}

impl Pooled {
    /// A database that no other test has.
    pub async fn new() -> Pooled {
        static POOLED: OnceLock<(Cluster, Pooler)> = OnceLock::new();
        let (cluster, pooler) = POOLED.get_or_init(|| {
            in_a_thread(|| {
                let cluster = block_on(Cluster::start());
                let pooler = block_on(Pooler::start(&cluster));
                (cluster, pooler)
            })
        });
        let settings = pooler.config(&cluster.create_database().await);
        Pooled { settings: Settings { clock: Clock::Caller, ..settings } }
    }
}

impl Fixture for Pooled {
    type Store = PostgresStore;

    async fn open(&self) -> PostgresStore {
        PostgresStore::connect(&self.settings).await.unwrap()
    }

    async fn execute(&self, sql: &str) {
        connect(&self.settings).await.unwrap().batch_execute(sql).await.unwrap();
    }
}

/// Does something where no runtime is running yet.
fn in_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| match scope.spawn(work).join() {
        Ok(made) => made,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Runs a future on a runtime of this thread.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(future)
}

/// Does some work in several threads at once, each with a connection of its own; their answers. They begin
/// together; who is first from there on is not for a test to rely on.
pub fn at_once<F: Fixture, T: Send>(
    fixture: &F,
    threads: usize,
    work: impl AsyncFn(F::Store, usize) -> T + Sync,
) -> Vec<T> {
    let (begin, work) = (&Barrier::new(threads), &work);
    std::thread::scope(|scope| {
        let run = |index| {
            move || {
                begin.wait();
                block_on(async { work(fixture.open().await, index).await })
            }
        };
        let running: Vec<_> = (0..threads).map(|index| scope.spawn(run(index))).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}
