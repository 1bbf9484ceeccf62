//! A database of any age is brought up to date, once, with what is in it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use thunderhead_stream::postgres::{self, Clock, Settings, connect};
use thunderhead_stream::{Error, Migration, PostgresStore, SqliteStore, Store, sqlite};

use crate::postgres::cut;
use crate::support::cluster::{Cluster, empty_directory};

/// Two commands as every version of the schema holds them, one of them processed, and one that was deleted: its
/// delivery stayed behind in the second version.
const OLD_ON_SQLITE: &str = "INSERT INTO workflow_messages VALUES
    ('w', 1, 'Command', 'Output', 'a', 'T', '1', '{}', 0, '2025-11-15 08:00:00.123', NULL),
    ('w', 2, 'Command', 'Output', 'b', 'T', '1', '{}', 1, '2025-11-15 08:00:00.123', NULL),
    ('w', 3, 'Command', 'Output', 'c', 'T', '1', '{}', 0, '2025-11-15 08:00:00.123', NULL);
    DELETE FROM workflow_messages WHERE message_id = 'c'";
const OLD_ON_POSTGRES: &str = "INSERT INTO workflow_messages VALUES
    ('w', 1, 'C', 'O', 'a', 'T', '1', '{}', false, '2025-11-15 08:00:00.123Z', NULL),
    ('w', 2, 'C', 'O', 'b', 'T', '1', '{}', true, '2025-11-15 08:00:00.123Z', NULL),
    ('w', 3, 'C', 'O', 'c', 'T', '1', '{}', false, '2025-11-15 08:00:00.123Z', NULL);
    DELETE FROM workflow_messages WHERE message_id = 'c'";
const THEN: i64 = 1_763_193_600_123;

#[test]
fn migrations_are_numbered_without_gaps() {
    let numbers = |all: &[Migration]| all.iter().map(|step| step.version).collect::<Vec<_>>();
    let names = |all: &[Migration]| all.iter().map(|step| step.name).collect::<Vec<_>>();
    let (on_sqlite, on_postgres) = (sqlite::schema::MIGRATIONS, postgres::schema::MIGRATIONS);
    assert_eq!(numbers(on_sqlite), (1..=on_sqlite.len() as i64).collect::<Vec<_>>());
    assert_eq!((numbers(on_sqlite), names(on_sqlite)), (numbers(on_postgres), names(on_postgres)));
}

/// Only what was pending is due, at the moment at which it was appended.
async fn is_up_to_date(store: &impl Store) {
    assert_eq!(store.claim("p", THEN - 1, 10, 10).await, Ok(vec![]));
    let claims = store.claim("p", THEN, 10, 10).await.unwrap();
    let ids: Vec<_> = claims.iter().map(|claim| claim.message.message_id.as_str()).collect();
    assert_eq!(ids, ["a"]);
}

#[tokio::test]
async fn a_file_of_any_age_is_brought_up_to_date_once() {
    let all = sqlite::schema::MIGRATIONS;
    for age in 1..all.len() {
        let directory = empty_directory(&format!("old-{age}")).unwrap();
        let path = directory.join("stream.sqlite");
        let old = rusqlite::Connection::open(&path).unwrap();
        old.execute_batch(sqlite::schema::CREATE_VERSIONS).unwrap();
        for step in &all[..age] {
            step.statements.iter().for_each(|statement| old.execute_batch(statement).unwrap());
            old.execute(sqlite::schema::RECORD_VERSION, (step.version, step.name)).unwrap();
        }
        old.execute_batch(OLD_ON_SQLITE).unwrap();
        drop(old);

        for _ in 0..2 {
            let store = SqliteStore::open(&path).unwrap();
            assert_eq!(store.schema_version(), Ok(all.len() as i64));
        }
        is_up_to_date(&SqliteStore::open(&path).unwrap()).await;
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

#[tokio::test]
async fn a_database_of_any_age_is_brought_up_to_date_once() {
    let all = postgres::schema::MIGRATIONS;
    let cluster = Cluster::start().await;
    for age in 1..all.len() {
        let config = cluster.config(&cluster.create_database().await);
        let old = connect(&config).await.unwrap();
        old.batch_execute(postgres::schema::CREATE_VERSIONS).await.unwrap();
        for step in &all[..age] {
            for statement in step.statements {
                old.batch_execute(statement).await.unwrap();
            }
            let record = postgres::schema::RECORD_VERSION;
            old.execute(record, &[&step.version, &step.name]).await.unwrap();
        }
        old.batch_execute(OLD_ON_POSTGRES).await.unwrap();

        for _ in 0..2 {
            let store = PostgresStore::connect(&config).await.unwrap();
            assert_eq!(store.schema_version().await, Ok(all.len() as i64));
        }
        let config = Settings { clock: Clock::Caller, ..config };
        let store = PostgresStore::connect(&config).await.unwrap();
        is_up_to_date(&store).await;
        for left in [1, 0] {
            let deliveries = old.query_one("SELECT count(*) FROM command_deliveries", &[]).await;
            assert_eq!(deliveries.unwrap().get::<_, i64>(0), left);
            old.batch_execute("TRUNCATE workflow_messages").await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_newer_database_is_refused_and_left_alone() {
    let newer = |known: usize| Error::NewerSchema { found: 99, known: known as i64 };
    let directory = empty_directory("newer").unwrap();
    let path = directory.join("stream.sqlite");
    let store = SqliteStore::open(&path).unwrap();
    store.connection().execute(sqlite::schema::RECORD_VERSION, (99, "later")).unwrap();
    let refused = SqliteStore::open(&path).unwrap_err();
    assert_eq!(refused, newer(sqlite::schema::MIGRATIONS.len()));
    std::fs::remove_dir_all(&directory).unwrap();

    let cluster = Cluster::start().await;
    let config = cluster.config(&cluster.create_database().await);
    let store = PostgresStore::connect(&config).await.unwrap();
    let other = connect(&config).await.unwrap();
    other.execute(postgres::schema::RECORD_VERSION, &[&99_i64, &"later"]).await.unwrap();
    let newer = newer(postgres::schema::MIGRATIONS.len());
    assert_eq!(PostgresStore::connect(&config).await.unwrap_err(), newer);
    // A store that was open before finds out when it connects anew.
    cut(&other).await;
    let mut answer = store.read_stream("w", 0).await;
    if matches!(answer, Err(Error::Unavailable(_))) {
        answer = store.read_stream("w", 0).await;
    }
    assert_eq!(answer, Err(newer));
}
