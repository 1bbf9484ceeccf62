//! Turns are atomic, transactions nest, and a dead object loses only what it had not committed.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use thunderhead_sim::sqlite::Value;
use thunderhead_sim::storage::{Error, MAX_PAIR_BYTES, Storage};
use thunderhead_sim::{Body, Time};

fn run(storage: &mut Storage, query: &str) -> Vec<Vec<Value>> {
    storage.sql().exec(query, &[]).unwrap().raw().collect()
}

fn lines(storage: &mut Storage) -> Vec<String> {
    storage.take_changes().iter().map(ToString::to_string).collect()
}

fn with_table() -> Storage {
    let mut storage = Storage::new(0);
    run(&mut storage, "create table t(a)");
    storage.commit_turn().unwrap();
    storage
}

#[test]
fn a_reset_loses_rows_keys_and_alarm_of_the_turn_alone() {
    let mut storage = with_table();
    run(&mut storage, "insert into t values(1)");
    storage.put("k", "1").unwrap();
    storage.set_alarm(Time::from_ms(100));
    storage.commit_turn().unwrap();
    assert_eq!(
        lines(&mut storage),
        [
            "insert t#1 a=1",
            "insert _cf_KV#'k' key='k' value='1'",
            "insert _cf_METADATA#'alarm' alarm=1767225600100"
        ]
    );
    run(&mut storage, "delete from t; create table u(b)");
    assert!(storage.delete("k"));
    storage.put("l", "2").unwrap();
    storage.delete_alarm();
    storage.begin_transaction();
    storage.put("m", "3").unwrap();
    storage.reset();
    assert!(lines(&mut storage).is_empty());
    assert_eq!(run(&mut storage, "select name from sqlite_master"), [[Value::from("t")]]);
    assert_eq!(run(&mut storage, "select a from t"), [[Value::Integer(1)]]);
    let keys: Vec<_> = storage.list().into_iter().map(|(key, _)| key.to_string()).collect();
    assert_eq!((keys, storage.get_alarm()), (vec!["k".to_owned()], Some(Time::from_ms(100))));
}

#[test]
fn a_reset_between_turns_loses_nothing() {
    let mut storage = with_table();
    run(&mut storage, "insert into t values(1)");
    storage.commit_turn().unwrap();
    storage.reset();
    storage.reset();
    assert_eq!(run(&mut storage, "select a from t").len(), 1);
}

#[test]
fn transactions_nest_and_roll_back_on_an_error() {
    let mut storage = with_table();
    let outer: Result<(), Error> = storage.transaction_sync(|storage| {
        run(storage, "insert into t values('outer')");
        storage.put("k", "outer")?;
        let inner: Result<(), &str> = storage.transaction_sync(|storage| {
            run(storage, "insert into t values('inner')");
            storage.put("k", "inner").unwrap();
            storage.set_alarm(Time::ZERO);
            Err("no")
        });
        assert_eq!(inner, Err("no"));
        Ok(())
    });
    outer.unwrap();
    storage.commit_turn().unwrap();
    assert_eq!(run(&mut storage, "select a from t"), [[Value::from("outer")]]);
    assert_eq!((storage.get("k"), storage.get_alarm()), (Some("outer".into()), None));
    assert_eq!(lines(&mut storage).len(), 2, "the row and the key of the outer transaction");
}

#[test]
fn an_open_transaction_keeps_the_turn_open() {
    let mut storage = with_table();
    storage.begin_transaction();
    run(&mut storage, "insert into t values(1)");
    storage.commit_turn().unwrap();
    assert!(lines(&mut storage).is_empty());
    storage.rollback_transaction();
    storage.commit_turn().unwrap();
    assert!(run(&mut storage, "select a from t").is_empty());
}

#[test]
fn transaction_statements_are_refused() {
    let error = Storage::new(0).sql().exec("BEGIN TRANSACTION", &[]).unwrap_err();
    assert!(
        error.to_string().starts_with("To execute a transaction, please use the state.storage")
    );
}

