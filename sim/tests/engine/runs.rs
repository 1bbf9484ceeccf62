//! How runs end, what the calm heals, what a tape replays.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use thunderhead_sim::*;

use crate::support::{count, lines, mount, play, uploads};

pub fn benign(mount: &dyn Fn(&mut Cloud)) -> Run {
    let requests = vec![ClientRequest::new(Time::ZERO, "GET", "/", "")];
    let scenario = Scenario { requests, max_steps: 2_000, ..Scenario::default() };
    simulate(&scenario, &Source::Tape(Tape::benign()), mount).unwrap()
}

#[test]
fn a_deadlock_names_who_waits_for_what() {
    let run = benign(&|cloud| {
        cloud.worker("web").fetch(|env, _| async move {
            env.fetch("back", Request::new("GET", "/job", "")).await
        });
        cloud.worker("back").fetch(|_, _| std::future::pending());
    });
    assert_eq!(run.end, End::Deadlock);
    let stuck = lines(&run, "STUCK");
    assert_eq!(stuck.len(), 3, "{}", run.trace);
    assert_eq!(
        stuck[1],
        "web STUCK handling #0 fetch web GET /, waits for the reply to #1 fetch back GET /job"
    );
    assert!(stuck[2].contains("a channel or a lock that nobody will wake"), "{}", stuck[2]);
}

#[test]
fn a_livelock_ends_at_the_step_limit_and_names_the_busiest() {
    let run = benign(&|cloud| {
        cloud.bucket("shelf", r2::BucketConfig::default());
        cloud.worker("web").fetch(|env, _| async move {
            loop {
                env.bucket("shelf").head("k").await?;
            }
        });
    });
    assert_eq!(run.end, End::Livelock);
    assert_eq!(lines(&run, "LOOPS"), ["web LOOPS still busy after 2000 steps"]);
}

#[test]
fn a_panic_is_part_of_the_history() {
    let run = benign(&|cloud| {
        cloud.worker("web").fetch(|_, _| async { panic!("no photo of {}", "that name") });
    });
    assert_eq!(run.end, End::Panic);
    assert_eq!(lines(&run, "PANIC"), ["web PANIC no photo of that name"]);
}

#[test]
fn after_the_calm_nothing_is_drawn_and_everybody_is_up() {
    let faults = FaultSet::explored();
    let storm_ends_at = Time::from_ms(1_000);
    let requests = uploads(&[0, 500, 990, 2_000, 3_000]);
    let scenario = Scenario {
        requests,
        drawn_faults: faults,
        storm_ends_at,
        max_crashes: 9,
        ..Scenario::default()
    };
    let mut crashed = 0;
    for seed in 0..200 {
        let swarm = Swarm::calm().with(Fault::Crash, 200).with(Fault::Fail, 200);
        let run = simulate(&scenario, &Source::Random { seed, swarm }, &mount).unwrap();
        let text = run.trace.to_string();
        let (before, after) = text.split_once("the storm is over").expect("the calm comes");
        crashed += before.matches("CRASH").count();
        assert_eq!(after.matches("FAULT").count() + after.matches("CRASH").count(), 0, "{text}");
        let (downs, ups) = (text.matches("CRASH").count(), text.matches("boot").count());
        assert_eq!(downs, ups, "who died is back\n{text}");
    }
    assert!(crashed > 50, "there was a storm to recover from");
}

#[test]
fn a_tape_replays_a_random_run_to_the_byte() {
    let faults = FaultSet::explored();
    for (seed, timing) in (0..100).zip([Timing::Latency, Timing::Order].into_iter().cycle()) {
        let requests = uploads(&[0, 3, 1_000]);
        let scenario = Scenario { requests, drawn_faults: faults, timing, ..Scenario::default() };
        let swarm = Swarm::of_seed(seed, faults);
        let source = match timing {
            Timing::Latency => Source::Random { seed, swarm },
            Timing::Order => Source::Pct { seed, swarm, depth: 3 },
        };
        let run = simulate(&scenario, &source, &mount).unwrap();
        let again = simulate(&scenario, &Source::Tape(run.tape()), &mount).unwrap();
        assert_eq!(again.trace.to_string(), run.trace.to_string(), "seed {seed}");
        assert_eq!(again.trace.hash(), run.trace.hash());
        assert_eq!(again.draws, run.draws);
    }
}

