//! Agents and their workflows: what the row says, what is true, and the windows between the two.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod differences;
mod support;

use std::time::Duration;

use serde_json::{Value as Json, json};
use support::*;
use thunderhead_sim::agents::{self, AgentWorkflow};
use thunderhead_sim::*;

#[test]
fn a_tracked_workflow_has_the_columns_the_check_and_the_indexes_of_the_sdk() {
    let run = play(Weather::default(), complete_when_told, |env| async move {
        assert_eq!(ask(&env, "run", "a").await, "a");
        let columns = "id workflow_id workflow_name status metadata error_name error_message \
                       created_at updated_at completed_at";
        let row = ask(&env, "sql", "select * from cf_agents_workflows").await;
        assert!(row.starts_with(columns), "{row}");
        let check = "update cf_agents_workflows set status = 'done'";
        assert!(ask(&env, "sql", check).await.starts_with("CHECK constraint failed"));
        say(&env, "sql", "update cf_agents_workflows set status = 'unknown' where 0").await;
        let indexes = "select name from sqlite_master where name like 'idx%' order by name";
        say(&env, "sql", indexes).await;
        let info = ask(&env, "info", "a").await;
        let seconds = (EPOCH_MS + env.now().as_ms()) / 1000;
        for part in [
            r#"workflow_id: "a", workflow_name: "W", status: Queued"#,
            r#"metadata: Some(Object {"owner": String("alice")}), error: None"#,
            &format!("created_at: {seconds}, updated_at: {seconds}, completed_at: None"),
        ] {
            assert!(info.contains(part), "{info}");
        }
        let unnamed = ask(&env, "run", "").await;
        assert!(unnamed.starts_with("wf_") && unnamed.len() > 10, "{unnamed}");
    });
    let indexes = r#"name: [Text("idx_workflows_name")] [Text("idx_workflows_status")]"#;
    assert_eq!(log(&run)[..2], ["sql: : ", &format!("sql: {indexes}")]);
}

