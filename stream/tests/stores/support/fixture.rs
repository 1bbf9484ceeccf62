//! Databases to test on: each fixture is empty at first, and opens any number of stores on itself.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::future::Future;
use std::path::PathBuf;
use std::sync::{Barrier, OnceLock};

use thunderhead_stream::{PostgresStore, SqliteStore, Store};
use tokio_postgres::Config;

use super::cluster::{Cluster, empty_directory};

/// A database that is gone with this value.
pub trait Fixture: Sync {
    /// What it opens.
    type Store: Store;

    /// Opens one more connection.
    async fn open(&self) -> Self::Store;
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
        SqliteStore::open(&self.directory.join("stream.sqlite")).unwrap()
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
    config: Config,
}

impl Postgres {
    /// A database that no other test has.
    pub async fn new() -> Postgres {
        static CLUSTER: OnceLock<Cluster> = OnceLock::new();
        let start = || std::thread::spawn(|| block_on(Cluster::start())).join();
        let cluster = CLUSTER.get_or_init(|| match start() {
            Ok(cluster) => cluster,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        Postgres { config: cluster.config(&cluster.create_database().await) }
    }
}

impl Fixture for Postgres {
    type Store = PostgresStore;

    async fn open(&self) -> PostgresStore {
        PostgresStore::connect(&self.config).await.unwrap()
    }
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
