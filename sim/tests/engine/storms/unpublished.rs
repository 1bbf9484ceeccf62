//! What queues and workflows do on the engine where production publishes nothing: the refusals that
//! stand for limits which are not enforced, and the end of a body that is terminated.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use thunderhead_sim::queue::{ConsumerConfig, MessageBody, QueueConfig};
use thunderhead_sim::workflow::{CreateOptions, WorkflowConfig};
use thunderhead_sim::*;

use super::support::{log, raise};

fn fails(code: u32, on: &str) -> ScriptedFault {
    ScriptedFault { code: Some(code), ..ScriptedFault::once(Fault::Fail, on) }
}

#[test]
fn a_message_may_be_refused_because_the_queue_is_overloaded() {
    let run = raise(vec![fails(10_250, "queue.send")], &|cloud| {
        cloud.queue("jobs", QueueConfig::default());
        let consumer = [("jobs", ConsumerConfig::default())];
        cloud.worker("worker").queue(&consumer, |env, batch| async move {
            env.log(format!("{} delivered", batch.messages().len()));
            Ok(())
        });
        cloud.client("alice", |env| async move {
            for _ in 0..2 {
                if let Err(error) = env.queue("jobs").send(MessageBody::text("a")).await {
                    assert!(error.is_transient());
                    env.log(error.to_string());
                }
            }
        });
    });
    assert_eq!(log(&run), ["Queue is overloaded (10250)", "1 delivered"], "{}", run.trace);
}

#[test]
fn an_instance_may_be_refused_because_there_were_too_many_requests() {
    let run = raise(vec![fails(429, "workflow.create")], &|cloud| {
        cloud.workflow("job", WorkflowConfig::default(), |env, _event, _step| async move {
            env.log("the body runs");
            Ok(Body::from("1"))
        });
        cloud.client("alice", |env| async move {
            for _ in 0..2 {
                let options = CreateOptions::new("one", "{}");
                if let Err(error) = env.workflow("job").create(options).await {
                    assert!(error.is_transient());
                    env.log(error.to_string());
                }
            }
        });
    });
    assert_eq!(log(&run), ["Too many requests (429)", "the body runs"], "{}", run.trace);
}

#[test]
fn a_terminated_body_stops_where_it_stands() {
    let run = raise(vec![], &|cloud| {
        cloud.workflow("job", WorkflowConfig::default(), |env, _event, _step| async move {
            env.log("the body runs");
            env.sleep(Duration::from_secs(60)).await;
            env.log("the body goes on");
            Ok(Body::from("1"))
        });
        cloud.client("alice", |env| async move {
            let options = CreateOptions::new("one", "{}");
            let instance = env.workflow("job").create(options).await.unwrap();
            env.sleep(Duration::from_secs(1)).await;
            instance.terminate().await.unwrap();
            env.sleep(Duration::from_secs(120)).await;
            env.log(instance.status().await.unwrap().status.to_string());
        });
    });
    assert_eq!(log(&run), ["the body runs", "terminated"], "{}", run.trace);
}
