//! What the real local runtime answered about a durable object's storage, asked of the simulated
//! one.
//!
//! Each test is named after the probe it repeats. Probes that need a running object are the object
//! runtime's; they are listed in `docs/platform-storage.md`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use thunderhead_sim::sqlite::{Row, Value};
use thunderhead_sim::storage::{Error, ListOptions, SqlCursor, Storage};
use thunderhead_sim::{Body, Time};

fn sql(storage: &mut Storage, query: &str) -> SqlCursor {
    storage.sql().exec(query, &[]).unwrap()
}

fn int(number: i64) -> Value {
    Value::Integer(number)
}

fn named<const N: usize>(row: [(&str, Value); N]) -> Row {
    row.into_iter().map(|(name, value)| (Arc::from(name), value)).collect()
}

#[test]
fn sql_types() {
    let mut storage = Storage::new(0);
    sql(&mut storage, "create table t(i integer, r real, x text, b blob, n)");
    let blob = |bytes: &[u8]| Value::Blob(Body::from(bytes));
    let values = [int(1), Value::from(1.5), Value::from("s"), blob(&[1, 2]), Value::Null];
    storage.sql().exec("insert into t values(?,?,?,?,?)", &values).unwrap();
    assert_eq!(sql(&mut storage, "select * from t").raw().next().unwrap(), values);
    let types =
        sql(&mut storage, "select typeof(i), typeof(r), typeof(x), typeof(b), typeof(n) from t");
    let types: Vec<String> =
        types.clone().raw().next().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(types, ["'integer'", "'real'", "'text'", "'blob'", "'null'"]);

    let mut bind = |value: Value| {
        let query = "select ? as v, typeof(?) as t";
        let row = storage.sql().exec(query, &[value.clone(), value]).unwrap().one().unwrap();
        (row[0].1.clone(), row[1].1.as_str().unwrap().to_owned())
    };
    let real = |number: f64| (Value::from(number), "real".to_owned());
    assert_eq!(bind(Value::Null), (Value::Null, "null".into()), "undefined is null");
    assert_eq!(bind(Value::from(f64::NAN)), (Value::Null, "null".into()));
    assert_eq!(bind(Value::from(f64::INFINITY)), real(f64::INFINITY));
    assert_eq!(bind(Value::from(-0.0)), real(-0.0));
    assert_eq!(bind(int(3)), real(3.0));
    assert_eq!(bind(Value::from(3.5)), real(3.5));
    assert_eq!(bind(int(1 << 53)), real(9_007_199_254_740_992.0));
    assert_eq!(bind(blob(&[7])), (blob(&[7]), "blob".into()));
    assert_eq!(bind(blob(&[])), (blob(&[]), "blob".into()));
    assert_eq!(bind(Value::from("a\0b")), (Value::from("a\0b"), "text".into()));

    let mut value = |query: &str| sql(&mut storage, query).one().unwrap()[0].1.clone();
    assert_eq!(value("select 9223372036854775807 as v"), Value::from(9_223_372_036_854_775_807.0));
    assert_eq!(value("select 9007199254740993 as v"), Value::from(9_007_199_254_740_992.0));
    sql(&mut storage, "insert into t(r) values(2)");
    let row = sql(&mut storage, "select r, typeof(r) t from t where r=2").one().unwrap();
    assert_eq!(row, named([("r", Value::from(2.0)), ("t", Value::from("real"))]));
}

