//! What surprised us about the runtime, and that storms come to it by what they draw: no fault is asked for by name.
//! `docs/platform.md` has the list.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod objects;

use std::time::Duration;

use thunderhead_sim::queue::{ConsumerConfig, MessageBody, QueueConfig};
use thunderhead_sim::r2::BucketConfig;
use thunderhead_sim::workflow::{Backoff, CreateOptions, StepConfig, WorkflowConfig};
use thunderhead_sim::*;

use super::support::log;

/// How many storms there are at most, until something has been seen in one of them and not in another.
const SEEDS: u64 = 500;
const SECOND: Duration = Duration::from_secs(1);

/// Plays storms over a cloud until something was seen in one of them, and was not in another.
fn sometimes(mount: &dyn Fn(&mut Cloud), seen: impl Fn(&Run) -> bool) {
    let drawn_faults = FaultSet::explored();
    let scenario = Scenario { drawn_faults, ..Scenario::default() };
    let mut found = [false; 2];
    for seed in 0..SEEDS {
        let source = Source::Random { seed, swarm: Swarm::of_seed(seed, drawn_faults) };
        let run = simulate(&scenario, &source, mount).unwrap();
        assert_ne!(run.end, End::Panic, "{}", run.trace);
        found[usize::from(seen(&run))] = true;
        if found == [true; 2] {
            return;
        }
    }
    panic!("of {SEEDS} storms, some did not show it and some did: {found:?}");
}

/// When these lines were said, in milliseconds, if they were said in this order, whatever was said between them.
fn times(run: &Run, lines: &[&str]) -> Option<Vec<u64>> {
    let mut said = run.trace.events().iter().filter_map(|event| match &event.kind {
        EventKind::Log { text } => Some((event.at.as_ms(), &**text)),
        _ => None,
    });
    lines.iter().map(|line| said.find(|(_, text)| text == line).map(|(at, _)| at)).collect()
}

fn in_order(run: &Run, lines: &[&str]) -> bool {
    times(run, lines).is_some()
}

/// Stores something, which takes as long and goes as wrong as the storm says.
async fn store(env: &Env) -> Result<(), Error> {
    env.bucket("shelf").put("a", "x").execute().await.map(drop)
}

/// Writes a key that was looked for twice, and says what is read after each write.
fn settings(cloud: &mut Cloud) {
    cloud.kv("settings");
    cloud.client("alice", |env| async move {
        let kv = env.kv("settings");
        let _ = kv.get("theme").await;
        for theme in ["light", "dark"] {
            if kv.put("theme", theme).await.is_err() {
                return;
            }
            for _ in 0..4 {
                env.sleep(SECOND).await;
                if let Ok(read) = kv.get("theme").await {
                    let read = read.as_ref().and_then(Body::text).unwrap_or("nothing");
                    env.log(format!("{read} after {theme}"));
                }
            }
        }
    });
}

#[test]
fn a_storm_reads_an_old_value_of_a_key_and_misses_a_new_one_that_was_looked_for() {
    for old in ["light after dark", "nothing after light"] {
        sometimes(&settings, |run| in_order(run, &[old]));
    }
}

/// A worker that answers at once, and leaves a timer of half a second and a write, of which only the write is kept.
fn leaves_work(cloud: &mut Cloud) {
    cloud.bucket("shelf", BucketConfig::default());
    cloud.worker("web").fetch(|env, _request| async move {
        let inner = env.clone();
        drop(env.spawn(async move {
            inner.sleep(SECOND / 2).await;
            inner.log("timer");
        }));
        let inner = env.clone();
        env.wait_until(async move { store(&inner).await });
        Ok(Response::new(200, ""))
    });
    cloud.client("caller", |env| async move {
        let answer = env.fetch("web", Request::new("GET", "/", "")).await;
        env.log(format!("got {}", answer.map_or(0, |answer| answer.status)));
    });
}

#[test]
fn a_storm_keeps_a_timer_alive_by_background_work_that_takes_long() {
    sometimes(&leaves_work, |run| in_order(run, &["timer"]));
}

#[test]
fn background_work_that_fails_in_a_storm_leaves_the_answer_as_it_is() {
    sometimes(&leaves_work, |run| {
        let failed = log(run).iter().any(|line| line.starts_with("waitUntil: "));
        failed && in_order(run, &["got 200"])
    });
}

/// Whether each delivery that its consumer has handled to the end went well.
fn deliveries(run: &Run) -> Vec<bool> {
    let ends = run.trace.events().iter().filter_map(|event| match event.kind {
        EventKind::End { call, outcome } => match run.trace.op(call) {
            Op::Deliver { .. } => Some(run.trace.outcome(outcome).is_ok()),
            _ => None,
        },
        _ => None,
    });
    ends.collect()
}

/// Sends one message.
async fn send(env: Env) {
    let _ = env.queue("jobs").send(MessageBody::text("job")).await;
}

