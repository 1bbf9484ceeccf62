//! The faults of workflows and durable objects that production has, each asked for by name and seen
//! in the trace, and proof that exploration meets every fault that it may draw.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use thunderhead_sim::queue::{ConsumerConfig, MessageBody, QueueConfig};
use thunderhead_sim::r2::{BucketConfig, EventType, Rule as NotifyRule};
use thunderhead_sim::workflow::{CreateOptions, WorkflowConfig};
use thunderhead_sim::*;

use super::support::{log, raise, raise_on};

/// A workflow that says when its body runs, charges in one step and ends.
fn charge(cloud: &mut Cloud, config: WorkflowConfig) {
    cloud.workflow("charge", config, |env, _event, step| async move {
        env.log("the body runs");
        step.do_("charge", move || {
            let env = env.clone();
            async move {
                env.log("charged");
                Ok(Body::from("1"))
            }
        })
        .await
    });
}

async fn create(env: &Env, id: &str) {
    if let Err(error) = env.workflow("charge").create(CreateOptions::new(id, "{}")).await {
        env.log(error.to_string());
    }
}

// F11
#[test]
fn create_says_exists_of_an_instance_that_get_does_not_find() {
    let rule = ScriptedFault {
        code: Some(0),
        ..ScriptedFault::once(Fault::FalseExists, "workflow.create")
    };
    let run = raise(vec![rule], &|cloud| {
        charge(cloud, WorkflowConfig::default());
        cloud.client("alice", |env| async move {
            create(&env, "one").await;
            match env.workflow("charge").get("one").await {
                Err(Error::Workflow(error)) if error.is_not_found() => env.log("not found"),
                other => panic!("{other:?}"),
            }
            create(&env, "one").await;
        });
    });
    let exists = "(instance.already_exists) Instance already exists";
    assert_eq!(log(&run), [exists, "not found", "the body runs", "charged"], "{}", run.trace);
}

// F13
#[test]
fn a_batch_of_instances_is_answered_without_those_that_exist() {
    let run = raise(vec![], &|cloud| {
        charge(cloud, WorkflowConfig::default());
        cloud.client("alice", |env| async move {
            create(&env, "a").await;
            let batch = ["a", "b", "c"].map(|id| CreateOptions::new(id, "{}"));
            let created = env.workflow("charge").create_batch(batch.into()).await.unwrap();
            env.log(format!("the first is {} of {}", created[0].id(), created.len()));
        });
    });
    assert!(log(&run).contains(&"the first is b of 2".to_string()), "{}", run.trace);
}

/// A consumer that creates the same instance for each delivery of one message, of which the first
/// is forgotten until its lease ends a quarter of an hour later.
fn delivered_late(config: WorkflowConfig) -> Vec<String> {
    let run = raise(vec![ScriptedFault::once(Fault::LoseReply, "queue.deliver")], &move |cloud| {
        charge(cloud, config.clone());
        cloud.queue("jobs", QueueConfig::default());
        let consumer = [("jobs", ConsumerConfig::default())];
        cloud.worker("worker").queue(&consumer, |env, _batch| async move {
            create(&env, "one").await;
            Ok(())
        });
        cloud.client("alice", |env| async move {
            env.queue("jobs").send(MessageBody::text("go")).await.unwrap();
        });
    });
    log(&run)
}

// F14
#[test]
fn a_message_that_comes_after_the_retention_of_its_instance_runs_it_again() {
    let kept = delivered_late(WorkflowConfig::default());
    assert_eq!((kept.len(), kept[1].as_str()), (3, "charged"), "{kept:?}");
    let retention = Duration::from_secs(600);
    let forgotten = delivered_late(WorkflowConfig { retention, ..WorkflowConfig::default() });
    assert_eq!(forgotten, ["the body runs", "charged", "the body runs", "charged"]);
}

