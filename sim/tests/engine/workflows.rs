//! Workflow bodies on the engine: replay, retries, timeouts, events, and crashes at every point.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use thunderhead_sim::workflow::{Backoff, CreateOptions, Status, StepConfig, WorkflowConfig};
use thunderhead_sim::*;

fn play(scenario: &Scenario, tape: Tape, mount: &dyn Fn(&mut Cloud)) -> Run {
    simulate(scenario, &Source::Tape(tape), mount).unwrap()
}

fn log(run: &Run) -> Vec<String> {
    let events = run.trace.events().iter();
    let said = events.filter_map(|event| match &event.kind {
        EventKind::Log { text } => Some(text.to_string()),
        _ => None,
    });
    said.collect()
}

/// Creates `once`, waits until it has ended, and says how.
async fn follow(env: Env, id: &str) {
    let workflow = env.workflow("steps");
    let instance = match workflow.create(CreateOptions::new(id, "{}")).await {
        Ok(instance) => instance,
        Err(error) => return env.log(format!("create: {error}")),
    };
    loop {
        env.sleep(Duration::from_secs(5)).await;
        let Ok(status) = instance.status().await else { continue };
        if status.status.is_final() {
            return env.log(format!("{} {:?}", status.status, status.output));
        }
    }
}

#[test]
fn an_instance_is_killed_at_a_time_by_its_name_and_one_that_is_not_there_is_not() {
    let at = |at_ms, host: &str| Kill { at: Time::from_ms(at_ms), host: host.into(), down: None };
    let killed = |kill: Kill| {
        let scenario = Scenario { kills: vec![kill], ..Scenario::default() };
        play(&scenario, Tape::benign(), &three_steps)
    };
    let run = killed(at(4, "steps/once"));
    assert!(run.trace.to_string().contains("steps/once  CRASH"), "{}", run.trace);
    assert_eq!(log(&run).iter().filter(|line| *line == "run").count(), 2, "{}", run.trace);
    let run = killed(at(0, "steps/once"));
    assert_eq!(log(&run).iter().filter(|line| *line == "run").count(), 1, "{}", run.trace);
    let run = killed(at(60_000, "steps/once"));
    assert!(!run.trace.to_string().contains("CRASH"), "it had ended\n{}", run.trace);
    let scenario = Scenario { kills: vec![at(0, "stairs/once")], ..Scenario::default() };
    let misfit = simulate(&scenario, &Source::Tape(Tape::benign()), &three_steps).unwrap_err();
    assert_eq!(misfit.to_string(), "there is no worker `stairs/once` to kill");
}

/// Three steps, each of which stores one object; the receipt proves how often it ran.
fn three_steps(cloud: &mut Cloud) {
    cloud.bucket("steps", r2::BucketConfig::default());
    cloud.workflow("steps", WorkflowConfig::default(), |env, _event, step| async move {
        env.log("run");
        for name in ["first", "second", "third"] {
            let inner = env.clone();
            step.do_(name, move || {
                let env = inner.clone();
                async move {
                    env.bucket("steps").put(name, "x").execute().await?;
                    Ok(Body::from("1"))
                }
            })
            .await?;
        }
        Ok(Body::from("3"))
    });
    cloud.client("alice", |env| async move { follow(env, "once").await });
}