#[test]
fn the_workflow_is_told_who_started_it_and_its_own_code_is_not() {
    let show = |workflow: AgentWorkflow| async move {
        workflow.env().log(workflow.payload().to_string());
        Ok(Body::empty())
    };
    let run = play(Weather::default(), show, |env| async move {
        say(&env, "run", "a").await;
    });
    assert_eq!(log(&run), [r#"{"n":1}"#, "run: a"]);
    let sent = run.trace.effects().find_map(|(_, op, _)| match op {
        Op::Workflow(workflow::Op::Create { options, .. }) => options.params.clone(),
        _ => None,
    });
    let sent: Json = serde_json::from_slice(sent.unwrap().bytes()).unwrap();
    let names =
        json!({"n": 1, "__agentBinding": "BOARD", "__agentName": "b", "__workflowName": "W"});
    assert_eq!(sent, names);
}

#[test]
fn a_workflow_that_no_agent_has_started_is_refused() {
    let run = play(Weather::default(), complete, |env| async move {
        let options = workflow::CreateOptions::new("a", "{}");
        let instance = env.workflow("W").create(options).await.unwrap();
        seconds(&env, 1).await;
        env.log(instance.status().await.unwrap().error.unwrap().to_string());
    });
    assert!(log(&run)[0].contains("AgentWorkflow requires __agentName"), "{:?}", log(&run));
}

#[test]
fn the_instance_is_created_first_and_the_row_is_inserted_after_the_answer() {
    let run = play(Weather::default(), complete, |env| async move {
        say(&env, "run", "a").await;
    });
    let text = run.trace.to_string();
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("no {what} in {text}"));
    let created = text
        .match_indices("effect")
        .find(|(at, _)| text[*at..].lines().next().unwrap().contains("workflow.create W/a"));
    assert!(created.unwrap().0 < at("'queued'"), "{text}");
}

#[test]
fn an_unknown_workflow_is_refused_before_anything_is_created() {
    let run = play(Weather::default(), complete, |env| async move {
        say(&env, "run", "X/a").await;
    });
    assert_eq!(log(&run), ["run: Workflow binding 'X' not found in environment"]);
    assert!(!run.trace.to_string().contains("workflow.create"), "{}", run.trace);
}

#[test]
fn while_the_instance_is_retained_a_duplicate_gets_the_error_of_the_platform() {
    let run = play(Weather::default(), complete, |env| async move {
        say(&env, "run", "a").await;
        seconds(&env, 1).await;
        say(&env, "run", "a").await;
        say(&env, "row", "a").await;
    });
    let duplicate = format!("run: {ALREADY_EXISTS}");
    let hook = r#"hook a complete "done", row complete ended"#;
    assert_eq!(log(&run), ["run: a", hook, &duplicate, "row: complete ended"]);
}

#[test]
fn when_the_platform_accepts_the_id_again_the_sdk_refuses_though_a_new_instance_runs() {
    let run = play(Weather::default(), complete, |env| async move {
        say(&env, "run", "a").await;
        seconds(&env, 1).await;
        env.workflow("W").get("a").await.unwrap().delete().await.unwrap();
        say(&env, "run", "a").await;
        seconds(&env, 1).await;
        say(&env, "status", "a").await;
    });
    let hook = r#"hook a complete "done", row complete ended"#;
    let duplicate = r#"run: Workflow with ID "a" is already being tracked"#;
    assert_eq!(log(&run), ["run: a", hook, duplicate, hook, "status: complete"]);
}

#[test]
fn a_crash_between_create_and_insert_leaves_an_instance_that_nobody_can_steer() {
    let crash = ScriptedFault::once(Fault::CrashAfter, "BOARD:b>workflow.create");
    let run = play(Weather::rule(crash), complete_when_told, |env| async move {
        say(&env, "run", "a").await;
        say(&env, "row", "a").await;
        say(&env, "run", "a").await;
        for method in ["terminate", "pause", "resume", "restart"] {
            say(&env, method, "a").await;
        }
        say(&env, "status", "a").await;
        go(&env, "a").await;
        seconds(&env, 1).await;
        say(&env, "status", "a").await;
        say(&env, "row", "a").await;
    });
    let untracked = "Workflow a not found in tracking table";
    let expected = [
        "run: Network connection lost.".to_string(),
        "row: no row".into(),
        format!("run: {ALREADY_EXISTS}"),
        format!("terminate: {untracked}"),
        format!("pause: {untracked}"),
        format!("resume: {untracked}"),
        format!("restart: {untracked}"),
        "status: running".into(),
        r#"hook a complete "done", row no row"#.into(),
        "status: complete".into(),
        "row: no row".into(),
    ];
    assert_eq!(log(&run), expected);
}

#[test]
fn a_callback_that_overtakes_the_insert_leaves_the_row_queued_for_good() {
    let slow_answer = Weather::tape(&["latency BOARD:b>workflow.create #2 = 5/6"]);
    for weather in [slow_answer, late_reply("BOARD:b>workflow.create")] {
        let run = play(weather, complete, |env| async move {
            say(&env, "run", "a").await;
            seconds(&env, 3600).await;
            let instance = env.workflow("W").get("a").await.unwrap();
            env.log(instance.status().await.unwrap().status.to_string());
            say(&env, "row", "a").await;
        });
        let hook = r#"hook a complete "done", row no row"#;
        assert_eq!(log(&run), [hook, "run: a", "complete", "row: queued"]);
    }
}

#[test]
fn a_status_that_comes_late_undoes_a_row_that_had_ended() {
    let slow_answer = Weather::tape(&["latency BOARD:b>workflow.status #2 = 5/6"]);
    for weather in [slow_answer, late_reply("BOARD:b>workflow.status")] {
        let run = play(weather, complete_when_told, |env| async move {
            say(&env, "run", "a").await;
            seconds(&env, 1).await;
            let asked = env.spawn({
                let env = env.clone();
                async move { say(&env, "status", "a").await }
            });
            env.sleep(Duration::from_millis(10)).await;
            go(&env, "a").await;
            asked.await;
            seconds(&env, 3600).await;
            say(&env, "row", "a").await;
            say(&env, "status", "a").await;
            say(&env, "row", "a").await;
        });
        let expected = [
            "run: a",
            r#"hook a complete "done", row complete ended"#,
            "status: running",
            "row: running",
            "status: complete",
            "row: complete ended",
        ];
        assert_eq!(log(&run), expected, "{}", run.trace);
    }
}

#[test]
fn a_status_asked_between_the_report_and_the_end_of_the_body_undoes_the_row_too() {
    let lingering = |workflow: AgentWorkflow| async move {
        workflow.report_complete(json!(1)).await?;
        workflow.step().sleep("linger", Duration::from_secs(5)).await?;
        Ok(Body::empty())
    };
    let run = play(Weather::default(), lingering, |env| async move {
        say(&env, "run", "a").await;
        seconds(&env, 1).await;
        say(&env, "row", "a").await;
        say(&env, "status", "a").await;
        seconds(&env, 3600).await;
        say(&env, "row", "a").await;
    });
    assert_eq!(log(&run)[2..], ["row: complete ended", "status: running", "row: running"]);
}

#[test]
fn a_hook_that_fails_once_runs_again_though_the_row_says_complete() {
    let run = play(Weather::default(), complete, |env| async move {
        ask(&env, "fail", "").await;
        say(&env, "run", "a").await;
        seconds(&env, 60).await;
        say(&env, "status", "a").await;
    });
    let hook = r#"hook a complete "done", row complete ended"#;
    assert_eq!(log(&run), ["run: a", hook, hook, "status: complete"]);
}

#[test]
fn an_engine_that_dies_before_its_report_is_remembered_reports_again() {
    let crash = ScriptedFault::once(Fault::CrashBefore, "W/a>workflow.finishStep");
    let run = play(Weather::rule(crash), complete, |env| async move {
        say(&env, "run", "a").await;
        seconds(&env, 60).await;
        say(&env, "status", "a").await;
    });
    let hook = r#"hook a complete "done", row complete ended"#;
    assert_eq!(log(&run), ["run: a", hook, hook, "status: complete"]);
}

#[test]
fn after_a_reset_of_the_agent_nothing_of_that_run_reaches_it() {
    let resetting = |workflow: AgentWorkflow| async move {
        workflow.report_progress(json!(1)).await?;
        workflow.agent().rpc("reset", "").await.unwrap_err();
        complete(workflow).await
    };
    let run = play(Weather::default(), resetting, |env| async move {
        say(&env, "run", "a").await;
        seconds(&env, 3600).await;
        let instance = env.workflow("W").get("a").await.unwrap();
        env.log(format!("{:?}", instance.status().await.unwrap().status));
        say(&env, "row", "a").await;
    });
    assert_eq!(log(&run), ["run: a", "hook a progress 1, row running", "Errored", "row: running"]);
}

#[test]
fn reports_change_a_row_by_the_rules_of_the_sdk_and_hooks_run_regardless() {
    let statuses = [
        "queued",
        "running",
        "paused",
        "errored",
        "terminated",
        "complete",
        "waiting",
        "waitingForPause",
    ];
    let reports = [
        json!({"type": "progress", "progress": 1}),
        json!({"type": "complete", "result": 1}),
        json!({"type": "error", "error": "no"}),
        json!({"type": "event", "event": 1}),
    ];
    let run = play(Weather::default(), complete_when_told, move |env| {
        let reports = reports.clone();
        async move {
            ask(&env, "run", "a").await;
            for report in reports {
                let mut callback = json!({"workflowName": "W", "workflowId": "a", "timestamp": 0});
                callback.as_object_mut().unwrap().extend(report.as_object().unwrap().clone());
                for status in statuses {
                    let set = format!(
                        "update cf_agents_workflows set status = '{status}', error_name = null, \
                         completed_at = null"
                    );
                    ask(&env, "sql", &set).await;
                    ask(&env, agents::CALLBACK, &callback.to_string()).await;
                }
            }
        }
    });
    let after = |report: &str| -> Vec<String> {
        let hook = format!("hook a {report}, row ");
        log(&run).iter().filter_map(|line| line.strip_prefix(&hook).map(str::to_string)).collect()
    };
    let becomes = |new: &str, from: &[&str]| -> Vec<String> {
        let next = |status: &&str| if from.contains(status) { new } else { *status }.to_string();
        statuses.iter().map(next).collect()
    };
    let open = ["queued", "running", "errored", "complete", "waiting", "waitingForPause"];
    assert_eq!(after("progress 1"), becomes("running", &["queued", "waiting"]));
    assert_eq!(after("complete 1"), becomes("complete ended", &open));
    assert_eq!(after("error no"), becomes("errored ended (WorkflowError: no)", &open));
    assert_eq!(after("event 1"), becomes("", &[]));
}

#[test]
fn a_completion_leaves_the_error_of_an_earlier_report_standing() {
    let both = |workflow: AgentWorkflow| async move {
        workflow.report_error("no").await?;
        complete(workflow).await
    };
    let run = play(Weather::default(), both, |env| async move {
        say(&env, "run", "a").await;
    });
    let complete = r#"hook a complete "done", row complete ended (WorkflowError: no)"#;
    assert_eq!(log(&run)[2], complete);
}

#[test]
fn the_end_of_the_body_is_not_reported() {
    let silent = |_: AgentWorkflow| async { Ok(Body::from("1")) };
    let run = play(Weather::default(), silent, |env| async move {
        say(&env, "run", "a").await;
        seconds(&env, 60).await;
        say(&env, "row", "a").await;
        say(&env, "status", "a").await;
    });
    assert_eq!(log(&run), ["run: a", "row: queued", "status: complete"]);
}

#[test]
fn what_the_body_throws_is_reported_once_and_a_lost_report_changes_nothing() {
    let run = play(Weather::default(), throw, end_of_a);
    let row = "errored ended (WorkflowError: boom)";
    let hook = format!("hook a error boom, row {row}");
    assert_eq!(log(&run), ["run: a", &hook, &format!("row: {row}"), "errored Error: boom"]);
    let lost = ScriptedFault::once(Fault::LoseRequest, "W/a>object.rpc");
    let run = play(Weather::rule(lost), throw, end_of_a);
    assert_eq!(log(&run), ["run: a", "row: queued", "errored Error: boom"]);
}

#[test]
fn an_error_that_the_body_has_reported_itself_is_not_reported_again() {
    let both = |workflow: AgentWorkflow| async move {
        workflow.report_error("no").await?;
        throw(workflow).await
    };
    let run = play(Weather::default(), both, end_of_a);
    let row = "errored ended (WorkflowError: no)";
    let hook = format!("hook a error no, row {row}");
    assert_eq!(log(&run), ["run: a", &hook, &format!("row: {row}"), "errored Error: boom"]);
}

#[test]
fn a_replay_repeats_progress_and_not_the_durable_reports() {
    let lingering = |workflow: AgentWorkflow| async move {
        workflow.report_progress(json!(1)).await?;
        workflow.send_event(json!(2)).await?;
        workflow.report_complete(json!(3)).await?;
        workflow.step().sleep("linger", Duration::from_secs(10)).await?;
        Ok(Body::empty())
    };
    let crash = ScriptedFault::once(Fault::CrashBefore, "W/a>workflow.sleep");
    let run = play(Weather::rule(crash), lingering, |env| async move {
        say(&env, "run", "a").await;
    });
    let expected = [
        "run: a",
        "hook a progress 1, row running",
        "hook a event 2, row running",
        "hook a complete 3, row complete ended",
        "hook a progress 1, row complete ended",
    ];
    assert_eq!(log(&run), expected);
    let text = run.trace.to_string();
    for step in ["__agent_sendEvent_0", "__agent_reportComplete_1"] {
        assert!(text.contains(step), "no {step} in {text}");
    }
}

#[test]
fn terminating_is_tried_three_times() {
    for (failures, ends) in [(2, "terminate: "), (3, "terminate: workflows.api")] {
        let fail = ScriptedFault {
            times: failures,
            ..ScriptedFault::once(Fault::Fail, "BOARD:b>workflow.terminate")
        };
        let fail = ScriptedFault { code: Some(10001), ..fail };
        let run = play(Weather::rule(fail), complete_when_told, |env| async move {
            say(&env, "run", "a").await;
            say(&env, "terminate", "a").await;
            say(&env, "row", "a").await;
            say(&env, "terminate", "a").await;
        });
        let said = log(&run);
        assert!(said[1].starts_with(ends), "{said:?}");
        let after = if failures == 2 { "row: terminated ended" } else { "row: queued" };
        assert_eq!(said[2], after);
        assert_eq!(said[3].contains("cannot_terminate"), failures == 2, "{said:?}");
    }
}

#[test]
fn a_paused_workflow_resumes_and_a_restarted_one_is_queued_in_the_row() {
    let run = play(Weather::default(), complete_when_told, |env| async move {
        say(&env, "run", "a").await;
        seconds(&env, 1).await;
        for method in ["pause", "row", "resume", "row", "status", "row", "restart", "row"] {
            seconds(&env, 1).await;
            say(&env, method, "a").await;
        }
        say(&env, "forget", "a").await;
        say(&env, "forget", "a").await;
        say(&env, "restart", "a").await;
        go(&env, "a").await;
    });
    let expected = [
        "run: a",
        "pause: ",
        "row: paused",
        "resume: ",
        "row: running",
        "status: running",
        "row: running",
        "restart: ",
        "row: queued",
        "forget: true",
        "forget: false",
        "restart: Workflow a not found in tracking table",
        r#"hook a complete "done", row no row"#,
    ];
    assert_eq!(log(&run), expected);
}

#[test]
fn a_pause_in_the_middle_of_a_step_is_reported_as_an_error() {
    let stepping = |workflow: AgentWorkflow| async move {
        let env = workflow.env().clone();
        let slow = move || {
            let env = env.clone();
            async move {
                env.sleep(Duration::from_secs(5)).await;
                Ok(Body::from("1"))
            }
        };
        workflow.step().do_("slow", slow).await?;
        complete(workflow).await
    };
    let run = play(Weather::default(), stepping, |env| async move {
        say(&env, "run", "a").await;
        seconds(&env, 1).await;
        say(&env, "pause", "a").await;
        say(&env, "row", "a").await;
        seconds(&env, 60).await;
        say(&env, "row", "a").await;
        say(&env, "status", "a").await;
    });
    let abort = "Aborting engine: User called pause";
    let row = format!("errored ended (WorkflowError: {abort})");
    let hook = format!("hook a error {abort}, row {row}");
    let row = format!("row: {row}");
    let said = ["run: a", "pause: ", "row: waitingForPause", &hook, &row, "status: paused"];
    assert_eq!(log(&run), said, "{}", run.trace);
}

#[test]
fn a_workflow_changes_the_state_of_its_agent_and_speaks_to_its_clients() {
    let speaking = |workflow: AgentWorkflow| async move {
        workflow.update_agent_state(json!({"a": 1, "b": 1})).await?;
        workflow.merge_agent_state(json!({"b": 2})).await?;
        workflow.broadcast_to_clients(&json!("hello")).await?;
        workflow.step().sleep("look", Duration::from_secs(5)).await?;
        workflow.reset_agent_state().await?;
        Ok(Body::empty())
    };
    let run = play(Weather::default(), speaking, |env| async move {
        listen(&env).await;
        say(&env, "state", "").await;
        say(&env, "run", "a").await;
        seconds(&env, 2).await;
        say(&env, "state", "").await;
        seconds(&env, 60).await;
        say(&env, "state", "").await;
    });
    let expected = [
        "state: None",
        "run: a",
        r#"{"state":{"a":1,"b":1},"type":"cf_agent_state"}"#,
        r#"{"state":{"a":1,"b":2},"type":"cf_agent_state"}"#,
        r#""hello""#,
        r#"state: Some("{\"a\":1,\"b\":2}")"#,
        r#"{"state":null,"type":"cf_agent_state"}"#,
        r#"state: Some("null")"#,
    ];
    assert_eq!(log(&run), expected);
}