#[test]
fn a_storm_fails_a_batch_by_its_background_work_and_delivers_it_again() {
    let mount = |cloud: &mut Cloud| {
        cloud.bucket("shelf", BucketConfig::default());
        cloud.queue("jobs", QueueConfig::default());
        let consumer = [("jobs", ConsumerConfig::default())];
        cloud.worker("worker").queue(&consumer, |env, _batch| async move {
            let inner = env.clone();
            env.wait_until(async move { store(&inner).await });
            Ok(())
        });
        cloud.client("alice", send);
    };
    sometimes(&mount, |run| deliveries(run).windows(2).any(|two| two == [false, true]));
}

#[test]
fn a_storm_delivers_a_message_again_that_was_acknowledged() {
    let mount = |cloud: &mut Cloud| {
        cloud.queue("jobs", QueueConfig::default());
        let consumer = [("jobs", ConsumerConfig::default())];
        cloud.worker("worker").queue(&consumer, |env, batch| async move {
            batch.messages().iter().for_each(Message::ack);
            env.log("acknowledged");
            Ok(())
        });
        cloud.client("alice", send);
    };
    sometimes(&mount, |run| {
        let twice =
            |event: &Event| matches!(event.kind, EventKind::Fault { fault: Fault::Duplicate, .. });
        // A message that was sent or delivered twice is another matter.
        in_order(run, &["acknowledged", "acknowledged"]) && !run.trace.events().iter().any(twice)
    });
}

async fn create(env: &Env) -> Result<WorkflowInstance, Error> {
    env.workflow("flow").create(CreateOptions::new("one", "{}")).await
}

#[test]
fn a_storm_ignores_the_late_result_of_an_attempt_that_has_timed_out() {
    let mount = |cloud: &mut Cloud| {
        cloud.bucket("shelf", BucketConfig::default());
        cloud.workflow("flow", WorkflowConfig::default(), |env, _event, step| async move {
            let config = StepConfig::retries(3, SECOND, Backoff::Constant).timeout(2 * SECOND);
            let inner = env.clone();
            let attempts = step.do_attempts("slow", config, move |context| {
                let env = inner.clone();
                async move {
                    let _ = store(&env).await;
                    env.log(format!("attempt {} ends", context.attempt));
                    Ok(Body::from(context.attempt.to_string()))
                }
            });
            let result = attempts.await?;
            env.log(format!("the result is {}", result.text().unwrap_or_default()));
            Ok(result)
        });
        cloud.client("alice", |env| async move { drop(create(&env).await) });
    };
    sometimes(&mount, |run| in_order(run, &["the result is 2", "attempt 1 ends"]));
}

#[test]
fn a_storm_pauses_a_step_between_its_attempts_and_the_body_begins_again_with_the_next() {
    let mount = |cloud: &mut Cloud| {
        cloud.bucket("shelf", BucketConfig::default());
        cloud.workflow("flow", WorkflowConfig::default(), |env, _event, step| async move {
            env.log("run");
            let config = StepConfig::retries(5, 30 * SECOND, Backoff::Constant);
            step.do_attempts("store", config, move |context| {
                let env = env.clone();
                async move {
                    env.log(format!("attempt {}", context.attempt));
                    store(&env).await?;
                    Ok(Body::from("1"))
                }
            })
            .await
        });
        cloud.client("alice", |env| async move {
            let Ok(instance) = create(&env).await else { return };
            env.sleep(15 * SECOND).await;
            let _ = instance.pause().await;
            env.sleep(5 * SECOND).await;
            let _ = instance.resume().await;
        });
    };
    // A body that has crashed begins again too.
    sometimes(&mount, |run| {
        run.crashes == 0 && in_order(run, &["run", "attempt 1", "run", "attempt 2"])
    });
}

#[test]
fn the_second_of_two_waits_goes_on_in_a_storm_that_sends_the_event_twice() {
    let mount = |cloud: &mut Cloud| {
        cloud.workflow("flow", WorkflowConfig::default(), |env, _event, step| async move {
            let wait = |name: &'static str| {
                let (inner, step) = (env.clone(), step.clone());
                env.spawn(async move {
                    if step.wait_for_event(name, "go", Some(60 * SECOND)).await.is_ok() {
                        inner.log(name);
                    }
                })
            };
            let (first, second) = (wait("first"), wait("second"));
            first.await;
            second.await;
            Ok(Body::from("1"))
        });
        cloud.client("alice", |env| async move {
            let Ok(instance) = create(&env).await else { return };
            env.sleep(SECOND).await;
            for _ in 0..3 {
                if instance.send_event("go", "1").await.is_ok() {
                    return;
                }
            }
        });
    };
    sometimes(&mount, |run| {
        let sent = run.trace.effects().filter(|(_, op, outcome)| {
            matches!(op, Op::Workflow(workflow::Op::SendEvent { .. })) && outcome.is_ok()
        });
        let woken = [in_order(run, &["first"]), in_order(run, &["second"])];
        let count = woken.iter().filter(|woken| **woken).count();
        assert!(count <= sent.count(), "{}", run.trace);
        count == 2
    });
}