#[test]
fn steps_run_in_order_and_the_result_is_kept() {
    let run = play(&Scenario::default(), Tape::benign(), &three_steps);
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    assert_eq!(log(&run), ["run", r#"complete Some("3")"#]);
}

/// Wherever the engine dies once or twice, the instance completes; a step that was remembered is
/// never done again, and one that was not is done at most once more per death.
#[test]
fn an_engine_that_dies_anywhere_replays_and_remembers() {
    let faults = FaultSet::crashes();
    let scenario = Scenario {
        drawn_faults: faults,
        timing: Timing::Order,
        max_crashes: 2,
        ..Scenario::default()
    };
    let mut tapes = Enumerate::new(2);
    let mut replayed = 0;
    while let Some(tape) = tapes.next_tape() {
        let run = play(&scenario, tape, &three_steps);
        let text = run.trace.to_string();
        assert_eq!(log(&run).last().map(String::as_str), Some(r#"complete Some("3")"#), "{text}");
        for name in ["first", "second", "third"] {
            let put = format!("r2.put steps/{name}");
            let puts = text.lines().filter(|l| l.contains("effect") && l.contains(&put)).count();
            assert!(
                (1..=1 + run.crashes as usize).contains(&puts),
                "{name} was done {puts} times\n{text}"
            );
        }
        replayed += usize::from(log(&run).iter().filter(|line| *line == "run").count() > 1);
        tapes.tell(&run);
    }
    assert!(tapes.visited() > 100, "{} runs", tapes.visited());
    assert!(replayed > 50, "{replayed} of {} runs had a replay", tapes.visited());
}

#[test]
fn a_step_is_tried_again_as_its_policy_says() {
    let tries = Rc::new(Cell::new(0));
    let counter = tries.clone();
    let run = play(&Scenario::default(), Tape::benign(), &move |cloud| {
        let counter = counter.clone();
        cloud.workflow("steps", WorkflowConfig::default(), move |env, _, step| {
            let counter = counter.clone();
            async move {
                let config = StepConfig::retries(2, Duration::from_secs(1), Backoff::Constant);
                step.do_with("flaky", config, move || {
                    counter.set(counter.get() + 1);
                    let (env, attempt) = (env.clone(), counter.get());
                    async move {
                        env.log(format!("attempt {attempt} at {}", env.now()));
                        Err(Error::app("no"))
                    }
                })
                .await
            }
        });
        cloud.client("alice", |env| async move { follow(env, "once").await });
    });
    assert_eq!(tries.get(), 3, "{}", run.trace);
    assert_eq!(log(&run).last().unwrap(), "errored None");
}

#[test]
fn a_timed_out_attempt_goes_on_beside_the_next() {
    let run = play(&Scenario::default(), Tape::benign(), &|cloud| {
        cloud.workflow("steps", WorkflowConfig::default(), |env, _, step| async move {
            let config = StepConfig::retries(1, Duration::from_secs(1), Backoff::Constant)
                .timeout(Duration::from_secs(2));
            let attempt = Rc::new(Cell::new(0));
            step.do_with("slow", config, move || {
                attempt.set(attempt.get() + 1);
                let (env, attempt) = (env.clone(), attempt.get());
                async move {
                    if attempt == 1 {
                        env.sleep(Duration::from_secs(10)).await;
                        env.log("the first attempt ends late");
                    }
                    Ok(Body::from(attempt.to_string()))
                }
            })
            .await
        });
        cloud.client("alice", |env| async move { follow(env, "once").await });
    });
    assert_eq!(
        log(&run),
        [r#"complete Some("2")"#, "the first attempt ends late"],
        "{}",
        run.trace
    );
}

#[test]
fn an_event_reaches_the_wait_before_and_after_it_is_sent() {
    let run = play(&Scenario::default(), Tape::benign(), &|cloud| {
        cloud.workflow("steps", WorkflowConfig::default(), |env, _, step| async move {
            step.sleep("nap", Duration::from_secs(3)).await?;
            let early = step.wait_for_event("one", "go", None).await?;
            let late = step.wait_for_event("two", "go", Some(Duration::from_secs(60))).await?;
            env.log(format!("{} {}", early.payload, late.payload));
            let never = step.wait_for_event("three", "go", Some(Duration::from_secs(5))).await;
            env.log(never.unwrap_err().to_string());
            Ok(Body::from("1"))
        });
        cloud.client("alice", |env| async move {
            let created = env.workflow("steps").create(CreateOptions::new("once", "{}")).await;
            let instance = created.unwrap();
            instance.send_event("go", "\"early\"").await.unwrap();
            env.sleep(Duration::from_secs(20)).await;
            instance.send_event("go", "\"late\"").await.unwrap();
            env.sleep(Duration::from_secs(20)).await;
            assert_eq!(instance.status().await.unwrap().status, Status::Complete);
        });
    });
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    assert_eq!(log(&run).len(), 2, "{}", run.trace);
    assert!(log(&run)[1].contains("timed out after 5000ms"), "{}", log(&run)[1]);
}

#[test]
fn a_second_create_of_one_id_is_refused_and_runs_nothing() {
    let run = play(&Scenario::default(), Tape::benign(), &|cloud| {
        three_steps(cloud);
        cloud.client("bob", |env| async move {
            env.sleep(Duration::from_secs(60)).await;
            follow(env, "once").await;
        });
    });
    assert_eq!(
        log(&run),
        [
            "run",
            r#"complete Some("3")"#,
            "create: (instance.already_exists) Instance already exists"
        ]
    );
}

#[test]
fn create_may_fail_though_the_instance_exists_and_say_exists_though_it_does_not() {
    let ended = |rule: ScriptedFault| {
        let scenario = Scenario { faults: vec![rule], ..Scenario::default() };
        let run = play(&scenario, Tape::benign(), &three_steps);
        (log(&run), run.trace.to_string().contains("r2.put steps/third"))
    };
    let (said, ran) = ended(ScriptedFault::once(Fault::LoseReply, "workflow.create"));
    assert_eq!((said[1].as_str(), ran), ("create: Network connection lost.", true));
    for (code, runs) in [(0, false), (1, true)] {
        let rule = ScriptedFault {
            code: Some(code),
            ..ScriptedFault::once(Fault::FalseExists, "workflow.create")
        };
        let (said, ran) = ended(rule);
        assert!(said.iter().any(|line| line.contains("instance.already_exists")), "{said:?}");
        assert_eq!(ran, runs, "{said:?}");
    }
}