#[test]
fn json_lines_carry_the_same_content_as_the_text() {
    let faults = FaultSet::explored();
    let scenario =
        Scenario { requests: uploads(&[0, 3, 1_000]), drawn_faults: faults, ..Scenario::default() };
    for seed in 0..50 {
        let source = Source::Random { seed, swarm: Swarm::of_seed(seed, faults) };
        let run = simulate(&scenario, &source, &mount).unwrap();
        let read = Trace::from_jsonl(&run.trace.to_jsonl()).unwrap();
        assert_eq!(read.to_string(), run.trace.to_string());
        assert_eq!(read.to_jsonl(), run.trace.to_jsonl());
        let carried = |trace: &Trace| -> Vec<_> {
            let both = trace.events().iter().map(|event| trace.carried(event));
            both.map(|(op, outcome)| (op.cloned(), outcome.cloned())).collect()
        };
        assert_eq!(carried(&read), carried(&run.trace));
    }
}

#[test]
fn a_line_that_is_not_an_event_is_refused_with_what_it_lacks() {
    let refused = |text: &str| Trace::from_jsonl(text).unwrap_err().to_string();
    assert!(refused("{}\n").starts_with("line 1: not a trace event"));
    let call = r#"{"at":0,"n":1,"actor":"web","kind":"call","call":0}"#;
    assert!(refused(call).contains("it has no `op`"), "{}", refused(call));
    let end = r#"{"at":0,"n":1,"actor":"web","kind":"end","call":0}"#;
    assert!(refused(end).contains("it has no `outcome`"), "{}", refused(end));
    let far = r#"{"at":0,"n":1,"actor":"web","kind":"begin","call":4000000000}"#;
    assert!(refused(far).contains("it has no `call before it`"), "{}", refused(far));
}

#[test]
fn the_crash_budget_is_kept() {
    let faults = FaultSet::crashes();
    for max_crashes in 0..3 {
        let requests = uploads(&[0, 3, 1_000]);
        let scenario =
            Scenario { requests, drawn_faults: faults, max_crashes, ..Scenario::default() };
        for seed in 0..50 {
            let swarm = FaultSet::crashes().iter().fold(Swarm::calm(), |s, f| s.with(f, 300));
            let run = simulate(&scenario, &Source::Random { seed, swarm }, &mount).unwrap();
            assert!(run.crashes <= max_crashes, "{}", run.trace);
        }
    }
}

#[test]
fn a_scenario_that_does_not_fit_its_cloud_is_refused() {
    let play = |scenario: Scenario| {
        let source = Source::Tape(Tape::benign());
        simulate(&scenario, &source, &mount).unwrap_err().to_string()
    };
    let mut requests = uploads(&[0]);
    requests[0].to = Some("webb".into());
    assert_eq!(
        play(Scenario { requests, ..Scenario::default() }),
        "no worker called `webb` serves requests"
    );
    let kills = vec![Kill { at: Time::ZERO, host: "client".into(), down: None }];
    assert_eq!(
        play(Scenario { kills, ..Scenario::default() }),
        "there is no worker `client` to kill"
    );
}

#[test]
fn spawned_work_timeouts_and_channels_run_on_the_same_engine() {
    let run = benign(&|cloud| {
        cloud.worker("web").fetch(|env, _| async move {
            let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
            let inner = env.clone();
            let joined = env.spawn(async move {
                inner.sleep(Duration::from_secs(3)).await;
                sender.send("three seconds later").await.expect("the receiver waits");
                7
            });
            let received = receiver.recv().await.expect("a value is sent");
            let never = env.timeout(Duration::from_secs(1), std::future::pending::<()>()).await;
            env.log(format!("{received} {} {never:?}", joined.await));
            Ok(Response::new(200, ""))
        });
    });
    assert_eq!(lines(&run, "log"), ["web log three seconds later 7 None"]);
    assert!(run.trace.to_string().contains("4.001s"), "{}", run.trace);
}

