//! Commands in every run within bounds: two commands, two processors, and all the ways in which so many things
//! can go wrong.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use thunderhead::systems;
use thunderhead_props::{System, search};
use thunderhead_sim::{ClientRequest, Enumerate, FaultSet, Scenario, Source, Time, Timing};

fn commands() -> &'static System {
    systems::find("commands").expect("the commands are registered")
}

/// A group that checks out, when both processors are about to look for work.
fn group(name: &str, guests: &str) -> ClientRequest {
    let path = format!("/groups/{name}");
    ClientRequest::new(Time::from_ms(990), "POST", &path, format!("{{\"guests\":{guests}}}"))
        .retried(1)
}

/// Plays every run within bounds, which must all be as promised, and says how many there were.
fn enumerate(
    requests: &[ClientRequest],
    storm: Duration,
    faults: FaultSet,
    max_deviations: usize,
) -> u64 {
    let (requests, timing) = (requests.to_vec(), Timing::Order);
    let scenario = Scenario {
        requests,
        drawn_faults: faults,
        timing,
        storm_ends_at: Time::ZERO + storm,
        max_crashes: 2,
        ..Scenario::default()
    };
    let mut tapes = Enumerate::new(max_deviations);
    while let Some(tape) = tapes.next_tape() {
        let source = Source::Tape(tape.clone());
        let (run, broken) = search::check(commands(), "reference", &scenario, &source).unwrap();
        assert!(broken.is_empty(), "{broken:?}\n{tape:?}\n{}", run.trace);
        tapes.tell(&run);
    }
    tapes.visited()
}

/// Two deviations from the benign run, of all faults and of crashes alone, are as far as a test may take.
/// `ENUMERATE_DEVIATIONS=3` asks for more, which takes an hour.
fn survives(requests: &[ClientRequest], storm: Duration, at_least: u64) {
    let asked = std::env::var("ENUMERATE_DEVIATIONS").ok().and_then(|text| text.parse().ok());
    let max_deviations = asked.unwrap_or(2);
    for faults in [FaultSet::explored(), FaultSet::crashes()] {
        let runs = enumerate(requests, storm, faults, max_deviations);
        println!("{runs} runs with at most {max_deviations} deviations");
        assert!(runs > at_least, "only {runs} runs");
    }
}

/// The storm lasts until a lease that was lost has run out, and its command is claimed again.
#[test]
fn two_commands_of_one_workflow_survive_everything() {
    survives(&[group("g0", r#"["ann","bob"]"#)], Duration::from_secs(25), 3_000);
}

/// The storm lasts until everything has been tried once.
#[test]
fn two_commands_of_two_workflows_survive_everything() {
    let groups = [group("g0", r#"["ann"]"#), group("g1", r#"["bob"]"#)];
    survives(&groups, Duration::from_millis(1_200), 1_000);
}
