//! What the real local runtime answered about D1, asked of the simulated one.
//!
//! Each test is named after the probe it repeats. Rows left out, and the parts of rows that only
//! JavaScript can ask, are listed in `docs/platform-d1.md`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use thunderhead_sim::Body;
use thunderhead_sim::d1::{Answer, Constraint, D1Result, Meta, Op, Session};
use thunderhead_sim::sqlite::{USE_TRANSACTION_API, Value};

use super::support::{Db, int, named, result, stmt, text};

/// `[changes, last_row_id, changed_db, rows_read, rows_written]` of a result.
fn meta(result: &D1Result) -> (u64, i64, bool, u64, u64) {
    let Meta { changes, last_row_id, changed_db, rows_read, rows_written, .. } = result.meta;
    (changes, last_row_id, changed_db, rows_read, rows_written)
}

#[test]
fn run_shape_ddl() {
    let result = Db::new().run("create table rs(a integer primary key, b text)", &[]).unwrap();
    assert!(result.results.is_empty() && result.meta.served_by_primary);
    assert_eq!(meta(&result), (0, 0, true, 1, 2));
}

#[test]
fn run_shape_insert_update_delete() {
    let mut db = Db::new();
    db.exec("create table iud(a integer primary key, b text)").unwrap();
    let mut check = |sql: &str, bindings: &[Value], expected| {
        let result = db.run(sql, bindings).unwrap();
        assert_eq!(meta(&result), expected, "{sql}");
        result.results
    };
    check("insert into iud(b) values(?),(?)", &[text("x"), text("y")], (2, 2, true, 0, 2));
    check("update iud set b='z' where a=1", &[], (1, 2, true, 1, 1));
    check("update iud set b='z' where a=99", &[], (0, 2, false, 1, 0));
    let upsert = "insert into iud(a,b) values(1,'u') on conflict(a) do update set b=excluded.b";
    check(upsert, &[], (1, 2, true, 1, 1));
    check("insert or ignore into iud(a,b) values(1,'u')", &[], (0, 2, false, 1, 0));
    check("delete from iud", &[], (2, 2, true, 0, 2));
    assert_eq!(check("select 5 as v", &[], (0, 2, false, 0, 0)), [named([("v", int(5))])]);
    let rows = check("insert into iud(b) values('r') returning a, b", &[], (1, 1, true, 1, 1));
    assert_eq!(rows, [named([("a", int(1)), ("b", text("r"))])]);
}

#[test]
fn first() {
    let mut db = Db::new();
    db.exec("create table fi(a, b)").unwrap();
    assert_eq!(db.first("select * from fi", None).unwrap(), Answer::Row(None));
    assert_eq!(db.first("select * from fi", Some("a")).unwrap(), Answer::Column(Value::Null));
    db.exec("insert into fi values(1,'x'),(2,'y')").unwrap();
    let row = named([("a", int(1)), ("b", text("x"))]);
    assert_eq!(db.first("select * from fi order by a", None).unwrap(), Answer::Row(Some(row)));
    let column = db.first("select * from fi order by a", Some("b"));
    assert_eq!(column.unwrap(), Answer::Column(text("x")));
    let error = db.first("select * from fi", Some("zzz")).unwrap_err();
    assert_eq!(error.to_string(), "D1_COLUMN_NOTFOUND: Column not found (zzz)");
    assert_eq!(error.cause(), "Column not found");
    assert_eq!(db.first("select null as n", Some("n")).unwrap(), Answer::Column(Value::Null));
}

#[test]
fn raw() {
    let mut db = Db::new();
    let mut raw = |sql: &str, names: bool| match db.call(Op::raw("db", stmt(sql), names)) {
        Ok(Answer::Raw(rows)) => rows,
        other => panic!("unexpected {other:?}"),
    };
    assert_eq!(raw("select 1 a, 2 b", false), [[int(1), int(2)]]);
    assert_eq!(raw("select 1 a, 2 b", true), [[text("a"), text("b")], [int(1), int(2)]]);
    assert_eq!(raw("select 1 a, 2 a", false), [[int(1), int(2)]]);
    assert_eq!(raw("select 1 a where 0", true), [[text("a")]]);
    let all = db.run("select 1 a, 2 a", &[]).unwrap();
    assert_eq!(all.results, [named([("a", int(2))])]);
}