#[test]
fn delete_all_reports_every_row_and_respects_references() {
    let mut storage = Storage::new(0);
    run(&mut storage, "create table p(id integer primary key)");
    run(&mut storage, "create table c(p references p on delete restrict)");
    run(&mut storage, "create table z(x); create view v as select * from p");
    run(&mut storage, "create trigger g after delete on c begin insert into z values(1); end");
    run(&mut storage, "insert into p values(1); insert into c values(1)");
    storage.put("k", "v").unwrap();
    storage.commit_turn().unwrap();
    storage.take_changes();
    storage.delete_all();
    storage.commit_turn().unwrap();
    let mut heard = lines(&mut storage);
    heard.sort();
    assert_eq!(heard, ["delete _cf_KV#'k' key='k' value='v'", "delete c#1 p=1", "delete p#1 id=1"]);
    assert!(run(&mut storage, "select * from sqlite_master").is_empty());
}

#[test]
fn delete_all_can_be_lost_like_any_write() {
    let mut storage = with_table();
    run(&mut storage, "insert into t values(1)");
    storage.commit_turn().unwrap();
    storage.delete_all();
    storage.reset();
    assert_eq!(run(&mut storage, "select a from t").len(), 1);
}

#[test]
fn kv_basic() {
    let mut storage = Storage::new(0);
    let long = "k".repeat(2_049);
    storage.put(&long, "v").unwrap();
    assert_eq!(storage.get(&long), Some("v".into()), "only key and value together have a limit");
    let big = Body::from(vec![0; MAX_PAIR_BYTES]);
    assert_eq!(storage.put("k", big.clone()).unwrap_err(), Error::PairTooBig);
    let refused = storage.put_multiple(&[("a", "1".into()), ("k", big)]);
    assert_eq!((refused, storage.get("a")), (Err(Error::PairTooBig), None), "all or none");
    storage.put_multiple(&vec![("k", Body::empty()); 129]).unwrap();
    assert_eq!(storage.get_multiple(&vec!["k"; 129]).len(), 1);
    storage.put_multiple(&[("b", "2".into()), ("a", "1".into())]).unwrap();
    let found = storage.get_multiple(&["b", "c", "a"]);
    assert_eq!(found, [("a".into(), "1".into()), ("b".into(), "2".into())]);
    assert_eq!(storage.delete_multiple(&["a", "b", "c"]), 2);
}

#[test]
fn the_value_of_a_key_is_bytes_of_any_kind() {
    let mut storage = Storage::new(0);
    let bytes = Body::from(vec![0xff, 0x00, 0x01]);
    storage.put("k", bytes.clone()).unwrap();
    assert_eq!(storage.get("k"), Some(bytes));
}

#[test]
fn the_rows_of_a_cursor_do_not_change_with_what_is_written_later() {
    let mut storage = with_table();
    run(&mut storage, "insert into t values(1), (2)");
    let mut cursor = storage.sql().exec("select a from t", &[]).unwrap();
    run(&mut storage, "insert into t values(3)");
    run(&mut storage, "delete from t where a = 2");
    let rows: Vec<Vec<Value>> = cursor.raw().collect();
    assert_eq!(rows, [[Value::Integer(1)], [Value::Integer(2)]]);
}

#[test]
fn a_turn_that_leaves_a_foreign_key_broken_is_lost_with_an_internal_error() {
    let mut storage = Storage::new(0);
    run(&mut storage, "create table p(id integer primary key)");
    run(&mut storage, "create table c(p references p deferrable initially deferred)");
    storage.commit_turn().unwrap();
    run(&mut storage, "insert into c values(1)");
    storage.put("k", "v").unwrap();
    assert_eq!(storage.commit_turn().unwrap_err().to_string(), "internal error");
    assert!(run(&mut storage, "select * from c").is_empty());
    assert_eq!(storage.get("k"), None);
}
