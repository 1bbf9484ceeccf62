//! Databases with a history, loaded in bulk.

use std::path::PathBuf;

use thunderhead_stream::postgres::{Clock, Settings, connect};
use thunderhead_stream::{PostgresStore, SqliteStore, Store};

use crate::cluster::{Cluster, empty_directory};

/// A database to measure.
pub trait Subject {
    /// What it is called in reports.
    fn name(&self) -> &'static str;
    /// A connection to it.
    fn store(&self) -> &impl Store;
}

/// A file that is gone with this value.
pub struct Sqlite {
    store: SqliteStore,
    directory: PathBuf,
}

impl Sqlite {
    /// Processed commands, a hundred to a workflow, and behind them some that wait.
    pub fn new(history: usize, backlog: usize) -> Sqlite {
        let directory = empty_directory("bench").unwrap();
        let store = SqliteStore::open(&directory.join("stream.sqlite")).unwrap();
        let load = format!(
            "INSERT INTO workflow_messages
             WITH RECURSIVE numbers(n) AS
                 (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < {total})
             SELECT printf('group-%07d', n / 100), n % 100 + 1, 'Command', 'Output', 'old-' || n,
                 'CheckOut', json_object('guest', n), '{{}}', n < {history},
                 '2025-11-15 08:00:00.000',
                 CASE WHEN n < {history} THEN '2025-11-15 08:00:01.000' END
             FROM numbers; ANALYZE;",
            total = history + backlog
        );
        store.connection().execute_batch(&load).unwrap();
        Sqlite { store, directory }
    }
}

impl Subject for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn store(&self) -> &impl Store {
        &self.store
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.directory).expect("it is ours");
    }
}

/// A database of a server.
pub struct Postgres {
    store: PostgresStore,
}

impl Postgres {
    /// Processed commands, a hundred to a workflow, and behind them some that wait.
    pub async fn new(cluster: &Cluster, history: usize, backlog: usize) -> Postgres {
        // The moment at which everything is due is the bench's own.
        let settings = cluster.config(&cluster.create_database().await);
        let config = Settings { clock: Clock::Caller, ..settings };
        let store = PostgresStore::connect(&config).await.unwrap();
        let load = format!(
            "INSERT INTO workflow_messages
             SELECT 'group-' || lpad((n / 100)::text, 7, '0'), n % 100 + 1, 'C', 'O', 'old-' || n,
                 'CheckOut', jsonb_build_object('guest', n), '{{}}', n < {history},
                 '2025-11-15 08:00:00Z', CASE WHEN n < {history} THEN
                 TIMESTAMPTZ '2025-11-15 08:00:01Z' END
             FROM generate_series(0, {total} - 1) AS n",
            total = history + backlog
        );
        let client = connect(&config).await.unwrap();
        client.batch_execute(&load).await.unwrap();
        client.batch_execute("VACUUM ANALYZE").await.unwrap();
        Postgres { store }
    }
}

impl Subject for Postgres {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn store(&self) -> &impl Store {
        &self.store
    }
}
