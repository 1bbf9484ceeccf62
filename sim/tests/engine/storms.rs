//! The faults of buckets, queues, databases and models that production has, each asked for by name
//! and seen in the trace. `docs/platform.md` numbers them and says where the others are shown.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod codes;
mod durable;
mod support;
mod surprises;
mod unpublished;

use std::time::Duration;

use support::{log, raise, raise_on};
use thunderhead_sim::queue::{ConsumerConfig, MessageBody, Options, QueueConfig};
use thunderhead_sim::r2::{BucketConfig, EventType, Notification, Rule as NotifyRule};
use thunderhead_sim::*;

/// A bucket whose consumer says of each event how it compares with what is stored now.
fn shelf(cloud: &mut Cloud, consumer: ConsumerConfig) {
    cloud.queue("events", QueueConfig::default());
    let rules = vec![NotifyRule::new("events", [EventType::ObjectCreate, EventType::ObjectDelete])];
    cloud.bucket("photos", BucketConfig { rules, ..BucketConfig::default() });
    cloud.worker("worker").queue(&[("events", consumer)], |env, batch| async move {
        for message in batch.messages() {
            let event = Notification::parse(&message.body().data).unwrap();
            let head = env.bucket("photos").head(&event.object.key).await?;
            let seen = match (&event.object.e_tag, &head) {
                (Some(told), Some(found)) if **told == *found.etag => "current",
                (Some(_), Some(_)) => "older than what is stored",
                (Some(_), None) => "object gone",
                (None, _) => "neither size nor etag",
            };
            env.log(format!("{}: {seen}", event.action.name()));
        }
        Ok(())
    });
}

fn at_once() -> ConsumerConfig {
    ConsumerConfig { max_batch_timeout: Duration::ZERO, ..ConsumerConfig::default() }
}

// F2
#[test]
fn a_delete_is_told_before_the_put_it_follows() {
    let mount = |cloud: &mut Cloud| {
        shelf(cloud, at_once());
        cloud.client("alice", |env| async move {
            env.bucket("photos").put("cat", "meow").execute().await.unwrap();
            env.bucket("photos").delete("cat").await.unwrap();
        });
    };
    let late = ScriptedFault {
        by: Some(Duration::from_secs(2)),
        ..ScriptedFault::once(Fault::Delay, "r2.notify")
    };
    let run = raise(vec![late], &mount);
    assert_eq!(log(&run), ["DeleteObject: neither size nor etag", "PutObject: object gone"]);
}

// F7
#[test]
fn an_event_tells_of_an_older_version_or_of_nothing_that_is_still_there() {
    let told = |deleted: bool| {
        let run = raise(vec![], &move |cloud| {
            shelf(cloud, ConsumerConfig::default());
            cloud.client("alice", move |env| async move {
                for photo in ["one", "two", "two"] {
                    env.bucket("photos").put("cat", photo).execute().await.unwrap();
                }
                if deleted {
                    env.bucket("photos").delete("cat").await.unwrap();
                }
            });
        });
        log(&run)
    };
    let (older, current) = ("PutObject: older than what is stored", "PutObject: current");
    assert_eq!(told(false), [older, current, current], "bytes stored again have the same etag");
    let gone = "PutObject: object gone";
    assert_eq!(told(true), [gone, gone, gone, "DeleteObject: neither size nor etag"]);
}

// F8
#[test]
fn a_second_write_of_a_key_is_refused_with_10058_and_may_be_tried_again() {
    let rule = ScriptedFault {
        skip: 1,
        code: Some(10_058),
        ..ScriptedFault::once(Fault::Fail, "r2.put photos/cat")
    };
    let run = raise(vec![rule], &|cloud| {
        shelf(cloud, at_once());
        cloud.client("alice", |env| async move {
            for photo in ["one", "two", "two"] {
                if let Err(error) = env.bucket("photos").put("cat", photo).execute().await {
                    assert!(error.is_transient());
                    env.log(error.to_string());
                }
                env.sleep(Duration::from_secs(1)).await;
            }
        });
    });
    assert_eq!(log(&run).len(), 3, "{}", run.trace);
    assert!(log(&run)[1].contains("(10058)"), "{}", run.trace);
}

/// Sends `a` and `b`; the consumer acknowledges `a` and fails.
fn acks_one_and_fails(options: Options, consumer: ConsumerConfig) -> Run {
    raise(vec![], &move |cloud| {
        cloud.queue("jobs", QueueConfig { options, ..QueueConfig::default() });
        let consumer = consumer.clone();
        cloud.worker("worker").queue(&[("jobs", consumer)], |env, batch| async move {
            for message in batch.messages() {
                let name = message.body().data.text().unwrap_or("").to_string();
                env.log(format!("got {name}"));
                if name.contains('a') {
                    message.ack();
                }
            }
            Err(Error::app("no"))
        });
        cloud.client("alice", |env| async move {
            for name in ["a", "b"] {
                env.queue("jobs").send(MessageBody::text(name)).await.unwrap();
            }
        });
    })
}

// F3
#[test]
fn a_handler_that_throws_keeps_its_acks_in_production_and_loses_them_in_the_emulator() {
    let consumer = ConsumerConfig { max_retries: 1, ..ConsumerConfig::default() };
    let run = acks_one_and_fails(Options::default(), consumer.clone());
    assert_eq!(log(&run), ["got a", "got b", "got b"], "{}", run.trace);
    let options = Options { miniflare_acks_lost_on_throw: true, ..Options::default() };
    let run = acks_one_and_fails(options, consumer);
    assert_eq!(log(&run), ["got a", "got b", "got a", "got b"], "{}", run.trace);
}

