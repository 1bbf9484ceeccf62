//! Every run ends, whatever it is asked for.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use thunderhead_sim::*;

use crate::support::lines;

fn play(scenario: &Scenario, mount: &dyn Fn(&mut Cloud)) -> Result<Run, SetupError> {
    simulate(scenario, &Source::Tape(Tape::benign()), mount)
}

fn asked_at(at: Time) -> Scenario {
    let requests = vec![ClientRequest::new(at, "GET", "/", "")];
    Scenario { requests, ..Scenario::default() }
}

/// A worker whose every pause would end at once if the clock stood still at its last moment.
fn pausing(cloud: &mut Cloud) {
    cloud.worker("web").fetch(|env, _| async move {
        loop {
            env.sleep(Duration::MAX).await;
        }
    });
}

#[test]
fn a_pause_without_end_does_not_stop_the_clock() {
    let run = play(&asked_at(Time::ZERO), &pausing).unwrap();
    assert_eq!(run.end, End::Deadlock);
    let waits = "web STUCK handling #0 fetch web GET /, waits for 18446744073709551.615s";
    assert_eq!(lines(&run, "STUCK")[1], waits);
}

#[test]
fn what_would_come_after_the_last_moment_is_refused() {
    let late = Time::from_ms(u64::MAX - 5);
    let error = play(&asked_at(late), &pausing).unwrap_err().to_string();
    assert!(error.contains("a request is at 18446744073709551.610s"), "{error}");
    let storm = Scenario { storm_ends_at: late, ..asked_at(Time::ZERO) };
    let error = play(&storm, &pausing).unwrap_err().to_string();
    assert!(error.contains("the end of the storm"), "{error}");
}

#[test]
fn a_hundred_years_and_a_request_are_played_as_one_day() {
    let web = |cloud: &mut Cloud| {
        cloud.worker("web").fetch(|_, _| async { Ok(Response::new(204, "")) });
    };
    let run = play(&asked_at(Time::ZERO + limits::LONGEST), &web).unwrap();
    assert_eq!((run.end, run.trace.events().len()), (End::Quiet, 5));
}

#[test]
fn too_many_clients_are_refused_before_the_run() {
    let mut scenario = Scenario::default();
    for number in 0..70_000 {
        let mut sent = ClientRequest::new(Time::ZERO, "GET", "/", "");
        sent.from = format!("client {number}").into();
        scenario.requests.push(sent);
    }
    let error = play(&scenario, &|cloud| {
        cloud.worker("web").fetch(|_, _| async { Ok(Response::new(204, "")) });
    });
    let error = error.unwrap_err().to_string();
    assert!(error.contains("more than 20000 clients"), "{error}");
}

#[test]
fn a_run_that_makes_ever_more_hosts_is_cut_off_and_says_why() {
    let scenario = Scenario { max_steps: u32::MAX, ..asked_at(Time::ZERO) };
    let run = play(&scenario, &|cloud| {
        cloud.workflow("chain", workflow::WorkflowConfig::default(), |_, _, _| async {
            Ok("".into())
        });
        cloud.worker("web").fetch(|env, _| async move {
            for number in 0_u64.. {
                let options = workflow::CreateOptions::new(&format!("i{number}"), "{}");
                env.workflow("chain").create(options).await?;
            }
            Ok(Response::new(204, ""))
        });
    });
    let run = run.unwrap();
    assert_eq!(run.end, End::Livelock);
    assert_eq!(lines(&run, "log"), ["cloud log a run has at most 20000 hosts"]);
}

#[test]
fn a_run_that_writes_ever_larger_rows_is_cut_off_and_says_why() {
    let scenario = Scenario { max_steps: u32::MAX, ..asked_at(Time::ZERO) };
    let run = play(&scenario, &|cloud| {
        cloud.d1("db");
        cloud.worker("web").fetch(|env, _| async move {
            let db = env.d1("db");
            db.exec("create table t(list text); insert into t values ('')").await?;
            loop {
                let longer = "update t set list = list || hex(zeroblob(50000))";
                db.prepare(longer).run().await?;
            }
        });
    });
    let run = run.unwrap();
    assert_eq!(run.end, End::Livelock);
    assert_eq!(lines(&run, "log"), ["cloud log a run changes at most 33554432 bytes of rows"]);
}
