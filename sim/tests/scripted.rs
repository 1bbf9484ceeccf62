//! The deviations of a run as faults that a script asks for.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use thunderhead_sim::r2::BucketConfig;
use thunderhead_sim::{
    ClientRequest, Cloud, Deviation, Enumerate, Fault, FaultSet, Piece, Place, Response, Run,
    Scenario, ScriptedFault, Source, Tape, Time, Timing, places, scripted, simulate,
};

fn mount(cloud: &mut Cloud) {
    cloud.bucket("notes", BucketConfig::default());
    cloud.worker("web").fetch(|env, request| async move {
        env.bucket("notes").put("first", request.body.clone()).execute().await?;
        env.bucket("notes").put("second", request.body).execute().await?;
        Ok(Response::new(201, ""))
    });
}

fn play(scenario: &Scenario, tape: Tape) -> Run {
    simulate(scenario, &Source::Tape(tape), &mount).unwrap()
}

#[test]
fn what_has_a_fault_of_its_own_is_the_same_run_as_a_script() {
    let scenario = Scenario {
        requests: vec![ClientRequest::new(Time::ZERO, "PUT", "/", "a").retried(1)],
        drawn_faults: FaultSet::explored(),
        timing: Timing::Order,
        ..Scenario::default()
    };
    let mut tapes = Enumerate::new(2);
    let mut same = 0;
    while let Some(tape) = tapes.next_tape() {
        let run = play(&scenario, tape.clone());
        let places = places(&scenario, &run);
        let exact = |place: &Place| matches!(&place.options[..], [Piece::Strike(_)]);
        if places.iter().all(exact) {
            let pieces: Vec<&Piece> = places.iter().map(|place| &place.options[0]).collect();
            let script = scripted(&scenario, &run, &pieces);
            let again = play(&script, Tape::benign());
            let (told, faults) = (tape.in_words(scenario.drawn_faults), &script.faults);
            assert_eq!(again.trace.to_string(), run.trace.to_string(), "{told:?}: {faults:?}");
            same += 1;
        }
        tapes.tell(&run);
    }
    assert!(same > 500, "only {same} of {} runs", tapes.visited());
}

#[test]
fn two_faults_that_are_alike_are_one_that_strikes_twice() {
    let scenario = Scenario {
        requests: vec![ClientRequest::new(Time::ZERO, "PUT", "/", "a").retried(1)],
        drawn_faults: FaultSet::explored(),
        ..Scenario::default()
    };
    let lines = ["fail on web → r2.put (1st)", "fail on web → r2.put (2nd)"];
    let line = |line| Deviation::from_words(line, scenario.drawn_faults).unwrap();
    let run = play(&scenario, Tape(lines.map(line).into()));
    let places = places(&scenario, &run);
    let pieces: Vec<&Piece> = places.iter().map(|place| &place.options[0]).collect();
    let script = scripted(&scenario, &run, &pieces);
    let twice = ScriptedFault { times: 2, ..ScriptedFault::once(Fault::Fail, "web>r2.put") };
    assert_eq!(script.faults, [twice]);
}

#[test]
fn a_message_that_travelled_longer_is_a_delay_of_that_call() {
    let scenario = Scenario {
        requests: vec![ClientRequest::new(Time::ZERO, "PUT", "/", "a")],
        drawn_faults: FaultSet::explored(),
        ..Scenario::default()
    };
    let line = "travels for 30ms at web → r2.put (1st)";
    let line = Deviation::from_words(line, scenario.drawn_faults).unwrap();
    let run = play(&scenario, Tape(vec![line]));
    let places = places(&scenario, &run);
    let script = scripted(&scenario, &run, &[&places[0].options[0]]);
    let by = Some(Duration::from_millis(30));
    let delay = ScriptedFault { by, ..ScriptedFault::once(Fault::Delay, "web>r2.put") };
    assert_eq!(script.faults, [delay]);
    let ends = |run: &Run| run.trace.events().last().unwrap().at;
    assert_eq!(ends(&play(&script, Tape::benign())), ends(&run));
}
