//! Every row that changes is heard of, and none that did not.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use thunderhead_sim::sqlite::{Database, RowChange, Value};
use thunderhead_sim::{Rng, Time};

fn lines(db: &mut Database) -> Vec<String> {
    db.take_changes().iter().map(ToString::to_string).collect()
}

fn run(db: &mut Database, sql: &str) {
    db.exec(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

#[test]
fn images_before_and_after_are_whole_rows() {
    let mut db = Database::open(0);
    run(&mut db, "create table cats(name text, lives integer default 9)");
    run(&mut db, "insert into cats(name) values('Tom')");
    run(&mut db, "update cats set lives = lives - 1");
    run(&mut db, "delete from cats");
    let changes = db.take_changes();
    let row = |lives: i64| {
        vec![("name".into(), Value::from("Tom")), ("lives".into(), Value::Integer(lives))]
    };
    let change = |before, after| RowChange {
        table: "cats".into(),
        key: vec![Value::Integer(1)],
        before,
        after,
    };
    assert_eq!(
        changes,
        [
            change(None, Some(row(9))),
            change(Some(row(9)), Some(row(8))),
            change(Some(row(8)), None)
        ]
    );
    assert_eq!(changes[1].value_before("lives"), Some(&Value::Integer(9)));
    assert_eq!(changes[1].value_after("lives"), Some(&Value::Integer(8)));
}

/// Both rows of an update are more than a function has arguments, from 63 columns on.
#[test]
fn a_row_of_any_width_is_heard_of_when_it_is_updated() {
    for width in [62, 63, 100] {
        let mut db = Database::open(0);
        let columns: Vec<String> = (0..width).map(|n| format!("c{n} default {n}")).collect();
        run(&mut db, &format!("create table wide({})", columns.join(",")));
        run(&mut db, "insert into wide default values");
        db.take_changes();
        run(&mut db, &format!("update wide set c0 = 'first', c{} = 'last'", width - 1));
        let last = width - 1;
        let told = format!("update wide#1 c0=0 -> 'first' c{last}={last} -> 'last'");
        assert_eq!(lines(&mut db), [told]);
    }
}

#[test]
fn a_replaced_row_is_deleted_first() {
    let mut db = Database::open(0);
    run(&mut db, "create table a(id integer primary key, x text unique)");
    run(&mut db, "insert into a values(1, 'p'), (2, 'q')");
    db.take_changes();
    run(&mut db, "insert or replace into a values(1, 'q')");
    assert_eq!(
        lines(&mut db),
        ["delete a#1 id=1 x='p'", "delete a#2 id=2 x='q'", "insert a#1 id=1 x='q'"]
    );
}

/// SQLite itself would not tell of the replaced rows here.
#[test]
fn a_replaced_row_is_heard_of_beside_triggers_of_the_application() {
    let mut db = Database::open(0);
    run(&mut db, "create table a(id integer primary key, x text unique); create table log(x)");
    run(&mut db, "create trigger t after insert on a begin insert into log values(new.x); end");
    run(&mut db, "create trigger d after delete on a begin insert into log values('gone'); end");
    run(&mut db, "insert into a values(1, 'p'), (2, 'q')");
    db.take_changes();
    run(&mut db, "insert or replace into a values(1, 'q'), (5, 'r'), (5, 's'), (6, 's')");
    let heard: Vec<_> = lines(&mut db).into_iter().filter(|line| !line.contains("log")).collect();
    assert_eq!(
        heard,
        [
            "delete a#1 id=1 x='p'",
            "delete a#2 id=2 x='q'",
            "insert a#1 id=1 x='q'",
            "insert a#5 id=5 x='r'",
            "delete a#5 id=5 x='r'",
            "insert a#5 id=5 x='s'",
            "insert a#6 id=6 x='s'",
            "delete a#5 id=5 x='s'",
        ]
    );
    let logged = db.exec("select * from log where x = 'gone'", &[]).unwrap();
    assert!(logged.rows.is_empty(), "the application's trigger does not hear of it, as ever");
}

#[test]
fn what_foreign_keys_and_triggers_do_is_heard_of() {
    let mut db = Database::open(0);
    run(&mut db, "create table p(id integer primary key)");
    run(&mut db, "create table c(p references p on delete cascade)");
    run(&mut db, "create table log(what)");
    run(&mut db, "create trigger t after delete on c begin insert into log values('gone'); end");
    run(&mut db, "insert into p values(1); insert into c values(1)");
    db.take_changes();
    run(&mut db, "delete from p");
    let mut heard = lines(&mut db);
    heard.sort();
    assert_eq!(heard, ["delete c#1 p=1", "delete p#1 id=1", "insert log#1 what='gone'"]);
}

#[test]
fn a_table_without_rowid_is_known_by_its_primary_key() {
    let mut db = Database::open(0);
    run(&mut db, "create table a(x, y, z, primary key(z, x)) without rowid");
    run(&mut db, "insert into a values(1, 2, 3)");
    assert_eq!(lines(&mut db), ["insert a#3,1 x=1 y=2 z=3"]);
}

#[test]
fn a_failed_statement_changes_nothing_unless_it_says_fail() {
    let mut db = Database::open(0);
    run(&mut db, "create table a(x unique)");
    db.exec("insert into a values(1), (2), (1)", &[]).unwrap_err();
    assert!(lines(&mut db).is_empty());
    db.exec("insert or fail into a values(1), (2), (1)", &[]).unwrap_err();
    assert_eq!(lines(&mut db), ["insert a#1 x=1", "insert a#2 x=2"]);
    assert_eq!(db.exec("select * from a", &[]).unwrap().rows.len(), 2);
}

#[test]
fn a_rollback_discards_what_it_undoes_and_no_more() {
    let mut db = Database::open(0);
    run(&mut db, "create table a(x)");
    db.begin_turn();
    run(&mut db, "insert into a values(1)");
    db.savepoint();
    run(&mut db, "insert into a values(2)");
    db.savepoint();
    run(&mut db, "insert into a values(3)");
    db.release().unwrap();
    db.rollback_to();
    run(&mut db, "insert into a values(4)");
    assert!(lines(&mut db).is_empty(), "nothing is committed yet");
    db.commit_turn().unwrap();
    assert_eq!(lines(&mut db), ["insert a#1 x=1", "insert a#2 x=4"]);

    db.begin_turn();
    run(&mut db, "delete from a");
    db.rollback_turn();
    assert!(lines(&mut db).is_empty());
    assert_eq!(db.exec("select * from a", &[]).unwrap().rows.len(), 2);
}

#[test]
fn a_first_turn_that_is_rolled_back_takes_its_schema_along() {
    let mut db = Database::open(0);
    run(&mut db, "create table a(x)");
    db.begin_turn();
    run(&mut db, "create table b(x); insert into b values(1)");
    db.rollback_turn();
    assert!(lines(&mut db).is_empty());
    db.exec("select * from b", &[]).unwrap_err();
    run(&mut db, "insert into a values(1)");
    assert_eq!(lines(&mut db), ["insert a#1 x=1"]);
}

#[test]
fn tables_stay_under_watch_through_changes_of_the_schema() {
    let mut db = Database::open(0);
    run(&mut db, "create table a(x); insert into a values(1); create table b(y)");
    run(&mut db, "alter table a add column z default 5; alter table a rename to c");
    run(&mut db, "update c set x = 2; insert into b values(3); alter table c drop column x");
    run(&mut db, "update c set z = 6");
    let expected = [
        &["insert a#1 x=1"][..],
        &["delete a#1 x=1", "insert a#1 x=1 z=5"],
        &["delete a#1 x=1 z=5", "insert c#1 x=1 z=5"],
        &["update c#1 x=1 -> 2", "insert b#1 y=3"],
        &["delete c#1 x=2 z=5", "insert c#1 z=5"],
        &["update c#1 z=5 -> 6"],
    ];
    assert_eq!(lines(&mut db), expected.concat());
}

#[test]
fn a_table_that_is_dropped_and_made_again_is_under_watch() {
    let mut db = Database::open(0);
    run(&mut db, "create table b(y); insert into b values(0); create table a(x)");
    run(&mut db, "drop table a; create table a(x); insert into a values(1); drop table a");
    run(&mut db, "create table a(z, x); insert into a values(2, 3); drop table a");
    db.begin_turn();
    run(&mut db, "create table a(x); insert into a values(4)");
    db.rollback_turn();
    run(&mut db, "create table a(x); insert into a values(5)");
    let expected = [
        &["insert b#1 y=0", "insert a#1 x=1", "delete a#1 x=1"][..],
        &["insert a#1 z=2 x=3", "delete a#1 z=2 x=3", "insert a#1 x=5"],
    ];
    assert_eq!(lines(&mut db), expected.concat());
}

#[test]
fn the_tables_of_a_full_text_index_are_not_rows_of_the_application() {
    let mut db = Database::open(0);
    run(&mut db, "create table t_data(x); insert into t_data values(1); drop table t_data");
    run(&mut db, "create table t_dat(x); insert into t_dat values(2)");
    run(&mut db, "create virtual table t using fts5(text); insert into t values('hello')");
    run(&mut db, "drop table t; create table t_data(x); insert into t_data values(3)");
    let lines = lines(&mut db);
    let expected =
        ["insert t_data#1 x=1", "delete t_data#1 x=1", "insert t_dat#1 x=2", "insert t_data#1 x=3"];
    assert_eq!(lines, expected);
}

#[test]
fn a_limit_of_a_deletion_or_an_update_is_kept_to() {
    let mut db = Database::open(0);
    run(&mut db, "create table a(id integer primary key, x); insert into a(x) values(3), (1), (2)");
    lines(&mut db);
    let done = db.exec("delete from a where x > ? order by x limit ?", &[1.into(), 1.into()]);
    assert_eq!(done.unwrap().changes, 1);
    run(&mut db, "update a set x = 9 order by x limit 1");
    assert_eq!(lines(&mut db), ["delete a#3 id=3 x=2", "update a#2 x=1 -> 9"]);
    let said = db.exec("delete from gone limit 1", &[]).unwrap_err().to_string();
    assert!(said.contains("LIMIT") || said.contains("limit"), "{said}");
}

#[test]
fn the_rows_of_a_table_that_is_dropped_are_deleted() {
    let mut db = Database::open(0);
    run(&mut db, "create table a(id integer primary key, x); insert into a(x) values(1), (2)");
    run(&mut db, "create table b(a references a on delete cascade); insert into b values(1)");
    lines(&mut db);
    db.exec("drop table gone", &[]).unwrap_err();
    run(&mut db, "drop table if exists gone");
    assert!(lines(&mut db).is_empty());
    run(&mut db, "drop table b; drop table a; create table a(x); insert into a values(3)");
    assert_eq!(
        lines(&mut db),
        ["delete b#1 a=1", "delete a#1 id=1 x=1", "delete a#2 id=2 x=2", "insert a#1 x=3"]
    );
}

#[test]
fn deferred_foreign_keys_are_checked_when_the_turn_ends() {
    let mut db = Database::open(0);
    run(&mut db, "create table p(id integer primary key)");
    run(&mut db, "create table c(p references p deferrable initially deferred)");
    db.exec("insert into c values(1)", &[]).unwrap_err();
    db.begin_turn();
    run(&mut db, "insert into c values(1); insert into p values(1)");
    db.commit_turn().unwrap();
    db.take_changes();
    db.begin_turn();
    run(&mut db, "insert into c values(2)");
    db.commit_turn().unwrap_err();
    assert!(lines(&mut db).is_empty());
    assert_eq!(db.exec("select * from c", &[]).unwrap().rows.len(), 1);
}

/// Plays the changes into maps, which then must hold what the tables hold.
#[test]
fn changes_alone_rebuild_every_table() {
    const STATEMENTS: [&str; 14] = [
        "insert into a(x, n) values(abs(random() % 9), 1)",
        "insert into a(x, n) values(1, 2), (2, 3), (3, 4)",
        "insert or replace into a(id, x) values(abs(random() % 9), abs(random() % 9))",
        "replace into a(x) select x + 1 from a limit 2",
        "insert or ignore into a(x) values(1), (20), (21)",
        "update or replace a set x = x + 1 where n > 1",
        "update a set n = coalesce(n, 0) + 1 where x % 2",
        "insert into a(x) values(1) on conflict(x) do update set n = 77",
        "delete from a where x > 6",
        "insert into b select id, random() from a where true on conflict do nothing",
        "update or ignore b set a_id = a_id + 1",
        "delete from b where v % 2",
        "delete from a",
        "insert or fail into a(x) values(50), (51), (50)",
    ];
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let mut db = Database::open(u64::from(rng.below(1000)));
        run(&mut db, "create table a(id integer primary key, x unique, n)");
        run(
            &mut db,
            "create table b(a_id references a(id) on delete cascade on update cascade, v, primary key(a_id)) without rowid",
        );
        let mut model: BTreeMap<(String, Vec<Value>), Vec<Value>> = BTreeMap::new();
        for _ in 0..30 {
            let rolled_back = rng.below(4) == 0;
            db.begin_turn();
            for _ in 0..rng.below(3) + 1 {
                let sql = STATEMENTS[rng.below(14) as usize];
                let _ = db.exec(sql, &[]);
            }
            match rolled_back {
                true => db.rollback_turn(),
                false => db.commit_turn().unwrap(),
            }
            for change in db.take_changes() {
                play(&mut model, &change);
            }
            let mut tables = BTreeMap::new();
            for table in ["a", "b"] {
                for row in db.exec(&format!("select * from {table}"), &[]).unwrap().rows {
                    tables.insert((table.to_owned(), vec![row[0].clone()]), row);
                }
            }
            assert_eq!(model, tables, "seed {seed}");
        }
    }
}

fn play(model: &mut BTreeMap<(String, Vec<Value>), Vec<Value>>, change: &RowChange) {
    let values =
        |row: &Vec<(_, Value)>| row.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>();
    let key = (change.table.to_string(), change.key.clone());
    let before = model.remove(&key);
    assert_eq!(before, change.before.as_ref().map(values), "{change}");
    if let Some(after) = change.after.as_ref().map(values) {
        model.insert((change.table.to_string(), vec![after[0].clone()]), after);
    }
}

#[test]
fn functions_of_clock_and_chance_repeat() {
    let answers = |seed: u64| {
        let mut db = Database::open(seed);
        db.set_now(Time::from_ms(90_061_500));
        run(&mut db, "create table a(at default current_timestamp, r default (random()))");
        run(&mut db, "insert into a default values");
        let mut rows = db.exec("select * from a", &[]).unwrap().rows;
        let query = "select random(), hex(randomblob(9)), datetime('now', '+1 day', 'localtime'), \
                     date(), time('now', 'subsec'), strftime('%s'), unixepoch(), julianday('now'), \
                     current_date, current_time, timediff('now', '2026-01-01'), \
                     datetime('2020-02-29 10:00', '+1 year'), datetime(0, 'unixepoch')";
        rows.extend(db.exec(query, &[]).unwrap().rows);
        rows
    };
    let one = answers(1);
    assert_eq!(one, answers(1));
    assert_ne!(one[1][0], answers(2)[1][0], "another seed, another chance");
    assert_eq!(one[0][0], Value::from("2026-01-02 01:01:01"));
    let texts: Vec<String> = one[1][2..].iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "'2026-01-03 01:01:01'",
            "'2026-01-02'",
            "'01:01:01.500'",
            "'1767315661'",
            "1767315661",
            "2461042.542378472",
            "'2026-01-02'",
            "'01:01:01'",
            "'+0000-00-01 01:01:01.500'",
            "'2021-03-01 10:00:00'",
            "'1970-01-01 00:00:00'"
        ]
    );
}