#[test]
fn sql_cursor() {
    let mut storage = Storage::new(0);
    let s = &mut storage;
    sql(s, "create table t(a integer primary key, b text)");
    let insert = sql(s, "insert into t(b) values('x'),('y'),('z')");
    assert_eq!((insert.rows_written(), insert.rows_read()), (3, 0));
    assert!(insert.column_names().is_empty());

    let mut cursor = sql(s, "select * from t order by a");
    assert_eq!(cursor.rows_read(), 1);
    let row = |a: i64, b: &str| named([("a", int(a)), ("b", Value::from(b))]);
    assert_eq!(cursor.next(), Some(row(1, "x")));
    assert_eq!(cursor.rows_read(), 2);
    assert_eq!(cursor.to_array(), [row(2, "y"), row(3, "z")]);
    assert_eq!((cursor.rows_read(), cursor.rows_written()), (3, 0));
    assert_eq!(cursor.column_names().iter().map(|name| &**name).collect::<Vec<_>>(), ["a", "b"]);
    assert!(cursor.to_array().is_empty());

    let none = sql(s, "select * from t where a=99").one().unwrap_err();
    assert_eq!(none.to_string(), "Expected exactly one result from SQL query, but got no results.");
    let several = sql(s, "select * from t").one().unwrap_err();
    assert_eq!(
        several.to_string(),
        "Expected exactly one result from SQL query, but got multiple results."
    );
    let raw: Vec<_> = sql(s, "select * from t limit 1").raw().collect();
    assert_eq!(raw, [[int(1), Value::from("x")]]);
    assert_eq!(sql(s, "insert into t(b) values('q') returning a, b").to_array(), [row(4, "q")]);
    let upsert = "insert into t(a,b) values(1,'new') on conflict(a) do update set b=excluded.b returning a,b";
    assert_eq!(sql(s, upsert).to_array(), [row(1, "new")]);
    assert_eq!(sql(s, "update t set b='k' where a<=2").rows_written(), 2);
    assert_eq!(sql(s, "delete from t where a=1").rows_written(), 1);
    let counts = sql(s, "select changes() c, total_changes() t, last_insert_rowid() l").one();
    assert_eq!(counts.unwrap(), named([("c", int(1)), ("t", int(8)), ("l", int(4))]));
    let version = s.sql().exec("select sqlite_version() v", &[]).unwrap_err();
    assert_eq!(
        version.to_string(),
        "not authorized to use function: sqlite_version at offset 7: SQLITE_ERROR"
    );
}

/// The second half of the probe.
#[test]
fn sql_cursor_functions_and_tables() {
    let mut storage = Storage::new(0);
    let s = &mut storage;
    let json = "select json_extract('{\"a\":[1,2]}','$.a[1]') x, '{\"a\":1}'->>'a' y, \
                json_group_array(value) z from json_each('[1,2,3]')";
    let row = named([("x", int(2)), ("y", int(1)), ("z", Value::from("[1,2,3]"))]);
    assert_eq!(sql(s, json).one().unwrap(), row);
    sql(s, "create table ai(id integer primary key autoincrement, x); insert into ai(x) values(1)");
    sql(s, "delete from ai");
    let id = sql(s, "insert into ai(x) values(1) returning id").one().unwrap();
    assert_eq!(id, named([("id", int(2))]));
    sql(s, "create virtual table f using fts5(x)");
    assert_eq!(sql(s, "select sqrt(4) v").one().unwrap()[0].1.as_i64(), Some(2));
}

#[test]
fn transaction_async() {
    let mut storage = Storage::new(0);
    sql(&mut storage, "create table t(a)");
    let count = |storage: &mut Storage| {
        sql(storage, "select count(*) c from t").one().unwrap()[0].1.as_i64().unwrap()
    };
    storage.begin_transaction();
    sql(&mut storage, "insert into t values(1)");
    storage.put("k", "1").unwrap();
    storage.commit_transaction();
    assert_eq!(count(&mut storage), 1);

    storage.begin_transaction();
    sql(&mut storage, "insert into t values(2)");
    storage.put("k", "2").unwrap();
    storage.rollback_transaction();
    assert_eq!((count(&mut storage), storage.get("k")), (1, Some("1".into())));

    storage.begin_transaction();
    sql(&mut storage, "insert into t values(3)");
    storage.rollback_transaction();
    assert_eq!(count(&mut storage), 1);
}

