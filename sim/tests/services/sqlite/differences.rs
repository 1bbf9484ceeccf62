//! Where SQL differs from the platform's, and what it can see of the simulation, as `docs/platform-storage.md` has it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use thunderhead_sim::sqlite::{Database, Value};

/// The only value that an expression has in a database of its own, or the error.
fn value(expression: &str) -> Result<Value, String> {
    let answer = Database::open(0).exec(&format!("select {expression}"), &[]);
    answer.map(|set| set.rows[0][0].clone()).map_err(|error| error.to_string())
}

/// The name of the function that an expression calls.
fn name(expression: &str) -> &str {
    expression.split('(').next().unwrap()
}

#[test]
fn roots_and_roundings_are_there_and_functions_that_differ_between_machines_are_not() {
    for (expression, expected) in [
        ("sqrt(2.25)", 1.5),
        ("ceil(1.5)", 2.0),
        ("ceiling(-1.5)", -1.0),
        ("floor(-1.5)", -2.0),
        ("trunc(-1.5)", -1.0),
    ] {
        assert_eq!(value(expression), Ok(Value::from(expected)), "{expression}");
    }
    for expression in ["sin(1)", "ln(1)", "pow(2, 2)"] {
        let error = value(expression).unwrap_err();
        let missing = format!("no such function: {}", name(expression));
        assert!(error.starts_with(&missing), "{expression}: {error}");
    }
}

#[test]
fn only_what_tells_about_the_build_is_refused_among_the_functions() {
    for expression in [
        "sqlite_version()",
        "sqlite_source_id()",
        "sqlite_log(1, 'x')",
        "sqlite_compileoption_get(0)",
        "sqlite_compileoption_used('THREADSAFE')",
    ] {
        let error = value(expression).unwrap_err();
        let refused = format!("not authorized to use function: {}", name(expression));
        assert!(error.starts_with(&refused), "{expression}: {error}");
    }
    assert_eq!(value("upper('cat')"), Ok(Value::from("CAT")));
}

#[test]
fn a_value_of_sql_has_at_most_2_000_000_bytes() {
    let length = |bytes: usize| {
        let text = Value::from("x".repeat(bytes));
        Database::open(0).exec("select length(?)", &[text]).map(|set| set.rows)
    };
    assert_eq!(length(2_000_000).unwrap(), [[Value::Integer(2_000_000)]]);
    let error = length(2_000_001).unwrap_err();
    assert_eq!(error.to_string(), "string or blob too big: SQLITE_TOOBIG");
}

#[test]
fn rows_written_count_each_index_of_an_insert_or_a_delete_and_two_for_the_schema() {
    let mut db = Database::open(0);
    let mut written = |sql: &str| db.exec(sql, &[]).unwrap().rows_written;
    assert_eq!(written("create table a(x, y)"), 2);
    assert_eq!(written("create index by_x on a(x)"), 2);
    assert_eq!(written("create index by_y on a(y)"), 2);
    assert_eq!(written("insert into a values(1, 2), (3, 4)"), 6);
    assert_eq!(written("update a set x = 5"), 2);
    assert_eq!(written("delete from a"), 6);
    assert_eq!(written("create table b(k primary key, x unique) without rowid"), 2);
    assert_eq!(written("insert into b values(1, 2)"), 2, "its primary key is the table");
}

#[test]
fn rows_written_count_no_index_that_was_dropped_or_rolled_back() {
    let mut db = Database::open(0);
    db.exec("create table a(x); create index by_x on a(x); insert into a values(1)", &[]).unwrap();
    db.begin_turn();
    db.exec("create index by_minus_x on a(-x)", &[]).unwrap();
    assert_eq!(db.exec("insert into a values(2)", &[]).unwrap().rows_written, 3);
    db.rollback_turn();
    assert_eq!(db.exec("insert into a values(2)", &[]).unwrap().rows_written, 2);
    db.exec("drop index by_x", &[]).unwrap();
    assert_eq!(db.exec("insert into a values(3)", &[]).unwrap().rows_written, 1);
}

#[test]
fn a_trigger_that_would_roll_back_is_refused() {
    let mut db = Database::open(0);
    db.exec("create table a(x); insert into a values(1)", &[]).unwrap();
    let trigger = "create trigger t before insert on a begin select raise(rollback, 'no'); end";
    let error = db.exec(trigger, &[]).unwrap_err().to_string();
    assert!(error.starts_with("ROLLBACK inside a statement is not supported"), "{error}");
}

#[test]
fn the_triggers_of_the_simulation_show_in_a_setting_and_in_the_program_of_a_write() {
    let mut db = Database::open(0);
    db.exec("create table a(x); insert into a values(1)", &[]).unwrap();
    let setting = "pragma recursive_triggers";
    assert_eq!(db.exec(setting, &[]).unwrap().rows, [[Value::Integer(1)]]);
    // A trigger is a program of its own that the write calls.
    let program = db.exec("explain insert into a values(2)", &[]).unwrap().rows;
    assert!(program.iter().any(|step| step[1].as_str() == Some("Program")), "{program:?}");
    let trigger = "create trigger t after delete on a begin insert into a values(3); end";
    db.exec(trigger, &[]).unwrap();
    assert_eq!(db.exec(setting, &[]).unwrap().rows, [[Value::Integer(0)]]);
}
