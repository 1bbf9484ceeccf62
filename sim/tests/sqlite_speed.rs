//! What a run pays for its database.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use thunderhead_sim::sqlite::{Database, Value};

const SCHEMA: &str = "create table if not exists jobs(id text primary key, state text not null, attempt integer not null default 0);
    create index if not exists by_state on jobs(state);";

const UPSERT: &str = "insert into jobs(id, state) values(?, 'new') \
    on conflict(id) do update set state = excluded.state";
const GUARDED: &str = "update jobs set state = 'done', attempt = attempt + 1 \
    where id = ? and state <> 'gone'";

/// The work of the engine study: 10 upserts and 30 guarded updates.
fn work(db: &mut Database) {
    db.exec(SCHEMA, &[]).unwrap();
    let id = |i: i64| Value::from(format!("job-{i}"));
    for i in 0..10 {
        db.exec(UPSERT, &[id(i)]).unwrap();
    }
    for i in 0..30 {
        assert_eq!(db.exec(GUARDED, &[id(i % 10)]).unwrap().changes, 1);
    }
    assert_eq!(db.take_changes().len(), 40);
}

/// That work on one plain connection, reset by a savepoint, with nothing captured: the floor.
fn plain(db: &rusqlite::Connection) {
    db.prepare_cached("savepoint s").unwrap().raw_execute().unwrap();
    for i in 0..10 {
        db.prepare_cached(UPSERT).unwrap().execute([format!("job-{i}")]).unwrap();
    }
    for i in 0..30 {
        db.prepare_cached(GUARDED).unwrap().execute([format!("job-{}", i % 10)]).unwrap();
    }
    db.prepare_cached("rollback to s").unwrap().raw_execute().unwrap();
    db.prepare_cached("release s").unwrap().raw_execute().unwrap();
}

#[expect(clippy::disallowed_types, reason = "a stopwatch for the reader of the test's output")]
fn measure(what: &str, mut work: impl FnMut()) {
    let (rounds, mut best) = (200, std::time::Duration::MAX);
    for _ in 0..10 {
        let begin = std::time::Instant::now();
        (0..rounds).for_each(|_| work());
        best = best.min(begin.elapsed() / rounds);
    }
    println!("{what}: {best:?}");
}

/// Prints figures and asserts none: how fast a machine is, is not for a test to say.
#[test]
fn a_pooled_database_does_the_work_of_the_engine_study() {
    let db = rusqlite::Connection::open_in_memory().unwrap();
    db.execute_batch(SCHEMA).unwrap();
    measure("plain connection, nothing captured", || plain(&db));
    measure("open, schema, 10 upserts, 30 guarded updates, reset", || work(&mut Database::open(1)));
    measure("open and schema", || drop(Database::open(1).exec(SCHEMA, &[]).unwrap()));
}