// F5
#[test]
fn a_message_whose_retries_are_used_up_is_dropped_or_moved_and_the_emulator_gives_up_earlier() {
    let deliveries = |consumer: ConsumerConfig| {
        let run = acks_one_and_fails(Options::default(), consumer);
        (log(&run).iter().filter(|line| *line == "got b").count(), run.trace.to_string())
    };
    let (times, trace) = deliveries(ConsumerConfig::default());
    assert!(times == 4 && trace.contains("dropped"), "{trace}");
    assert_eq!(deliveries(ConsumerConfig::miniflare()).0, 3);
    let dead_letter_queue = Some("dead".into());
    let (times, trace) = deliveries(ConsumerConfig { dead_letter_queue, ..Default::default() });
    assert!(times == 4 && trace.contains("dead"), "{trace}");
}

/// Inserts one row, then says how that went and how many rows there are.
fn insert(tape: Tape, rules: Vec<ScriptedFault>) -> Vec<String> {
    let run = raise_on(tape, rules, &|cloud| {
        cloud.d1("db");
        cloud.client("alice", |env| async move {
            let db = env.d1("db");
            db.exec("create table cat(name text)").await.unwrap();
            match db.prepare("insert into cat values ('Tom')").run().await {
                Ok(_) => env.log("inserted"),
                Err(error) => env.log(error.to_string()),
            }
            let rows = db.prepare("select * from cat").raw().await.unwrap();
            env.log(format!("{} rows", rows.len()));
        });
    });
    log(&run)
}

// F27
#[test]
fn a_database_may_lose_the_connection_with_the_write_applied_or_not_and_be_overloaded() {
    let said = insert(Tape::benign(), vec![ScriptedFault::once(Fault::LoseReply, "d1.run")]);
    assert_eq!(said, ["Network connection lost.", "1 rows"]);
    let said = insert(Tape::benign(), vec![ScriptedFault::once(Fault::LoseRequest, "d1.run")]);
    assert_eq!(said, ["Network connection lost.", "0 rows"]);
    let overloaded = Tape(vec!["amount alice>d1.run #1 = 7/8".parse().unwrap()]);
    let said = insert(overloaded, vec![ScriptedFault::once(Fault::Fail, "d1.run")]);
    assert!(said[0].contains("overloaded"), "{said:?}");
    assert_eq!(said[1], "0 rows");
    let which =
        |code| ScriptedFault { code: Some(code), ..ScriptedFault::once(Fault::Fail, "d1.run") };
    for (code, error) in (1..).zip(d1::TRANSIENT) {
        let said = insert(Tape::benign(), vec![which(code)]);
        assert_eq!(said, [&format!("D1_ERROR: {}", error.text()), "0 rows"]);
    }
}

#[test]
fn a_session_reads_from_a_replica_that_lags_and_never_goes_back() {
    let stale =
        |lag| ScriptedFault { code: Some(lag), ..ScriptedFault::once(Fault::StaleRead, "d1.raw") };
    let counts = |rules: Vec<ScriptedFault>| {
        let run = raise(rules, &|cloud| {
            cloud.d1("db");
            cloud.client("alice", |env| async move {
                let db = env.d1("db");
                db.exec("create table cat(name text)").await.unwrap();
                for _ in 0..3 {
                    db.prepare("insert into cat values ('Tom')").run().await.unwrap();
                }
                let session = db.with_session(d1::Constraint::FirstUnconstrained);
                for _ in 0..3 {
                    let rows = session.prepare("select * from cat").raw().await.unwrap();
                    env.log(rows.len().to_string());
                }
                // Outside of a session, the primary answers.
                let rows = db.prepare("select * from cat").raw().await.unwrap();
                env.log(rows.len().to_string());
            });
        });
        log(&run).join(" ")
    };
    assert_eq!(counts(vec![]), "3 3 3 3");
    assert_eq!(counts(vec![stale(2)]), "1 3 3 3");
    assert_eq!(counts(vec![stale(1), stale(2), stale(2)]), "2 2 2 3");
}

/// Asks about a picture until there is an answer.
fn ask(rules: Vec<ScriptedFault>) -> Vec<String> {
    let run = raise(rules, &|cloud| {
        cloud.client("alice", |env| async move {
            loop {
                match env.ai_run(ai::RESNET_50, "a picture").await {
                    Ok(labels) => return env.log(format!("{} labels", labels.len())),
                    Err(error) => env.log(error.to_string()),
                }
                env.sleep(Duration::from_secs(1)).await;
            }
        });
    });
    log(&run)
}

// F28
#[test]
fn a_model_is_out_of_capacity_for_a_while_times_out_and_answers_with_few_labels_or_none() {
    let burst =
        ScriptedFault { times: 3, code: Some(3040), ..ScriptedFault::once(Fault::Fail, "ai.run") };
    let said = ask(vec![burst]);
    assert_eq!((said.len(), said[3].as_str()), (4, "5 labels"));
    assert!(said[..3].iter().all(|line| line.starts_with("3040: ")), "{said:?}");
    let slow = ScriptedFault {
        by: Some(Duration::from_secs(60)),
        ..ScriptedFault::once(Fault::Delay, "ai.run")
    };
    assert_eq!(ask(vec![slow]), ["Network connection lost.", "5 labels"]);
    for left in [3, 0] {
        let few =
            ScriptedFault { code: Some(left), ..ScriptedFault::once(Fault::FewLabels, "ai.run") };
        assert_eq!(ask(vec![few]), [format!("{left} labels")]);
    }
}