#[test]
fn types() {
    let mut db = Db::new();
    db.exec("create table ty(i integer, r real, x text, b blob, n)").unwrap();
    let blob = |bytes: &[u8]| Value::Blob(Body::from(bytes));
    let values = [int(1), Value::from(1.5), text("s"), blob(&[1, 2]), Value::Null];
    db.run("insert into ty values(?,?,?,?,?)", &values).unwrap();
    let row = db.run("select * from ty", &[]).unwrap().results.remove(0);
    assert_eq!(row.into_iter().map(|(_, value)| value).collect::<Vec<_>>(), values);

    let mut bind = |value: Value| {
        let sql = "select ? as v, typeof(?) as t";
        let row = db.run(sql, &[value.clone(), value]).unwrap().results.remove(0);
        (row[0].1.clone(), row[1].1.as_str().unwrap().to_owned())
    };
    let real = |number: f64| (Value::from(number), "real".to_owned());
    assert_eq!(bind(Value::from(true)), real(1.0));
    assert_eq!(bind(blob(&[1, 2])), (blob(&[1, 2]), "blob".into()));
    assert_eq!(bind(Value::from(f64::NAN)), (Value::Null, "null".into()));
    assert_eq!(bind(Value::from(f64::INFINITY)), (Value::Null, "null".into()));
    assert_eq!(bind(int(3)), real(3.0));
    assert_eq!(bind(Value::from(3.5)), real(3.5));
    assert_eq!(bind(int(1 << 53)), real(9_007_199_254_740_992.0));
    assert_eq!(bind(blob(&[])), (blob(&[]), "blob".into()));
    assert_eq!(bind(text("a\0b")), (text("a\0b"), "text".into()));

    let mut value = |sql: &str| db.run(sql, &[]).unwrap().results[0][0].1.clone();
    assert_eq!(value("select 9223372036854775807 as v"), Value::from(9_223_372_036_854_775_807.0));
    assert_eq!(value("select 9007199254740993 as v"), Value::from(9_007_199_254_740_992.0));
    assert_eq!(value("select (1=1) as v"), int(1));
    assert_eq!(value("select 2.0 as v").as_i64(), Some(2));
    assert_eq!(value("select typeof(2.0) as v"), text("real"));
}

#[test]
fn constraint_errors() {
    let mut db = Db::new();
    db.exec(
        "create table p(id integer primary key, u text unique, nn text not null default 'x', \
         c integer check(c > 0)); create table ch(pid integer references p(id)); \
         create table st(i integer) strict; create table cmp(a,b, primary key(a,b)); \
         insert into p(id,u) values(1,'a'); insert into cmp values(1,2)",
    )
    .unwrap();
    let transaction = format!("D1_ERROR: {USE_TRANSACTION_API}");
    let wrong_number = "D1_ERROR: Wrong number of parameter bindings for SQL query.";
    let refused: &[(&str, &[Value], &str)] = &[
        (
            "insert into p(id,u) values(2,'a')",
            &[],
            "D1_ERROR: UNIQUE constraint failed: p.u: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_UNIQUE)",
        ),
        (
            "insert into p(id,u) values(1,'b')",
            &[],
            "D1_ERROR: UNIQUE constraint failed: p.id: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_PRIMARYKEY)",
        ),
        (
            "insert into cmp values(1,2)",
            &[],
            "D1_ERROR: UNIQUE constraint failed: cmp.a, cmp.b: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_PRIMARYKEY)",
        ),
        (
            "insert into p(id,u,nn) values(3,'c',null)",
            &[],
            "D1_ERROR: NOT NULL constraint failed: p.nn: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_NOTNULL)",
        ),
        (
            "insert into p(id,u,c) values(4,'d',0)",
            &[],
            "D1_ERROR: CHECK constraint failed: c > 0: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_CHECK)",
        ),
        (
            "insert into ch values(99)",
            &[],
            "D1_ERROR: FOREIGN KEY constraint failed: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_FOREIGNKEY)",
        ),
        (
            "insert into st values('abc')",
            &[],
            "D1_ERROR: cannot store TEXT value in INTEGER column st.i: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_DATATYPE)",
        ),
        ("selec 1", &[], "D1_ERROR: near \"selec\": syntax error at offset 0: SQLITE_ERROR"),
        ("select * from nope", &[], "D1_ERROR: no such table: nope: SQLITE_ERROR"),
        ("select nope from p", &[], "D1_ERROR: no such column: nope at offset 7: SQLITE_ERROR"),
        ("select ?, ?", &[int(1)], wrong_number),
        ("select ?", &[int(1), int(2)], wrong_number),
        ("", &[], "D1_ERROR: No SQL statements detected."),
        ("begin", &[], &transaction),
        ("savepoint x", &[], &transaction),
        ("commit", &[], &transaction),
        ("attach ':memory:' as x", &[], "D1_ERROR: not authorized: SQLITE_AUTH"),
        ("vacuum", &[], "D1_ERROR: cannot VACUUM from within a transaction: SQLITE_ERROR"),
        ("select * from _cf_KV", &[], "D1_ERROR: no such table: _cf_KV: SQLITE_ERROR"),
        ("select * from _cf_METADATA", &[], "D1_ERROR: no such table: _cf_METADATA: SQLITE_ERROR"),
    ];
    for (sql, bindings, expected) in refused {
        assert_eq!(db.run(sql, bindings).unwrap_err().to_string(), *expected, "{sql}");
    }
    let numbered = db.run("select ?2 as a, ?1 as b", &[text("x"), text("y")]).unwrap();
    assert_eq!(numbered.results, [named([("a", text("y")), ("b", text("x"))])]);
    db.run("select :a", &[int(1)]).unwrap();
    let multi = db.run("select 1 as a; select 2 as b", &[]).unwrap();
    assert_eq!(multi.results, [named([("b", int(2))])]);
    assert_eq!(meta(&multi), (0, 1, false, 0, 0));
}