#[test]
fn what_the_platform_refuses_is_refused() {
    let mut db = Database::open(0);
    run(&mut db, "create table a(x)");
    for (sql, expected) in [
        ("create temp table t(x)", "not authorized: SQLITE_AUTH"),
        ("create table _cf_KV(x)", "not authorized: SQLITE_AUTH"),
        ("pragma journal_mode = wal", "not authorized: SQLITE_AUTH"),
        ("pragma user_version = 3", "not authorized: SQLITE_AUTH"),
        ("create virtual table r using rtree(a, b, c)", "not authorized: SQLITE_AUTH"),
        (
            "select * from sqlite_temp_master",
            "access to temp.sqlite_temp_master.type is prohibited: SQLITE_AUTH",
        ),
        ("select * from _cf_counters", "access to temp._cf_counters.x is prohibited: SQLITE_AUTH"),
        ("select 1; -- nothing else\n", ""),
        (
            "select ?; select 2",
            "When executing multiple SQL statements in a single call, only the last statement can have parameters.",
        ),
        (" -- nothing", "SQL code did not contain a statement."),
        (
            "insert or rollback into a values(1)",
            "ROLLBACK inside a statement is not supported by the simulation: it would end a transaction that the platform has opened",
        ),
    ] {
        let answer = db.exec(sql, &[]).err().map(|error| error.to_string());
        assert_eq!(answer.unwrap_or_default(), expected, "{sql}");
    }
    assert_eq!(db.exec("pragma foreign_keys", &[]).unwrap().rows, [[Value::Integer(1)]]);
    run(&mut db, "pragma foreign_keys = off");
    assert_eq!(db.exec("pragma foreign_keys", &[]).unwrap().rows, [[Value::Integer(1)]]);
}