/// Polls its future only when that has asked for it, as combinators over many futures do.
struct Part<F> {
    future: Pin<Box<F>>,
    asked: Arc<Asked>,
}

#[derive(Default)]
struct Asked {
    again: AtomicBool,
    parent: Mutex<Option<Waker>>,
}

impl Wake for Asked {
    fn wake(self: Arc<Self>) {
        self.again.store(true, Ordering::Relaxed);
        self.parent.lock().unwrap().iter().for_each(Waker::wake_by_ref);
    }
}

impl<F: Future> Future for Part<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        *self.asked.parent.lock().unwrap() = Some(cx.waker().clone());
        if !self.asked.again.swap(false, Ordering::Relaxed) {
            return Poll::Pending;
        }
        let waker = Waker::from(self.asked.clone());
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }
}

fn part<F: Future>(future: F) -> Part<F> {
    let asked = Arc::new(Asked { again: AtomicBool::new(true), ..Asked::default() });
    Part { future: Box::pin(future), asked }
}

#[test]
fn a_part_of_a_task_that_is_polled_with_its_own_waker_is_woken() {
    let run = benign(&|cloud| {
        cloud.worker("web").fetch(|env, _| async move {
            part(env.sleep(Duration::from_secs(3))).await;
            let asked = part(env.fetch("echo", Request::new("GET", "/", "hello"))).await?;
            env.log(format!("{asked}"));
            Ok(asked)
        });
        cloud
            .worker("echo")
            .fetch(|_, request| async move { Ok(Response::new(200, request.body)) });
    });
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    assert_eq!(lines(&run, "log"), [r#"web log 200 "hello""#]);
}

#[test]
fn a_time_limit_that_was_not_reached_leaves_nothing_behind() {
    let run = benign(&|cloud| {
        cloud.worker("web").fetch(|env, _| async move {
            let soon = env.sleep(Duration::from_secs(1));
            env.timeout(Duration::from_secs(500), soon).await;
            Ok(Response::new(200, ""))
        });
    });
    let last = run.trace.events().last().unwrap();
    assert!(last.at < Time::from_ms(500_000) && run.steps < 20, "{} {}", run.steps, run.trace);
}

#[test]
fn a_waker_that_outlives_its_task_wakes_no_other() {
    let run = benign(&|cloud| {
        cloud.machine("web").fetch(|env, _| async move {
            let kept = env.spawn(std::future::poll_fn(|cx| Poll::Ready(cx.waker().clone()))).await;
            let inner = env.clone();
            env.spawn(async move {
                let mut sleep = std::pin::pin!(inner.sleep(Duration::from_secs(1)));
                std::future::poll_fn(|cx| {
                    inner.log("polled");
                    sleep.as_mut().poll(cx)
                })
                .await;
            });
            env.sleep(Duration::from_millis(10)).await;
            kept.wake();
            env.sleep(Duration::from_millis(10)).await;
            env.log("looked");
            Ok(Response::new(200, ""))
        });
    });
    let polled = lines(&run, "log");
    assert_eq!(polled, ["web log polled", "web log looked", "web log polled"], "{}", run.trace);
}

#[test]
fn a_client_tries_again_as_often_as_it_says() {
    let requests = vec![ClientRequest::new(Time::ZERO, "PUT", "/a", "x").retried(2)];
    let rules = vec![ScriptedFault { times: 2, ..ScriptedFault::once(Fault::Fail, "r2.put") }];
    let run = play(requests, rules);
    assert_eq!(count(&run, "client  call"), 3, "{}", run.trace);
    assert_eq!(lines(&run, "client  return").last().unwrap(), "client return #4 201");
}
