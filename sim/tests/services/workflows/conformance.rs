//! Probes of the real local emulator about instances, repeated on the simulated workflow.
//!
//! The emulator's answer is the reference under `Options::miniflare()`; where production documents
//! another answer, that one is asserted too, under the defaults. `docs/platform-workflows.md` lists
//! the parts that are about JavaScript alone. The probes about steps are in
//! `conformance_steps.rs`.
#![allow(clippy::unwrap_used, reason = "what a test calls may panic as the test may")]
#![allow(non_snake_case, reason = "each test carries the name of the probe that it repeats")]

use serde_json::json;
use thunderhead_sim::workflow::{
    CreateOptions, Op, Reply, Status, StepConfig, StepError, WorkflowConfig, WorkflowEvent,
};
use thunderhead_sim::{Body, Time};

use super::driver::{Driver, Replay, Stop, fail, hold, line, message, ok, slow};

const EXISTS: &str = "(instance.already_exists) Instance already exists";
const FINITE: &str =
    "(instance.cannot_terminate) Cannot terminate instance since its on a finite state";

#[test]
fn create_returns() {
    let mut driver = Driver::emulator(ok);
    assert_eq!(driver.create("cr"), Ok(Reply::Instance { id: "cr".into() }));
}

#[test]
fn create_without_id() {
    let mut driver = Driver::emulator(ok);
    let op = Op::Create { workflow: "wf".into(), options: CreateOptions::default() };
    let mut id = || match driver.apply(&op) {
        Ok(Reply::Instance { id }) => id,
        other => panic!("{other:?}"),
    };
    let (first, second) = (id(), id());
    assert_ne!(first, second);
    let groups: Vec<usize> = first.split('-').map(str::len).collect();
    assert_eq!(groups, [8, 4, 4, 4, 12]);
    assert_eq!(&first[14..15], "4", "a UUID of version 4");
}

#[test]
fn create_duplicate_while_running() {
    let local = "WorkflowError: (instance.already_exists) Workflow instance with id \"dup-run\" \
                 already exists";
    let cases = [(Driver::emulator(hold(500)), local), (Driver::production(hold(500)), EXISTS)];
    for (mut driver, expected) in cases {
        driver.create("dup-run").unwrap();
        driver.run_for(200);
        let again = driver.create("dup-run");
        assert_eq!(message(&again), expected);
        assert!(again.unwrap_err().is_already_exists());
        driver.run();
        assert!(line(&driver.status("dup-run")).starts_with("complete \"done\""));
        assert_eq!(driver.trace("dup-run"), "run a b");
    }
}

#[test]
fn create_duplicate_immediately_concurrent() {
    let answers = |mut driver: Driver| {
        let answers: Vec<bool> = (0..5).map(|_| driver.create("dup-conc").is_ok()).collect();
        driver.run();
        assert_eq!(driver.state("dup-conc"), Status::Complete);
        assert_eq!(driver.trace("dup-conc"), "run a b");
        answers
    };
    assert_eq!(answers(Driver::emulator(hold(200))), [true; 5]);
    let one = [true, false, false, false, false];
    assert_eq!(answers(Driver::production(hold(200))), one);
}

#[test]
fn create_duplicate_stress_double_execution() {
    let mut driver = Driver::emulator(ok);
    for i in 0..20 {
        let (a, b, c) = (format!("st-a{i}"), format!("st-b{i}"), format!("st-c{i}"));
        let resolved = (0..5).filter(|_| driver.create(&a).is_ok()).count();
        assert_eq!(resolved, 5);
        let batch = (0..5).map(|_| CreateOptions::new(&b, "{}")).collect();
        driver.apply(&Op::CreateBatch { workflow: "wf".into(), batch }).unwrap();
        driver.create(&c).unwrap();
        driver.run();
        let _ = driver.create(&c);
        driver.run();
        for id in [a, b, c] {
            assert_eq!(driver.trace(&id), "run a", "{id}");
        }
    }
}