#[test]
fn error_shape() {
    let error = Db::new().run("select * from nope", &[]).unwrap_err();
    assert_eq!(error.to_string(), "D1_ERROR: no such table: nope: SQLITE_ERROR");
    assert_eq!(error.cause(), "no such table: nope: SQLITE_ERROR");
}

#[test]
fn defer_fk_in_batch() {
    let mut db = Db::new();
    db.exec(
        "create table dp(id integer primary key); create table dc(pid integer references dp(id))",
    )
    .unwrap();
    let defer = "pragma defer_foreign_keys=on";
    let deferred = [defer, "insert into dc values(1)", "insert into dp values(1)"];
    assert_eq!(db.batch(&deferred).unwrap().len(), 3);
    let error = db.batch(&[defer, "insert into dc values(77)"]).unwrap_err();
    // The emulator adds a random reference to it.
    assert_eq!(error.to_string(), "internal error");
    assert_eq!(db.value("select count(*) c from dc"), int(1));
    let kept = db.run("insert into dc values(77)", &[]).unwrap_err();
    assert!(kept.to_string().contains("FOREIGN KEY"), "the deferral ended with its batch: {kept}");
}

#[test]
fn batch_ok_shape() {
    let mut db = Db::new();
    db.exec("create table bo(a)").unwrap();
    let results = db
        .batch(&["insert into bo values(1)", "select * from bo", "select count(*) c from bo"])
        .unwrap();
    let metas: Vec<_> = results.iter().map(meta).collect();
    assert_eq!(metas, [(1, 1, true, 0, 1), (0, 1, false, 1, 0), (0, 1, false, 1, 0)]);
    assert_eq!(results[1].results, [named([("a", int(1))])]);
    assert_eq!(results[2].results, [named([("c", int(1))])]);
}

#[test]
fn batch_rollback_on_error() {
    let mut db = Db::new();
    db.exec("create table br(a integer primary key)").unwrap();
    let insert = [
        "insert into br values(1)",
        "insert into br values(2)",
        "insert into br values(1)",
        "insert into br values(3)",
    ];
    assert_eq!(
        db.batch(&insert).unwrap_err().to_string(),
        "D1_ERROR: UNIQUE constraint failed: br.a: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_PRIMARYKEY)"
    );
    assert_eq!(db.value("select count(*) c from br"), int(0));
}

#[test]
fn batch_ddl_rollback() {
    let mut db = Db::new();
    let error = db.batch(&["create table bd(a)", "insert into nope values(1)"]).unwrap_err();
    assert_eq!(error.to_string(), "D1_ERROR: no such table: nope: SQLITE_ERROR");
    assert_eq!(db.value("select count(*) c from sqlite_master where name='bd'"), int(0));
}

#[test]
fn sqlite_version() {
    let error = Db::new().run("select sqlite_version() v", &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "D1_ERROR: not authorized to use function: sqlite_version at offset 7: SQLITE_ERROR"
    );
}

