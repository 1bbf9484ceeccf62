//! Batches are all or nothing, replicas lag, and a session never reads backwards.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use thunderhead_sim::d1::{
    Bookmark, Constraint, D1, Error, Op, ReadFrom, Session, Statement, Transient, transient_errors,
};
use thunderhead_sim::sqlite::Value;
use thunderhead_sim::{Rng, Time};

use super::support::{Db, int, result, stmt};

const COUNT: &str = "select count(*) n from t";

/// A database in which `writes` rows were inserted, one at a time.
fn written(writes: i64) -> Db {
    let mut db = Db::new();
    db.exec(
        "create table t(n integer primary key, at default current_timestamp, r default (random()))",
    )
    .unwrap();
    for n in 0..writes {
        db.now = Time::from_ms(n as u64 * 1000);
        db.run("insert into t(n) values(?)", &[int(n)]).unwrap();
    }
    db
}

/// Reads the count in a session, from a replica that lags.
fn count(db: &mut Db, session: &mut Session, lag: u64) -> i64 {
    let op = Op::all("db", stmt(COUNT)).in_session(session).read_from(ReadFrom::Replica { lag });
    let reply = db.reply(op).unwrap();
    session.saw(reply.bookmark.as_ref().unwrap());
    result(reply.answer).get(0, "n").unwrap().as_i64().unwrap()
}

fn unconstrained() -> Session {
    Session::new(Constraint::FirstUnconstrained)
}

#[test]
fn a_replica_is_as_far_behind_as_it_was_told() {
    let mut db = written(10);
    for lag in [0, 3, 9, 1] {
        assert_eq!(count(&mut db, &mut unconstrained(), lag), 10 - lag as i64);
    }
    let table = Op::all("db", stmt(COUNT)).in_session(&unconstrained());
    let error = db.reply(table.read_from(ReadFrom::Replica { lag: 99 })).unwrap_err();
    assert_eq!(error.to_string(), "D1_ERROR: no such table: t: SQLITE_ERROR", "before the schema");
}

/// Settings of a connection are not in the log, so a replica may refuse what the primary took.
#[test]
fn what_a_replica_refuses_it_does_without() {
    let mut db = Db::new();
    db.exec("create table t(n integer check(n > 0))").unwrap();
    db.run("pragma ignore_check_constraints = on", &[]).unwrap();
    for n in [-1, 1, 2] {
        db.run("insert into t(n) values(?)", &[int(n)]).unwrap();
    }
    assert_eq!(count(&mut db, &mut unconstrained(), 0), 3);
    assert_eq!(count(&mut db, &mut unconstrained(), 1), 1);
}

#[test]
fn a_replica_holds_what_the_primary_held() {
    let mut db = written(6);
    let all = "select n, at, r from t order by n";
    let primary = db.run(all, &[]).unwrap().results;
    for lag in [4, 2, 0, 5] {
        let op = Op::all("db", stmt(all)).in_session(&unconstrained());
        let reply = db.reply(op.read_from(ReadFrom::Replica { lag })).unwrap();
        let replica = result(reply.answer);
        assert_eq!(replica.results, primary[..6 - lag as usize]);
        assert_eq!(replica.meta.served_by_primary, lag == 0);
    }
}

#[test]
fn a_session_never_reads_backwards() {
    let mut db = written(3);
    let mut rng = Rng::new(7);
    let (mut session, mut seen) = (unconstrained(), 0);
    for n in 3..200 {
        db.run("insert into t(n) values(?)", &[int(n)]).unwrap();
        let now = count(&mut db, &mut session, u64::from(rng.below(4)));
        assert!(now >= seen, "{now} after {seen}");
        seen = now;
    }
}

#[test]
fn a_session_reads_its_own_writes() {
    let mut db = written(3);
    let mut session = unconstrained();
    let write = Op::run("db", stmt("insert into t(n) values(50)")).in_session(&session);
    let reply = db.reply(write.read_from(ReadFrom::Replica { lag: 3 })).unwrap();
    assert!(result(reply.answer.clone()).meta.served_by_primary, "writes go to the primary");
    session.saw(reply.bookmark.as_ref().unwrap());
    assert_eq!(count(&mut db, &mut session, 4), 4);
    assert_eq!(count(&mut db, &mut unconstrained(), 3), 1, "another session may still lag");
}