fn charged_with(rule: ScriptedFault) -> Vec<String> {
    let run = raise(vec![rule], &|cloud| {
        charge(cloud, WorkflowConfig::default());
        cloud.client("alice", |env| async move { create(&env, "one").await });
    });
    log(&run)
}

// F15
#[test]
fn a_step_whose_result_was_not_stored_is_done_again() {
    let said = charged_with(ScriptedFault::once(Fault::CrashBefore, "workflow.finishStep"));
    assert_eq!(said, ["the body runs", "charged", "the body runs", "charged"]);
}

// F17
#[test]
fn what_is_outside_of_steps_happens_again_and_a_stored_step_does_not() {
    let said = charged_with(ScriptedFault::once(Fault::CrashAfter, "workflow.finishStep"));
    assert_eq!(said, ["the body runs", "charged", "the body runs"]);
}

// F18
#[test]
fn an_event_that_is_sent_again_reaches_a_later_wait_and_a_finished_instance_takes_none() {
    let run = raise(vec![ScriptedFault::once(Fault::LoseReply, "workflow.sendEvent")], &|cloud| {
        cloud.workflow("order", WorkflowConfig::default(), |env, _, step| async move {
            for wait in ["first", "second"] {
                let event = step.wait_for_event(wait, "paid", None).await?;
                env.log(format!("{wait} got {}", event.payload.text().unwrap_or("")));
            }
            Ok(Body::from("1"))
        });
        cloud.client("alice", |env| async move {
            let orders = env.workflow("order");
            let order = orders.create(CreateOptions::new("one", "{}")).await.unwrap();
            // The first is unanswered, the second finds its wait, the third finds nobody.
            for _ in 0..3 {
                if let Err(error) = order.send_event("paid", "7").await {
                    env.log(error.to_string());
                }
                env.sleep(Duration::from_secs(1)).await;
            }
        });
    });
    let said = log(&run);
    assert_eq!(said[..3], ["first got 7", "Network connection lost.", "second got 7"]);
    assert_eq!(said.len(), 4, "the third was refused\n{}", run.trace);
}

/// An object that writes in two turns, interleaves, and ticks.
struct Thing {
    ctx: ObjectState,
    env: Env,
}

impl Thing {
    fn number(&self, key: &str) -> u32 {
        let stored = self.ctx.storage().get(key).unwrap();
        stored.and_then(|body| body.text().and_then(|text| text.parse().ok())).unwrap_or(0)
    }
}

impl DurableObject for Thing {
    fn new(ctx: ObjectState, env: Env) -> Thing {
        Thing { ctx, env }
    }

    async fn rpc(&self, method: &str, _args: Body) -> Result<Body, Error> {
        let storage = self.ctx.storage();
        match method {
            "two turns" => {
                storage.put("first", "1")?;
                self.env.sleep(Duration::from_millis(5)).await;
                storage.put("second", "1")?;
            }
            "book" => {
                let read = self.number("booked");
                self.env.log(format!("read {read}"));
                create(&self.env, &format!("booking-{read}")).await;
                storage.put("booked", (read + 1).to_string())?;
            }
            "tick" => storage.set_alarm(self.env.now() + Duration::from_secs(1))?,
            "say" => self.ctx.broadcast("news"),
            _ => {
                let (first, second) = (self.number("first"), self.number("second"));
                return Ok(Body::from(format!("{first} {second}")));
            }
        }
        Ok(Body::empty())
    }

    async fn alarm(&self, info: AlarmInfo) -> Result<(), Error> {
        let ticks = self.number("ticks") + 1;
        self.env.log(format!("tick {ticks} at {} s", self.env.now().as_ms() / 1_000));
        self.ctx.storage().put("ticks", ticks.to_string())?;
        if ticks < 3 && !info.is_retry() {
            self.ctx.storage().set_alarm(self.env.now() + Duration::from_secs(1))?;
        }
        Ok(())
    }
}

