//! What the application does when its things are dropped: it may call into the world as it may elsewhere.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use thunderhead_sim::*;

/// Says goodbye, draws a number and begins a call when it is dropped.
struct Guard(Env);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.log("goodbye");
        self.0.random(2);
        drop(self.0.fetch("nobody", Request::new("GET", "/", "")));
    }
}

fn play(scenario: Scenario, mount: &dyn Fn(&mut Cloud)) -> Run {
    simulate(&scenario, &Source::Tape(Tape::benign()), mount).unwrap()
}

/// What happened after the workers had booted, by its first words.
fn story(run: &Run) -> Vec<String> {
    let words = ["log", "CRASH", "PANIC", "STUCK", "goodbye", "end", "evict"];
    let text = run.trace.to_string();
    let told = |line: &str| {
        let words: Vec<&str> = words.into_iter().filter(|word| line.contains(word)).collect();
        (!words.is_empty()).then(|| words.join(" "))
    };
    text.lines().filter_map(told).collect()
}

#[test]
fn a_future_that_has_ended() {
    let run = play(Scenario::default(), &|cloud| {
        cloud.client("client", |env| {
            let guard = Guard(env);
            poll_fn(move |_| {
                let _ = &guard;
                Poll::Ready(())
            })
        });
    });
    assert_eq!((run.end, story(&run)), (End::Quiet, vec!["log goodbye".into()]), "{}", run.trace);
}

#[test]
fn a_future_whose_host_dies() {
    let kill = Kill { at: Time::from_ms(500), host: "web".into(), down: None };
    let requests = vec![ClientRequest::new(Time::ZERO, "GET", "/", "")];
    let run = play(Scenario { kills: vec![kill], requests, ..Scenario::default() }, &|cloud| {
        cloud.worker("web").fetch(|env, _| async move {
            let _guard = Guard(env.clone());
            env.sleep(Duration::from_secs(1)).await;
            Ok(Response::new(200, ""))
        });
    });
    assert_eq!(story(&run), ["CRASH", "log goodbye"], "{}", run.trace);
}

#[test]
fn a_future_that_is_left_when_the_run_ends() {
    let run = play(Scenario::default(), &|cloud| {
        cloud.client("client", |env| async move {
            let _guard = Guard(env);
            pending().await
        });
    });
    assert_eq!((run.end, story(&run)), (End::Deadlock, vec!["STUCK".into()]), "{}", run.trace);
}

#[test]
fn a_future_that_panics_before_it_is_told() {
    let run = play(Scenario::default(), &|cloud| {
        cloud.client("client", |env| {
            let guard = Guard(env);
            poll_fn(move |_| -> Poll<()> {
                let _ = &guard;
                panic!("on purpose")
            })
        });
    });
    assert_eq!((run.end, story(&run)), (End::Panic, vec!["log goodbye".into(), "PANIC".into()]));
}

/// An object with something to say when it is forgotten.
struct Polite {
    _guard: Guard,
    ctx: ObjectState,
}

impl DurableObject for Polite {
    fn new(ctx: ObjectState, env: Env) -> Polite {
        Polite { _guard: Guard(env), ctx }
    }

    async fn rpc(&self, method: &str, _args: Body) -> Result<Body, Error> {
        if method == "reset" {
            self.ctx.abort(Some("as asked")).await;
        }
        Ok(Body::empty())
    }
}

#[test]
fn an_object_that_is_evicted_reset_killed_and_left_when_the_run_ends() {
    let rules = vec![ScriptedFault::once(Fault::Evict, "POLITE:one")];
    let kills = vec![Kill { at: Time::from_ms(30_000), host: "POLITE:one".into(), down: None }];
    let run = play(Scenario { faults: rules, kills, ..Scenario::default() }, &|cloud| {
        cloud.durable_object::<Polite>("POLITE");
        cloud.client("client", |env| async move {
            let object = env.durable_object("POLITE").get_by_name("one");
            object.rpc("hello", "").await.unwrap();
            env.sleep(Duration::from_secs(20)).await;
            object.rpc("hello", "").await.unwrap();
            object.rpc("reset", "").await.unwrap_err();
            let object = env.durable_object("POLITE").get_by_name("one");
            object.rpc("hello", "").await.unwrap();
            env.sleep(Duration::from_secs(20)).await;
            env.durable_object("POLITE").get_by_name("one").rpc("hello", "").await.unwrap();
        });
    });
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    let goodbyes = run.trace.to_string().matches("goodbye").count();
    assert_eq!(goodbyes, 3, "the last is after the history: {}", run.trace);
}

#[test]
fn a_handler_that_keeps_its_environment_is_dropped_with_the_run() {
    let kept: Rc<RefCell<Vec<Env>>> = Rc::default();
    let alive = Rc::downgrade(&kept);
    let kept = RefCell::new(Some(kept));
    let requests = vec![ClientRequest::new(Time::ZERO, "GET", "/", "")];
    let scenario = Scenario { requests, ..Scenario::default() };
    simulate(&scenario, &Source::Tape(Tape::benign()), &|cloud| {
        let kept = kept.take().unwrap();
        cloud.worker("web").fetch(move |env, _| {
            kept.borrow_mut().push(env);
            async { Ok(Response::new(200, "")) }
        });
    })
    .unwrap();
    assert!(alive.upgrade().is_none(), "the handler and the world keep each other alive");
}
