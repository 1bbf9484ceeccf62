//! A pooled database cannot be told from a connection that was opened for the occasion.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use thunderhead_sim::Rng;
use thunderhead_sim::sqlite::{Database, Value};

const SCHEMA: [&str; 9] = [
    "create table if not exists a(id integer primary key autoincrement, x text unique, n integer default 7)",
    "create table a(id integer primary key, other)",
    "create table if not exists b(k text primary key, a_id integer references a(id) on delete cascade) without rowid",
    "create index if not exists by_n on a(n)",
    "create table c as select 1 as one, 'two' as two",
    "create table broken(",
    "create view v as select x, n from a",
    "create trigger t after insert on a when new.n > 100 begin insert into c values(new.id, 'big'); end",
    "create table if not exists d(x, y, check(x < 10))",
];
const DATA: [&str; 29] = [
    "insert into a(x, n) values('p', 1)",
    "insert into a(x, n) values('q', 200), ('r', 3)",
    "insert into a(x) values('p')",
    "insert or replace into a(id, x) values(1, 'z')",
    "replace into a(x, n) values('q', 5)",
    "insert or ignore into a(x) values('p'), ('s')",
    "insert into a(x, n) values('p', 2) on conflict(x) do update set n = n + 1 returning id, n",
    "update a set n = n + 1 where x = 'p'",
    "update a set id = id + 10",
    "delete from a where n < 3",
    "delete from a",
    "insert into b values('k', (select max(id) from a))",
    "insert into b values('l', 999)",
    "insert into c values(1, 2)",
    "insert into d values(1, 2), (11, 3)",
    "insert into d values(2, zeroblob(3))",
    "select * from a order by id",
    "select * from b",
    "select * from v",
    "select type, name, sql from sqlite_master order by name",
    "select * from sqlite_sequence",
    "select changes(), total_changes(), last_insert_rowid()",
    "select count(*) from nothing",
    "alter table a add column later text default 'l'",
    "alter table d rename to e",
    "alter table a drop column n",
    "drop table if exists b",
    "drop table a",
    "pragma foreign_key_check",
];

/// Every answer as text: rows or the error, and what the connection counts.
fn pooled(script: &[&str]) -> Vec<String> {
    let mut db = Database::open(0);
    let answers = script.iter().map(|sql| match db.exec(sql, &[]) {
        Ok(set) => format!("{:?} {:?}", set.columns, set.rows),
        Err(error) => error.to_string(),
    });
    answers.collect()
}

/// Runs the script on a plain connection, with nothing of ours around it.
fn plain(script: &[&str]) -> Vec<String> {
    let db = rusqlite::Connection::open_in_memory().unwrap();
    let run = |sql: &&str| -> rusqlite::Result<String> {
        let mut statement = db.prepare(sql)?;
        let columns: Vec<String> = statement.column_names().map(ToString::to_string).collect();
        let width = columns.len();
        let mut rows = Vec::new();
        let mut cursor = statement.raw_query();
        while let Some(row) = cursor.next()? {
            let values = (0..width).map(|i| Value::from(row.get_ref(i).unwrap()));
            rows.push(values.collect::<Vec<_>>());
        }
        Ok(format!("{columns:?} {rows:?}"))
    };
    let text = |error: rusqlite::Error| match error {
        rusqlite::Error::SqlInputError { msg, offset, .. } => format!("{msg} at offset {offset}"),
        rusqlite::Error::SqliteFailure(_, message) => message.unwrap(),
        other => other.to_string(),
    };
    script.iter().map(|sql| run(sql).unwrap_or_else(text)).collect()
}

fn check(script: &[&str]) {
    let (ours, theirs) = (pooled(script), plain(script));
    for (i, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        // The platform adds the code to the message.
        let same = ours == theirs || ours.starts_with(&format!("{theirs}: SQLITE_"));
        assert!(
            same,
            "statement {i}: {}\n  pooled {ours}\n  plain  {theirs}\n{script:#?}",
            script[i]
        );
    }
}

#[test]
fn a_pooled_database_answers_as_a_fresh_one() {
    for seed in 0..600 {
        let mut rng = Rng::new(seed);
        let mut pick = |list: &[&'static str]| list[rng.below(list.len() as u32) as usize];
        let mut script: Vec<&str> = (0..5).map(|_| pick(&SCHEMA)).collect();
        for i in 0..20 {
            script.push(if i % 6 == 5 { pick(&SCHEMA) } else { pick(&DATA) });
        }
        check(&script);
    }
}

#[test]
fn a_database_does_not_see_what_the_last_one_on_its_connection_did() {
    let script = [
        "create table a(id integer primary key autoincrement, x)",
        "select changes(), total_changes(), last_insert_rowid()",
        "insert into a(x) values(1), (2), (3)",
        "select changes(), total_changes(), last_insert_rowid()",
        "select * from sqlite_sequence",
    ];
    let first = pooled(&script);
    for _ in 0..3 {
        assert_eq!(pooled(&script), first);
    }
    check(&script);
}

#[test]
fn a_changed_setting_does_not_reach_the_next_database() {
    let script = ["create table a(x)", "pragma case_sensitive_like = on", "select 'A' like 'a'"];
    assert_eq!(pooled(&script)[2], "[\"'A' like 'a'\"] [[Integer(0)]]");
    assert_eq!(
        pooled(&["create table a(x)", "select 'A' like 'a'"])[1],
        "[\"'A' like 'a'\"] [[Integer(1)]]"
    );
}

#[test]
fn many_databases_of_one_schema_live_side_by_side() {
    let mut all: Vec<Database> = (0..100).map(Database::open).collect();
    for (i, db) in all.iter_mut().enumerate() {
        db.exec("create table a(x); insert into a values(?)", &[Value::Integer(i as i64)]).unwrap();
    }
    for (i, db) in all.iter_mut().enumerate() {
        let set = db.exec("select x from a", &[]).unwrap();
        assert_eq!(set.rows, [[Value::Integer(i as i64)]]);
    }
}

#[test]
fn a_database_without_rows_can_be_cleared_and_have_its_tables_back() {
    let tables = |db: &mut Database| {
        let sql = "select name from sqlite_master where type = 'table'";
        db.exec(sql, &[]).unwrap().rows.len()
    };
    let mut db = Database::open(0);
    db.exec("create table a(x); create table b(x)", &[]).unwrap();
    db.begin_turn();
    db.clear();
    assert_eq!(tables(&mut db), 0);
    db.exec("create table a(x, y); insert into a values (1, 2)", &[]).unwrap();
    db.rollback_turn();
    assert_eq!(tables(&mut db), 2);
    assert!(db.exec("select y from a", &[]).is_err(), "it is the first table again");
    db.clear();
    assert_eq!(tables(&mut db), 0);
    assert!(db.take_changes().is_empty(), "there were no rows");
}