#[test]
fn first_primary_and_bookmarks_bound_the_first_read() {
    let mut db = written(5);
    assert_eq!(count(&mut db, &mut Session::new(Constraint::FirstPrimary), 5), 5);
    let mut session = unconstrained();
    assert_eq!(count(&mut db, &mut session, 2), 3);
    let bookmark = session.get_bookmark().unwrap().as_str().to_owned();
    let resumed: Constraint = bookmark.parse().unwrap();
    assert_eq!(count(&mut db, &mut Session::new(resumed), 5), 3);
    assert_eq!("first-primary".parse(), Ok(Constraint::FirstPrimary));
    assert_eq!("".parse(), Ok(Constraint::FirstUnconstrained));
    assert!("yesterday".parse::<Constraint>().is_err());
}

#[test]
fn without_a_session_the_primary_answers() {
    let mut db = written(5);
    let op = Op::all("db", stmt(COUNT)).read_from(ReadFrom::Replica { lag: 3 });
    let reply = db.reply(op).unwrap();
    assert_eq!(reply.bookmark, None);
    assert_eq!(result(reply.answer).get(0, "n"), Some(&int(5)));
}

#[test]
fn bookmarks_sort_as_texts() {
    let mut last = Bookmark::at(0);
    for position in [1, 9, 10, 255, 256, 1 << 31, 1 << 32, (1 << 32) + 1, 1 << 40] {
        let next = Bookmark::at(position);
        assert!(last.as_str() < next.as_str() && next.position() == position, "{position}");
        last = next;
    }
}

#[test]
fn a_batch_reports_its_changes_or_none() {
    let mut db = written(0);
    let insert = |n: i64| Statement::new("insert into t(n) values(?)").bind([n]);
    let good = db.outcome(Op::batch("db", [insert(1), insert(2)]));
    assert_eq!((good.reply.is_ok(), good.changes.len()), (true, 2));
    let bad = db.outcome(Op::batch("db", [insert(3), insert(1)]));
    assert_eq!((bad.reply.is_ok(), bad.changes.len()), (false, 0));
    assert_eq!(db.value(COUNT), int(2));
    assert_eq!(count(&mut db, &mut unconstrained(), 1), 0, "the failed batch is not in the log");
    let empty = db.outcome(Op::batch("db", []));
    assert_eq!(empty.reply.unwrap_err().to_string(), "D1_ERROR: No SQL statements detected.");
}

#[test]
fn exec_stops_at_the_line_that_fails_and_keeps_those_before() {
    let mut db = Db::new();
    let error = db
        .exec("create table t(n)\ninsert into t values(1)\ninsert into u values(1)\nx")
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "D1_EXEC_ERROR: Error in line 3: insert into u values(1): no such table: u: SQLITE_ERROR"
    );
    assert_eq!(db.value(COUNT), int(1));
}

#[test]
fn several_statements_in_one_text_are_all_or_nothing() {
    let mut db = written(0);
    db.run("insert into t(n) values(1); insert into t(n) values(1)", &[]).unwrap_err();
    assert_eq!(db.value(COUNT), int(0));
}

/// `OR FAIL` fails without undoing, and what fails is not in the log.
#[test]
fn rows_that_or_fail_has_kept_are_missing_on_replicas() {
    let mut db = written(0);
    db.run("insert or fail into t(n) values(1), (2), (1)", &[]).unwrap_err();
    assert_eq!(db.value(COUNT), int(2));
    for n in [3, 4] {
        db.run("insert into t(n) values(?)", &[int(n)]).unwrap();
    }
    assert_eq!(count(&mut db, &mut unconstrained(), 0), 4);
    assert_eq!(count(&mut db, &mut unconstrained(), 1), 1);
}

