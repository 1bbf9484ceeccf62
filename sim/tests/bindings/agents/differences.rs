//! Where the layer differs from the SDK, and what a replay repeats.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use serde_json::json;
use thunderhead_sim::agents::AgentWorkflow;
use thunderhead_sim::*;

use super::support::*;

#[test]
fn a_replay_repeats_broadcasts_and_calls_of_the_agent() {
    let speaking = |workflow: AgentWorkflow| async move {
        workflow.broadcast_to_clients(&json!("hello")).await?;
        workflow.agent().rpc("state", "").await?;
        workflow.step().sleep("linger", Duration::from_secs(10)).await?;
        Ok(Body::empty())
    };
    let crash = ScriptedFault::once(Fault::CrashBefore, "W/a>workflow.sleep");
    let run = play(Weather::rule(crash), speaking, |env| async move {
        listen(&env).await;
        say(&env, "run", "a").await;
    });
    let heard = log(&run).into_iter().filter(|line| line == r#""hello""#).count();
    let began = run.trace.events().iter().filter(|event| match event.kind {
        EventKind::Begin { call } => {
            matches!(run.trace.op(call), Op::Rpc { method, .. } if **method == *"state")
        }
        _ => false,
    });
    assert_eq!((heard, began.count()), (2, 2), "{}", run.trace);
}

#[test]
fn an_agent_without_a_name_starts_no_workflow() {
    let run = play(Weather::default(), complete, |env| async move {
        let boards = env.durable_object("BOARD");
        let refused = boards.get(boards.unique_id()).rpc("run", "a").await.unwrap_err();
        env.log(refused.to_string());
    });
    assert_eq!(log(&run), ["an object without a name hears nothing from its workflows"]);
    assert!(!run.trace.to_string().contains("workflow.create"), "{}", run.trace);
}

#[test]
fn parameters_that_are_no_object_are_refused_and_null_is_an_empty_one() {
    let show = |workflow: AgentWorkflow| async move {
        workflow.env().log(workflow.payload().to_string());
        Ok(Body::empty())
    };
    let run = play(Weather::default(), show, |env| async move {
        for params in ["7", r#""seven""#, "[7]", "null"] {
            say(&env, "run with", params).await;
        }
    });
    let refused = "run with: the parameters of a workflow must be a JSON object";
    assert_eq!(log(&run), [refused, refused, refused, "{}", "run with: a"]);
}

#[test]
fn an_agent_waits_between_its_tries_for_200_and_then_for_400_milliseconds() {
    let fail = ScriptedFault {
        times: 2,
        code: Some(10001),
        ..ScriptedFault::once(Fault::Fail, "BOARD:b>workflow.terminate")
    };
    let run = play(Weather::rule(fail), complete_when_told, |env| async move {
        say(&env, "run", "a").await;
        say(&env, "terminate", "a").await;
    });
    let tries = run.trace.events().iter().filter_map(|event| match event.kind {
        EventKind::Call { call } => match run.trace.op(call) {
            Op::Workflow(workflow::Op::Terminate { .. }) => Some(event.at.as_ms()),
            _ => None,
        },
        _ => None,
    });
    let tries: Vec<u64> = tries.collect();
    let pauses: Vec<u64> = tries.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // The answer takes a millisecond.
    assert_eq!(pauses, [201, 401], "{}", run.trace);
}

#[test]
fn a_row_that_cannot_be_read_is_an_error_with_the_message_of_sqlite() {
    let run = play(Weather::default(), complete, |env| async move {
        ask(&env, "sql", "drop table cf_agents_workflows").await;
        say(&env, "row", "a").await;
    });
    let message = "no such table: cf_agents_workflows: SQLITE_ERROR";
    assert_eq!(log(&run), [format!("row: SQL query failed: {message}")]);
}
