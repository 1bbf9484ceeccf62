//! What a run pays for its database.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use thunderhead_sim::sqlite::{Database, Value};

const SCHEMA: &str = "create table if not exists jobs(id text primary key, state text not null, attempt integer not null default 0);
    create index if not exists by_state on jobs(state);";

/// The work of the engine study: 10 upserts and 30 guarded updates.
fn work(db: &mut Database) {
    db.exec(SCHEMA, &[]).unwrap();
    let id = |i: i64| Value::from(format!("job-{i}"));
    for i in 0..10 {
        let upsert = "insert into jobs(id, state) values(?, 'new') on conflict(id) do update set state = excluded.state";
        db.exec(upsert, &[id(i)]).unwrap();
    }
    for i in 0..30 {
        let guarded = "update jobs set state = 'done', attempt = attempt + 1 where id = ? and state <> 'gone'";
        assert_eq!(db.exec(guarded, &[id(i % 10)]).unwrap().changes, 1);
    }
    assert_eq!(db.take_changes().len(), 40);
}

#[test]
#[expect(clippy::disallowed_types, reason = "a stopwatch for the reader of the test's output")]
fn a_pooled_database_costs_far_less_than_its_schema() {
    work(&mut Database::open(1));
    let rounds = 2_000;
    let begin = std::time::Instant::now();
    for _ in 0..rounds {
        work(&mut Database::open(1));
    }
    println!("open + schema + 10 upserts + 30 guarded updates + reset: {:?}", begin.elapsed() / rounds);
    let begin = std::time::Instant::now();
    for _ in 0..rounds {
        Database::open(1).exec(SCHEMA, &[]).unwrap();
    }
    println!("open + schema: {:?}", begin.elapsed() / rounds);
}