#[test]
fn the_last_row_id_on_a_replica_is_that_of_the_last_insert_there() {
    let mut db = written(5);
    let mut last = |lag: u64| {
        let op = Op::all("db", stmt(COUNT)).in_session(&unconstrained());
        let reply = db.reply(op.read_from(ReadFrom::Replica { lag })).unwrap();
        result(reply.answer).meta.last_row_id
    };
    assert_eq!([last(0), last(2), last(1)], [4, 2, 3]);
}

#[test]
fn a_bookmark_moves_with_what_changes_a_row_or_the_schema() {
    let mut db = Db::new();
    let session = Session::new(Constraint::FirstPrimary);
    let mut position = |op: Op| {
        let reply = db.reply(op.in_session(&session)).unwrap();
        reply.bookmark.unwrap().position()
    };
    let run = |sql: &str| Op::run("db", stmt(sql));
    assert_eq!(position(run("select 1")), 0);
    assert_eq!(position(run("create table t(n)")), 1);
    assert_eq!(position(run("insert into t values(1)")), 2);
    assert_eq!(position(run("update t set n = 2 where n = 9")), 2);
    let batch = [stmt("insert into t values(2)"), stmt("insert into t values(3)")];
    assert_eq!(position(Op::batch("db", batch)), 3);
    assert_eq!(position(Op::batch("db", [stmt("select 1"), stmt(COUNT)])), 3);
    let exec = Op::exec("db", "insert into t values(4)\ninsert into t values(5)");
    assert_eq!(position(exec), 4);
}

#[test]
fn databases_do_not_know_each_other() {
    let mut d1 = D1::new();
    d1.create_database("a").unwrap();
    d1.create_database("b").unwrap();
    assert_eq!(
        d1.create_database("a").unwrap_err().to_string(),
        "there is a database named \"a\" already"
    );
    d1.apply(Time::ZERO, &Op::exec("a", "create table t(n)")).reply.unwrap();
    assert!(d1.apply(Time::ZERO, &Op::exec("b", "insert into t values(1)")).reply.is_err());
    let nowhere = d1.apply(Time::ZERO, &Op::exec("c", "select 1")).reply.unwrap_err();
    assert_eq!(nowhere, Error::NoSuchDatabase("c".into()));
    assert_eq!(d1.query("a", "select count(*) from t").unwrap(), [[int(0)]]);
}

#[test]
fn operations_and_replies_survive_json_and_read_well() {
    let insert = Statement::new("insert into t(n)\n  values(?)").bind([Value::from("x")]);
    let op = Op::batch("db", [insert, stmt(COUNT)]).in_session(&unconstrained());
    assert_eq!(
        op.to_string(),
        "batch db: insert into t(n) values(?) ['x']; select count(*) n from t"
    );
    assert_eq!((op.name(), op.database(), op.only_reads()), ("batch", "db", false));
    let json = serde_json::to_string(&op).unwrap();
    assert_eq!(serde_json::from_str::<Op>(&json).unwrap(), op);
    let reply = written(2).reply(Op::all("db", stmt("select n, r from t"))).unwrap();
    assert_eq!(reply.to_string(), "2 rows, 0 changes");
    let json = serde_json::to_string(&reply).unwrap();
    assert_eq!(serde_json::from_str::<thunderhead_sim::d1::Reply>(&json).unwrap(), reply);
}

#[test]
fn transient_errors_have_the_documented_texts() {
    let op = Op::all("db", stmt(COUNT));
    let texts: Vec<String> =
        transient_errors(&op).iter().map(|error| Error::Transient(*error).to_string()).collect();
    assert_eq!(texts[0], "D1_ERROR: Network connection lost.");
    assert_eq!(texts[1], "D1_ERROR: D1 DB reset because its code was updated.");
    assert_eq!(texts[6], "D1_ERROR: D1 DB is overloaded. Requests queued for too long.");
    assert!(Error::Transient(Transient::StorageReset).is_transient());
    assert!(Transient::TooManyQueued.refuses() && !Transient::NetworkConnectionLost.refuses());
}
