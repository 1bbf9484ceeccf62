//! Commands in every run within bounds: two commands, two processors, and all the ways in which so many things
//! can go wrong.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use thunderhead::systems;
use thunderhead_props::{System, hunt};
use thunderhead_sim::{Enumerate, FaultSet, Scenario, Send, Source, Time, Timing};

fn commands() -> &'static System {
    systems::find("commands").expect("the commands are registered")
}

/// A group that checks out, when both processors are about to look for work.
fn group(name: &str, guests: &str) -> Send {
    let path = format!("/groups/{name}");
    Send::new(Time::from_ms(990), "POST", &path, format!("{{\"guests\":{guests}}}")).retried(1)
}

/// Plays every run within bounds, which must all be as promised, and says how many there were.
///
/// The storm lasts until everything that it can hurt has been tried; whoever is down then comes back.
fn enumerate(sends: &[Send], faults: FaultSet, max_deviations: usize) -> u64 {
    let (storm, timing) = (Duration::from_millis(1_200), Timing::Order);
    let sends = sends.to_vec();
    let scenario = Scenario { sends, faults, timing, storm, max_crashes: 2, ..Scenario::default() };
    let mut tapes = Enumerate::new(max_deviations);
    while let Some(tape) = tapes.next_tape() {
        let source = Source::Tape(tape.clone());
        let (run, broken) = hunt::check(commands(), "reference", &scenario, &source).unwrap();
        assert!(broken.is_empty(), "{broken:?}\n{tape:?}\n{}", run.trace);
        tapes.tell(&run);
    }
    tapes.visited()
}

/// How many deviations from the benign run are enumerated, of all faults and of crashes alone: as far as a
/// test may take. `ENUMERATE_DEVIATIONS=3` asks for more of all faults, which takes an hour.
fn survives(sends: &[Send], at_least: u64) {
    let asked = std::env::var("ENUMERATE_DEVIATIONS").ok().and_then(|text| text.parse().ok());
    for (faults, max) in [(FaultSet::explored(), asked.unwrap_or(2)), (FaultSet::crashes(), 2)] {
        let runs = enumerate(sends, faults, max);
        println!("{runs} runs with at most {max} deviations");
        assert!(runs > at_least, "only {runs} runs");
    }
}

#[test]
fn two_commands_of_one_workflow_survive_everything() {
    survives(&[group("g0", r#"["ann","bob"]"#)], 1_000);
}

#[test]
fn two_commands_of_two_workflows_survive_everything() {
    survives(&[group("g0", r#"["ann"]"#), group("g1", r#"["bob"]"#)], 1_000);
}