fn loses_second_turn() -> ScriptedFault {
    ScriptedFault { skip: 1, code: Some(1), ..ScriptedFault::once(Fault::Crash, "THING:*") }
}

fn thing(env: &Env) -> Stub {
    env.durable_object("THING").get_by_name("one")
}

// F22
#[test]
fn an_object_that_dies_keeps_its_earlier_turns_loses_the_last_and_leaves_a_dead_stub() {
    let mount = |cloud: &mut Cloud| {
        cloud.durable_object::<Thing>("THING");
        cloud.client("alice", |env| async move {
            let stub = thing(&env);
            for method in ["two turns", "read"] {
                match stub.rpc(method, "").await {
                    Err(Error::Object(error)) if error.retryable => env.log(error.to_string()),
                    other => panic!("{method}: {other:?}"),
                }
            }
            let kept = thing(&env).rpc("read", "").await.unwrap();
            env.log(kept.text().unwrap());
        });
    };
    let tape = Tape(vec!["crash THING:one #2 = 2/3".parse().unwrap()]);
    let (drawn, asked) = (raise_on(tape, vec![], &mount), raise(vec![loses_second_turn()], &mount));
    let lost = "Network connection lost.";
    assert_eq!(log(&drawn), [lost, lost, "1 0"], "{}", drawn.trace);
    assert_eq!(drawn.trace, asked.trace);
}

#[test]
fn a_turn_that_writes_nothing_does_not_count_among_those_that_are_lost() {
    let run = raise(vec![loses_second_turn()], &|cloud| {
        cloud.durable_object::<Thing>("THING");
        cloud.client("alice", |env| async move {
            for _ in 0..3 {
                thing(&env).rpc("read", "").await.unwrap();
            }
            thing(&env).rpc("two turns", "").await.unwrap_err();
            let kept = thing(&env).rpc("read", "").await.unwrap();
            env.log(kept.text().unwrap());
        });
    });
    assert_eq!(log(&run), ["1 0"], "{}", run.trace);
}

// F23
#[test]
fn a_call_is_let_in_while_an_object_waits_for_a_workflow_to_be_created() {
    let run = raise(vec![], &|cloud| {
        charge(cloud, WorkflowConfig::default());
        cloud.durable_object::<Thing>("THING");
        for name in ["alice", "bob"] {
            cloud.client(name, |env| async move {
                thing(&env).rpc("book", "").await.unwrap();
            });
        }
    });
    assert_eq!(log(&run)[..2], ["read 0", "read 0"], "{}", run.trace);
    let exists = "(instance.already_exists) Instance already exists";
    assert!(log(&run).iter().any(|line| line == exists), "{}", run.trace);
}

fn ticking(tape: Tape, rules: Vec<ScriptedFault>) -> Run {
    raise_on(tape, rules, &|cloud| {
        cloud.durable_object::<Thing>("THING");
        cloud.client("alice", |env| async move {
            thing(&env).rpc("tick", "").await.unwrap();
        });
    })
}

fn ticks(run: &Run) -> usize {
    log(run).len()
}

// F24
#[test]
fn an_alarm_whose_end_nobody_heard_of_runs_again_and_one_that_fails_seven_times_is_dropped() {
    assert_eq!(ticks(&ticking(Tape::benign(), vec![])), 3);
    let last = ScriptedFault { skip: 2, ..ScriptedFault::once(Fault::LoseReply, "object.alarm") };
    let run = ticking(Tape::benign(), vec![last]);
    assert_eq!(ticks(&run), 4, "{}", run.trace);
    let dies =
        ScriptedFault { times: 7, ..ScriptedFault::once(Fault::CrashBefore, "object.alarm") };
    let run = ticking(Tape::benign(), vec![dies]);
    assert_eq!(ticks(&run), 0, "{}", run.trace);
    assert!(run.trace.events().iter().any(|event| event.kind == EventKind::AlarmDropped));
}

