//! Where D1 differs from production, or production publishes nothing; `docs/platform-d1.md` says why
//! each is as it is.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use thunderhead_sim::d1::TRANSIENT;
use thunderhead_sim::{Cloud, EventKind, Fault, Scenario, ScriptedFault, Source, Tape, simulate};

use super::support::{Db, int, text};

#[test]
fn a_value_has_at_most_two_million_bytes() {
    let mut db = Db::new();
    let mut length = |bytes: usize| db.run("select length(?) n", &[text(&"x".repeat(bytes))]);
    assert_eq!(length(2_000_000).unwrap().get(0, "n"), Some(&int(2_000_000)));
    let error = length(2_000_001).unwrap_err();
    assert_eq!(error.to_string(), "D1_ERROR: string or blob too big: SQLITE_TOOBIG");
}

/// Inserts one row and counts the rows twice, with this fault. What was counted, or why it was not.
fn counted(fault: ScriptedFault) -> Vec<String> {
    let mount = |cloud: &mut Cloud| {
        cloud.d1("db");
        cloud.client("alice", |env| async move {
            let db = env.d1("db");
            db.exec("create table cat(name text)").await.unwrap();
            db.prepare("insert into cat values ('Tom')").run().await.unwrap();
            for _ in 0..2 {
                match db.prepare("select * from cat").raw().await {
                    Ok(rows) => env.log(format!("{} rows", rows.len())),
                    Err(error) => env.log(error.to_string()),
                }
            }
        });
    };
    let scenario = Scenario { faults: vec![fault], ..Scenario::default() };
    let run = simulate(&scenario, &Source::Tape(Tape::benign()), &mount).unwrap();
    let said = run.trace.events().iter().filter_map(|event| match &event.kind {
        EventKind::Log { text } => Some(text.to_string()),
        _ => None,
    });
    said.collect()
}

#[test]
fn a_read_that_fails_for_the_moment_is_not_tried_again() {
    for (code, error) in (1..).zip(TRANSIENT) {
        let fails = ScriptedFault::once(Fault::Fail, "d1.raw");
        let said = counted(ScriptedFault { code: Some(code), ..fails });
        assert_eq!(said, [format!("D1_ERROR: {}", error.text()), "1 rows".into()]);
    }
}

/// Of a Worker in JavaScript it does not: that is a test of its host.
#[test]
fn a_write_of_a_system_in_rust_may_take_effect_twice() {
    let said = counted(ScriptedFault::once(Fault::Duplicate, "d1.run"));
    assert_eq!(said, ["2 rows", "2 rows"]);
}