#[test]
fn functions() {
    let mut db = Db::new();
    assert_eq!(db.value("select datetime('now') v"), text("2026-01-01 00:00:00"));
    assert_eq!(db.value("select unixepoch('subsec') v").as_f64(), Some(1_767_225_600.0));
    assert!(db.value("select random() v").as_f64().is_some());
    assert_eq!(db.value("select lower(hex(randomblob(16))) v").as_str().map(str::len), Some(32));
    assert_eq!(db.value("select sqrt(4) v").as_i64(), Some(2));
    assert_eq!(db.value("select iif(1,2,3) v"), int(2));
    let error = db.run("select 'a' regexp 'a' v", &[]).unwrap_err();
    assert_eq!(error.to_string(), "D1_ERROR: no such function: regexp at offset 11: SQLITE_ERROR");
    db.run("create virtual table ft using fts5(x)", &[]).unwrap();
    let error = db.run("select load_extension('x') v", &[]).unwrap_err();
    assert_eq!(error.to_string(), "D1_ERROR: not authorized: SQLITE_ERROR");
}

#[test]
fn limits() {
    let mut db = Db::new();
    let list = |n: usize, item: &str, separator: &str| vec![item; n].join(separator);
    let ones = |n: usize| vec![int(1); n];
    let sum = db.run(&format!("select {} v", list(100, "?", "+")), &ones(100)).unwrap();
    assert_eq!(sum.get(0, "v").unwrap().as_i64(), Some(100));
    for n in [100, 101, 1000, 32767] {
        let answer = db.run(&format!("select 1 in ({}) v", list(n, "?", ",")), &ones(n));
        match n {
            100 => assert_eq!(answer.unwrap().get(0, "v"), Some(&int(1))),
            _ => assert_eq!(
                answer.unwrap_err().to_string(),
                "D1_ERROR: too many SQL variables at offset 213: SQLITE_ERROR"
            ),
        }
    }
    let mut error = |sql: &str| db.run(sql, &[]).unwrap_err().to_string();
    assert_eq!(
        error(&format!("select {} v", list(101, "1", "+"))),
        "D1_ERROR: Expression tree is too large (maximum depth 100): SQLITE_ERROR"
    );
    assert_eq!(
        error(&format!("select '{}' as v", "x".repeat(101_000))),
        "D1_ERROR: statement too long: SQLITE_TOOBIG"
    );
    let columns: Vec<String> = (0..101).map(|i| format!("c{i}")).collect();
    assert_eq!(
        error(&format!("create table wide({})", columns.join(","))),
        "D1_ERROR: too many columns on wide: SQLITE_ERROR"
    );
    db.exec("create table lim(x)").unwrap();
    db.run("insert into lim values(?)", &[text(&"x".repeat(1_900_000))]).unwrap();
    // The emulator stores 2.2 MB; the documented limit is 2 MB.
    let error = db.run("insert into lim values(?)", &[text(&"x".repeat(2_200_000))]).unwrap_err();
    assert_eq!(error.to_string(), "D1_ERROR: string or blob too big: SQLITE_TOOBIG");
}

#[test]
fn session_api() {
    let mut db = Db::new();
    let session = Session::new(Constraint::FirstPrimary);
    let reply = db.reply(Op::all("db", stmt("select 1 a")).in_session(&session)).unwrap();
    assert_eq!(reply.bookmark.as_ref().unwrap().as_str().len(), 59);
    assert_eq!(result(reply.answer).results, [named([("a", int(1))])]);
}

#[test]
fn dump() {
    let error = Db::new().call(Op::dump("db")).unwrap_err();
    assert_eq!(error.to_string(), "D1_DUMP_ERROR: Status + 404");
    assert_eq!(error.cause(), "Status 404");
}

#[test]
fn concurrent_writes() {
    let mut db = Db::new();
    db.exec("create table cw(n integer)\ninsert into cw values(0)").unwrap();
    for _ in 0..20 {
        db.run("update cw set n=n+1", &[]).unwrap();
    }
    assert_eq!(db.value("select n from cw"), int(20));
}

/// Two Workers that both read before either writes, which operations of their own permit.
#[test]
fn read_then_write_not_atomic() {
    let mut db = Db::new();
    db.exec("create table rw(n integer)\ninsert into rw values(0)").unwrap();
    let (one, two) = (db.value("select n from rw"), db.value("select n from rw"));
    for seen in [one, two] {
        let next = int(seen.as_i64().unwrap() + 1);
        db.run("update rw set n=?", &[next]).unwrap();
    }
    assert_eq!(db.value("select n from rw"), int(1));
}