#[test]
fn kv_list_order() {
    let mut storage = Storage::new(0);
    let sorted =
        ["0", "B", "_", "a", "a!", "a/1", "a10", "a2", "b", "z", "~", "é", "\u{ffee}", "😀"];
    for key in sorted.iter().rev() {
        storage.put(key, "v").unwrap();
    }
    let list = |options: ListOptions| -> Result<Vec<String>, String> {
        let found = storage
            .list_with_options(&options)
            .map_err(|error| format!("{}: {error}", error.name()))?;
        Ok(found.into_iter().map(|(key, _)| key.to_string()).collect())
    };
    let all = ListOptions::default;
    let some = |text: &str| Some(Arc::from(text));
    assert_eq!(list(all()).unwrap(), sorted);
    let backwards: Vec<_> = sorted.iter().rev().copied().collect();
    assert_eq!(list(ListOptions { reverse: true, ..all() }).unwrap(), backwards);
    assert_eq!(list(ListOptions { limit: Some(3), ..all() }).unwrap(), sorted[..3]);
    let limit0 = list(ListOptions { limit: Some(0), ..all() });
    assert_eq!(limit0.unwrap_err(), "TypeError: List limit must be positive.");
    assert_eq!(list(ListOptions { prefix: some("a"), ..all() }).unwrap(), sorted[3..8]);
    let start = ListOptions { start: some("a"), end: some("b"), ..all() };
    assert_eq!(list(start.clone()).unwrap(), sorted[3..8]);
    let after = ListOptions { start_after: some("a"), end: some("b"), ..all() };
    assert_eq!(list(after).unwrap(), sorted[4..8]);
    let both = ListOptions { start: some("a"), start_after: some("a"), ..all() };
    assert_eq!(
        list(both).unwrap_err(),
        "TypeError: list() cannot be called with both start and startAfter values."
    );
    let last = ListOptions { reverse: true, limit: Some(2), prefix: some("a"), ..all() };
    assert_eq!(list(last).unwrap(), ["a2", "a10"]);
    let backwards = ListOptions { start: some("b"), end: some("a"), ..all() };
    assert!(list(backwards).unwrap().is_empty());
}

#[test]
fn delete_all() {
    let mut storage = Storage::new(0);
    sql(&mut storage, "create table t(a)");
    storage.put("k", "1").unwrap();
    storage.set_alarm(Time::from_ms(60_000));
    storage.delete_all();
    assert!(sql(&mut storage, "select name from sqlite_master").to_array().is_empty());
    assert_eq!(storage.get("k"), None);
    assert_eq!(storage.get_alarm(), None);
}

/// The storage's part of the probe: what is lost when the object is aborted. An await on anything
/// but storage ends the turn, and only such an await.
#[test]
fn abort_durability() {
    let kept = |turns: &[fn(&mut Storage)]| {
        let mut storage = Storage::new(0);
        sql(&mut storage, "create table w(a)");
        storage.commit_turn().unwrap();
        for (i, turn) in turns.iter().enumerate() {
            turn(&mut storage);
            if i + 1 < turns.len() {
                storage.commit_turn().unwrap();
            }
        }
        storage.reset();
        let rows = sql(&mut storage, "select * from w").to_array().len();
        (rows, storage.get("kv").is_some())
    };
    let write: fn(&mut Storage) = |storage| drop(sql(storage, "insert into w values('sql')"));
    let put: fn(&mut Storage) = |storage| storage.put("kv", "1").unwrap();
    assert_eq!(kept(&[write]), (0, false), "sql, sql_microtask");
    assert_eq!(kept(&[put]), (0, false), "kv_noawait, kv_await");
    assert_eq!(kept(&[write, |_| ()]), (1, false), "sql_sync, sql_timer");
}

/// The storage's part of the probe: a handler that throws ends its turn like any other.
#[test]
fn writes_before_throw_persist() {
    let mut storage = Storage::new(0);
    sql(&mut storage, "create table w(a); insert into w values('x')");
    storage.put("kv", "1").unwrap();
    storage.commit_turn().unwrap();
    storage.reset();
    assert_eq!(sql(&mut storage, "select a from w").to_array(), [named([("a", Value::from("x"))])]);
    assert_eq!(storage.get("kv"), Some("1".into()));
}

#[test]
fn alarm_in_rolled_back_txn() {
    let mut storage = Storage::new(0);
    storage.begin_transaction();
    storage.set_alarm(Time::from_ms(5));
    assert_eq!(storage.get_alarm(), Some(Time::from_ms(5)));
    storage.rollback_transaction();
    assert_eq!(storage.get_alarm(), None);
}

/// The storage's part of the probe: `thrower("sqlerr")`.
#[test]
fn rpc_exceptions() {
    let error = Storage::new(0).sql().exec("select * from nope", &[]).unwrap_err();
    assert_eq!(error.to_string(), "no such table: nope: SQLITE_ERROR");
    assert!(matches!(error, Error::Sql(_)));
}
