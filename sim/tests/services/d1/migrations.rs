//! A migration is there before anything runs, and what it inserts is part of the history.

use thunderhead_sim::{Cloud, Scenario, Source, Tape, simulate};

fn migrated(sql: &'static str) -> String {
    let mount = move |cloud: &mut Cloud| {
        cloud.d1("db");
        cloud.migrate("db", &[sql]);
        cloud.client("alice", |env| async move {
            let names = env.d1("db").prepare("select name from cats").raw().await;
            env.log(format!("{names:?}"));
        });
    };
    let run = simulate(&Scenario::default(), &Source::Tape(Tape::benign()), &mount);
    run.expect("the scenario fits").trace.to_string()
}

#[test]
fn a_migration_is_there_before_the_first_query_and_its_rows_are_in_the_trace() {
    let trace = migrated("create table cats (name text); insert into cats values ('Tom')");
    let first = trace.lines().next().unwrap_or_default();
    assert!(first.ends_with("insert cats#1 name='Tom'"), "{trace}");
    assert!(trace.contains(r#"Ok([[Text("Tom")]])"#), "{trace}");
}

#[test]
fn a_migration_without_rows_leaves_no_trace() {
    let trace = migrated("create table cats (name text)");
    assert!(!trace.contains("cats#"), "{trace}");
    assert!(trace.contains("Ok([])"), "{trace}");
}

#[test]
#[should_panic(expected = "migration of `db`: D1_ERROR: near \"tabel\"")]
fn a_migration_that_fails_is_the_mistake_of_whoever_deploys() {
    migrated("create tabel cats (name text)");
}