#[test]
fn terminate_right_after_create_race() {
    for delay in [0, 1, 5, 20] {
        let mut driver = Driver::emulator(hold(150));
        driver.create("tr").unwrap();
        driver.run_for(delay);
        driver.terminate("tr").unwrap();
        driver.run_for(500);
        assert_eq!(driver.state("tr"), Status::Terminated);
        assert_eq!(driver.trace("tr"), "run a");
    }
}

#[test]
fn invalid_ids() {
    let long = |len| "a".repeat(len);
    let valid = [long(64), long(65), long(100), "_a".into(), "1".into(), "ABC".into()];
    let invalid = ["", "a b", "a/b", "a.b", "a:b", "-a", "é", "a\n"].map(str::to_owned);
    for id in valid {
        Driver::emulator(ok).create(&id).unwrap();
    }
    for id in invalid.into_iter().chain([long(101)]) {
        let local = message(&Driver::emulator(ok).create(&id));
        assert_eq!(local, "WorkflowError: Workflow instance has invalid id", "{id:?}");
        let production = message(&Driver::production(ok).create(&id));
        assert_eq!(production, "Workflow instance has invalid id", "{id:?}");
    }
}

#[test]
fn createBatch_duplicate_within() {
    for mut driver in [Driver::emulator(ok), Driver::production(ok)] {
        let batch = [r#"{"n":1}"#, r#"{"n":2}"#].map(|params| CreateOptions::new("cbd", params));
        let op = Op::CreateBatch { workflow: "wf".into(), batch: batch.into() };
        let Ok(Reply::Batch { created, .. }) = driver.apply(&op) else { panic!("it is skipped") };
        assert_eq!(created, ["cbd".into()]);
        driver.run();
        assert_eq!(driver.trace("cbd"), "run a");
    }
}

#[test]
fn get_unknown() {
    for mut driver in [Driver::emulator(ok), Driver::production(ok)] {
        for id in ["does-not-exist", "bad id", ""] {
            assert_eq!(message(&driver.get(id)), "instance.not_found");
        }
    }
}

#[test]
fn status_over_time_sleep() {
    let mut driver = Driver::emulator(hold(500));
    driver.create("sot").unwrap();
    assert_eq!(driver.state("sot"), Status::Queued, "until its engine begins");
    driver.run_for(0);
    assert_eq!(line(&driver.status("sot")), "running [1]");
    driver.run_for(499);
    assert_eq!(line(&driver.status("sot")), "running [1]");
    driver.run_for(1);
    assert_eq!(line(&driver.status("sot")), "complete \"done\" [1,2]");
    assert_eq!(driver.trace("sot"), "run a b");
}

fn wait_for_go(replay: &mut Replay<'_>) -> Result<serde_json::Value, Stop> {
    let event = replay.wait_for_event("wait", "go", None)?;
    let payload: serde_json::Value = serde_json::from_slice(event.payload.bytes()).unwrap();
    Ok(json!({ "payload": payload, "type": &*event.event_type, "at": event.timestamp.as_ms() }))
}

#[test]
fn status_of_waiting_for_event() {
    for mut driver in [Driver::emulator(wait_for_go), Driver::production(wait_for_go)] {
        driver.create("sw").unwrap();
        driver.run_for(300);
        assert_eq!(driver.state("sw"), Status::Running);
        driver.send("sw", "go", json!({ "x": 1 })).unwrap();
        driver.run();
        assert_eq!(driver.state("sw"), Status::Complete);
    }
}

#[test]
fn waitForEvent_basic() {
    for mut driver in [Driver::emulator(wait_for_go), Driver::production(wait_for_go)] {
        driver.create("we1").unwrap();
        driver.run_for(200);
        assert_eq!(driver.send("we1", "go", json!({ "x": 1 })), Ok(Reply::Done));
        driver.run();
        let output = driver.status("we1").output.unwrap();
        assert_eq!(output.text(), Some(r#"{"at":200,"payload":{"x":1},"type":"go"}"#));
    }
}

#[test]
fn waitForEvent_two_waits_two_events() {
    let body = |replay: &mut Replay<'_>| {
        Ok(json!([replay.payload("first", "go")?, replay.payload("second", "go")?]))
    };
    for mut driver in [Driver::emulator(body), Driver::production(body)] {
        driver.create("we3").unwrap();
        driver.run_for(100);
        driver.send("we3", "go", json!(1)).unwrap();
        driver.send("we3", "go", json!(2)).unwrap();
        driver.run();
        assert_eq!(driver.status("we3").output.unwrap().text(), Some("[1,2]"));
    }
}

#[test]
fn step_result_cached_over_pause_resume() {
    for mut driver in [Driver::emulator(hold(600)), Driver::production(hold(600))] {
        driver.create("spr").unwrap();
        driver.run_for(200);
        assert_eq!(driver.pause("spr"), Ok(Reply::Done));
        assert_eq!(driver.state("spr"), Status::Paused, "nothing was in progress");
        driver.run_for(1_100);
        assert_eq!(driver.state("spr"), Status::Paused);
        assert_eq!(driver.resume("spr"), Ok(Reply::Done));
        driver.run();
        assert_eq!(driver.now, Time::from_ms(1_700), "400 ms of the sleep were left");
        assert!(line(&driver.status("spr")).starts_with("complete \"done\""));
        assert_eq!(driver.trace("spr"), "run a run b");
    }
}

#[test]
fn step_result_cached_over_restart() {
    let mut driver = Driver::emulator(hold(300));
    driver.go("srs");
    assert_eq!(driver.restart("srs"), Ok(Reply::Done));
    driver.run_for(50);
    assert_eq!(driver.state("srs"), Status::Running);
    driver.run();
    assert_eq!(line(&driver.status("srs")), "complete \"done\" [1,2]");
    assert_eq!(driver.trace("srs"), "run a b run a b");
}

#[test]
fn terminate_during_step() {
    let mut driver = Driver::emulator(slow);
    driver.create("t2").unwrap();
    driver.run_for(200);
    assert_eq!(driver.terminate("t2"), Ok(Reply::Done));
    driver.run_for(1_200);
    assert_eq!(line(&driver.status("t2")), "terminated []");
    assert_eq!(driver.trace("t2"), "run slow>");
}

#[test]
fn terminate_finished() {
    for body in [ok, fail] {
        for (mut driver, prefix) in
            [(Driver::emulator(body), "WorkflowError: "), (Driver::production(body), "")]
        {
            driver.go("t");
            assert_eq!(message(&driver.terminate("t")), format!("{prefix}{FINITE}"));
        }
    }
}

#[test]
fn pause_during_step() {
    for mut driver in [Driver::emulator(slow), Driver::production(slow)] {
        driver.create("p1").unwrap();
        driver.run_for(200);
        driver.pause("p1").unwrap();
        assert_eq!(driver.state("p1"), Status::WaitingForPause);
        driver.run_for(1_200);
        assert_eq!(driver.state("p1"), Status::Paused);
        assert_eq!(driver.trace("p1"), "run slow> slow<");
        driver.resume("p1").unwrap();
        driver.run();
        assert!(line(&driver.status("p1")).starts_with("complete \"done\""));
        assert_eq!(driver.trace("p1"), "run slow> slow< run next");
    }
}

#[test]
fn restart_states() {
    let mut driver = Driver::emulator(ok);
    driver.go("rs1");
    assert_eq!(driver.restart("rs1"), Ok(Reply::Done));
    driver.run();
    assert_eq!(driver.trace("rs1"), "run a run a");
    assert_eq!(line(&driver.status("rs1")), r#"complete {"a":1} [1]"#);

    let mut driver = Driver::emulator(fail);
    driver.go("rs2");
    assert_eq!(driver.restart("rs2"), Ok(Reply::Done));
    driver.run();
    assert_eq!(driver.trace("rs2"), "run run");

    let mut driver = Driver::emulator(hold(500));
    driver.create("rs3").unwrap();
    driver.run_for(150);
    assert_eq!(driver.restart("rs3"), Ok(Reply::Done));
    driver.run();
    assert_eq!(driver.trace("rs3"), "run a run a b");
    assert_eq!(line(&driver.status("rs3")), "complete \"done\" [1,2]");

    driver.create("rs4").unwrap();
    driver.run_for(100);
    driver.terminate("rs4").unwrap();
    assert_eq!(driver.restart("rs4"), Ok(Reply::Done));
    driver.run();
    assert_eq!(driver.state("rs4"), Status::Complete);
    assert_eq!(driver.trace("rs4"), "run a run a b", "the emulator once let the first body go on");
}

#[test]
fn workflow_return_types() {
    let returned = |value: Body| {
        let mut driver = Driver::emulator(ok);
        driver.create("ret").unwrap();
        let engine = driver.engine("ret");
        driver.apply(&Op::Finish { engine, result: Ok(value) }).unwrap();
        driver.status("ret")
    };
    assert_eq!(line(&returned(Body::empty())), "complete []", "undefined shows as no output");
    assert_eq!(line(&returned("{}".into())), "complete {} []");
    let big = "a".repeat(2 * 1024 * 1024);
    assert_eq!(returned(big.into()).output.unwrap().len(), 2 * 1024 * 1024);
}

#[test]
fn workflow_throws_after_step() {
    let body = |replay: &mut Replay<'_>| {
        replay.log("run");
        replay.step("a", 1)?;
        Err(StepError::new("TypeError", "late").into())
    };
    let mut driver = Driver::emulator(body);
    assert_eq!(line(&driver.go("wt")), "errored TypeError: late [1]");
    assert_eq!(driver.trace("wt"), "run a");
}

#[test]
fn workflow_throws_string() {
    let body = |replay: &mut Replay<'_>| {
        replay.log("run");
        Err(StepError::error("just a string").into())
    };
    let mut driver = Driver::emulator(body);
    assert_eq!(line(&driver.go("ws")), "errored Error: just a string []");
}

#[test]
fn event_payload_mutation() {
    let mut driver = Driver::emulator(ok);
    driver.apply(&Op::create("wf", "mut", r#"{"v":1}"#)).unwrap();
    let engine = driver.engine("mut");
    let expected = WorkflowEvent {
        payload: r#"{"v":1}"#.into(),
        timestamp: Time::ZERO,
        instance_id: "mut".into(),
        workflow_name: "wf".into(),
    };
    driver.now = Time::from_ms(50);
    for _ in 0..2 {
        let begun = driver.apply(&Op::Begin { engine: engine.clone() });
        assert_eq!(
            begun,
            Ok(Reply::Begun(expected.clone())),
            "a body cannot change what is stored"
        );
    }
}

#[test]
fn step_limit_config() {
    let body = |replay: &mut Replay<'_>| {
        replay.log("run");
        for i in 0..5 {
            replay.step_with(&i.to_string(), StepConfig::default(), |_| Ok(i.into()))?;
        }
        Ok("done".into())
    };
    let mut driver =
        Driver::new(WorkflowConfig { step_limit: 3, ..WorkflowConfig::miniflare() }, body);
    assert_eq!(
        line(&driver.go("lim")),
        "errored Error: WorkflowFatalError: The limit of 3 steps has been reached. This limit can \
         be changed in your worker configuration. [0,1,2]"
    );
    assert_eq!(driver.trace("lim"), "run 0 1 2");
}

#[test]
fn id_namespaced_per_workflow() {
    let mut driver = Driver::emulator(ok);
    driver.workflows.define("wfl", WorkflowConfig::miniflare()).unwrap();
    driver.go("ns");
    let get = Op::Get { workflow: "wfl".into(), id: "ns".into() };
    assert_eq!(message(&driver.apply(&get)), "instance.not_found");
    driver.apply(&Op::create("wfl", "ns", "{}")).unwrap();
}
