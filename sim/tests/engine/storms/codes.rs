//! What `code` means in a script, as the last table of `docs/platform.md` has it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::cell::Cell;

use thunderhead_sim::queue::{MessageBody, QueueConfig};
use thunderhead_sim::workflow::{CreateOptions, WorkflowConfig};
use thunderhead_sim::*;

use super::support::{log, raise};

fn fails(call: &str, code: u32) -> ScriptedFault {
    ScriptedFault { code: Some(code), ..ScriptedFault::once(Fault::Fail, call) }
}

/// What a client is told that asks each service once, of which one fails.
fn told(call: &str, code: u32) -> Vec<String> {
    let run = raise(vec![fails(call, code)], &|cloud| {
        cloud.bucket("photos", r2::BucketConfig::default());
        cloud.queue("jobs", QueueConfig::default());
        cloud.workflow("wf", WorkflowConfig::default(), |_, _, _| async { Ok(Body::empty()) });
        cloud.client("alice", |env| async move {
            let answers = [
                env.bucket("photos").put("cat", "meow").execute().await.map(drop),
                env.queue("jobs").send(MessageBody::text("job")).await.map(drop),
                env.ai_run(ai::RESNET_50, "a picture").await.map(drop),
                env.workflow("wf").create(CreateOptions::new("one", "{}")).await.map(drop),
            ];
            for error in answers.into_iter().filter_map(Result::err) {
                env.log(error.to_string());
            }
        });
    });
    log(&run)
}

#[test]
fn a_service_that_fails_answers_with_the_number_that_was_asked_for() {
    for (call, code) in
        [("r2.put", 10_001), ("queue.send", 10_251), ("ai.run", 3_007), ("workflow.create", 429)]
    {
        let told = told(call, code);
        assert_eq!(told.len(), 1, "{call}: {told:?}");
        assert!(told[0].contains(&code.to_string()), "{call}: {told:?}");
    }
}

#[test]
fn a_namespace_fails_with_500_or_503_and_its_writes_also_with_429() {
    let codes = |call: &str| OpCode::find(call).unwrap().failures();
    for call in ["kv.get", "kv.getBulk", "kv.list"] {
        assert_eq!(codes(call), [500, 503], "{call}");
    }
    for call in ["kv.put", "kv.delete"] {
        assert_eq!(codes(call), [429, 500, 503], "{call}");
    }
    let run = raise(vec![fails("kv.put", 429), fails("kv.get", 503)], &|cloud| {
        cloud.kv("settings");
        cloud.client("alice", |env| async move {
            let settings = env.kv("settings");
            env.log(settings.put("theme", "dark").await.unwrap_err().to_string());
            env.log(settings.get("theme").await.unwrap_err().to_string());
        });
    });
    let told = ["KV PUT failed: 429 Too Many Requests", "KV GET failed: 503 Service Unavailable"];
    assert_eq!(log(&run), told);
}

#[test]
fn a_database_that_fails_has_the_error_of_that_place_in_the_list() {
    let texts = [
        "Network connection lost.",
        "D1 DB reset because its code was updated.",
        "Internal error in D1 DB storage caused object to be reset.",
        "D1 DB storage operation exceeded timeout which caused object to be reset.",
        "D1 DB exceeded its memory limit and was reset.",
        "D1 DB exceeded its CPU time limit and was reset.",
        "D1 DB is overloaded. Requests queued for too long.",
        "D1 DB is overloaded. Too many requests queued.",
    ];
    for (code, text) in (1..).zip(texts) {
        let run = raise(vec![fails("d1.run", code)], &|cloud| {
            cloud.d1("db");
            cloud.client("alice", |env| async move {
                let failed = env.d1("db").prepare("create table cat(name text)").run().await;
                env.log(failed.unwrap_err().to_string());
            });
        });
        assert_eq!(log(&run), [format!("D1_ERROR: {text}")]);
    }
}

/// An object that counts its calls.
#[derive(Default)]
struct Desk(Cell<u32>);

impl DurableObject for Desk {
    fn new(_ctx: ObjectState, _env: Env) -> Desk {
        Desk::default()
    }

    async fn rpc(&self, _method: &str, _args: Body) -> Result<Body, Error> {
        self.0.set(self.0.get() + 1);
        Ok(Body::from(self.0.get().to_string()))
    }
}

#[test]
fn an_overloaded_object_says_which_of_four_limits_it_is_and_is_not_to_be_asked_again() {
    let texts = [
        "Too many requests queued.",
        "Too much data queued.",
        "Requests queued for too long.",
        "Too many requests for the same object within a 10 second window.",
    ];
    for (code, text) in (1..).zip(texts) {
        let run = raise(vec![fails("object.rpc", code), fails("object.connect", code)], &|cloud| {
            cloud.durable_object::<Desk>("DESK");
            cloud.client("alice", |env| async move {
                let desk = env.durable_object("DESK").get_by_name("one");
                for refused in [desk.rpc("ask", "").await.err(), desk.connect().await.err()] {
                    match refused {
                        Some(Error::Object(error)) if error.overloaded && !error.retryable => {
                            env.log(error.to_string());
                        }
                        other => panic!("{other:?}"),
                    }
                }
                env.log(desk.rpc("ask", "").await.unwrap().text().unwrap());
            });
        });
        let refused = format!("Durable Object is overloaded. {text}");
        assert_eq!(log(&run), [refused.as_str(), &refused, "1"]);
    }
}