// F25
#[test]
fn an_alarm_comes_late_or_never() {
    let late = ScriptedFault {
        by: Some(Duration::from_secs(600)),
        ..ScriptedFault::once(Fault::Delay, "object.alarm")
    };
    let run = ticking(Tape::benign(), vec![late]);
    assert_eq!(log(&run)[0], "tick 1 at 601 s", "{}", run.trace);
    let lost =
        ScriptedFault { times: 7, ..ScriptedFault::once(Fault::LoseRequest, "object.alarm") };
    assert_eq!(ticks(&ticking(Tape::benign(), vec![lost])), 0);
}

// What is left of F26: the alarm that was set in the lost turn is lost. The one that was running is retried.
#[test]
fn an_alarm_that_is_set_again_in_a_turn_that_is_lost_never_fires_and_the_running_one_is_retried() {
    let tape = Tape(vec!["crash THING:one #2 = 2/3".parse().unwrap()]);
    let rule = loses_second_turn();
    for run in [ticking(tape, vec![]), ticking(Tape::benign(), vec![rule])] {
        assert_eq!(log(&run), ["tick 1 at 1 s", "tick 1 at 3 s"], "{}", run.trace);
        assert!(run.trace.to_string().contains("CRASH"), "{}", run.trace);
    }
}

/// Everything that there is, a little of each.
fn everything(cloud: &mut Cloud) {
    charge(cloud, WorkflowConfig::default());
    cloud.durable_object::<Thing>("THING");
    cloud.d1("db");
    outside::Provider::mount(cloud, "provider");
    cloud.queue("events", QueueConfig::default());
    let rules = vec![NotifyRule::new("events", [EventType::ObjectCreate])];
    cloud.bucket("photos", BucketConfig { rules, ..BucketConfig::default() });
    let consumer = [("events", ConsumerConfig::default())];
    cloud.worker("worker").queue(&consumer, |env, _batch| async move {
        create(&env, "one").await;
        env.ai_run(ai::RESNET_50, "a picture").await.map(|_| ())
    });
    cloud.client("listener", |env| async move {
        if let Ok(socket) = thing(&env).connect().await {
            socket.send("hello");
            while socket.recv().await.is_some() {}
        }
    });
    // What fails is the storm's business: each line is there to be struck.
    cloud.client("alice", |env| async move {
        let _ = env.fetch("provider", Request::new("POST", "/jobs", "{}")).await;
        let _ = env.d1("db").exec("create table if not exists cat(name text)").await;
        let session = env.d1("db").with_session(d1::Constraint::FirstUnconstrained);
        let _ = session.prepare("select * from cat").raw().await;
        for photo in ["one", "two", "three"] {
            let _ = env.bucket("photos").put(photo, photo).execute().await;
        }
        for method in ["tick", "say", "two turns"] {
            let _ = thing(&env).rpc(method, "").await;
            env.sleep(Duration::from_secs(15)).await;
        }
    });
}

#[test]
fn every_explored_fault_is_drawn_within_three_hundred_seeds_of_a_cloud_that_has_everything() {
    let faults = FaultSet::explored();
    let scenario = Scenario { drawn_faults: faults, ..Scenario::default() };
    let mut unseen: Vec<Fault> = faults.iter().collect();
    for seed in 0..300 {
        let source = Source::Random { seed, swarm: Swarm::of_seed(seed, faults) };
        let run = simulate(&scenario, &source, &everything).unwrap();
        assert_eq!(run.end, End::Quiet, "{}", run.trace);
        let moody = run.draws.iter().any(|draw| draw.kind == ChoiceKind::Mood && draw.value > 0);
        unseen.retain(|seen| {
            let struck = run.trace.events().iter().any(|event| match &event.kind {
                EventKind::Fault { fault, .. } | EventKind::Crash { fault, .. } => fault == seen,
                _ => false,
            });
            !(struck || (moody && *seen == Fault::Mood))
        });
    }
    assert_eq!(unseen, []);
}
