//! What `docs/platform-workflows.md` says of the simulated workflow where neither the probes nor
//! the other tests show it.
#![allow(clippy::unwrap_used, reason = "what a test calls may panic as the test may")]

use std::time::Duration;

use serde_json::{Value, json};
use thunderhead_sim::Body;
use thunderhead_sim::workflow::{
    Abort, AttemptResult, Code, CreateOptions, Error, MAX_VALUE_BYTES, MAX_WAIT, Op, Reply,
    RestartFrom, Status, StepConfig, StepCounter, StepError, StepKey, WorkflowConfig,
};

use super::driver::{Driver, Replay, Stop, hold, line, ok, slow};
use super::steps::{begin, by_hand, finish, ms, retries, shown};

#[test]
fn an_event_of_any_type_is_taken_by_the_emulator_alone() {
    let send = |config, event_type: &str| {
        let mut driver = Driver::new(config, hold(1_000));
        driver.create("i").unwrap();
        driver.send("i", event_type, json!(1))
    };
    for event_type in ["a.b", &"a".repeat(101)] {
        assert_eq!(send(WorkflowConfig::miniflare(), event_type), Ok(Reply::Done));
        let refused = send(WorkflowConfig::default(), event_type).unwrap_err();
        assert_eq!(refused.to_string(), format!("Event type {event_type:?} is invalid"));
    }
}

#[test]
fn the_results_of_steps_are_in_the_status_of_the_emulator_alone() {
    assert_eq!(line(&Driver::production(ok).go("i")), r#"complete {"a":1}"#);
    assert_eq!(line(&Driver::emulator(ok).go("i")), r#"complete {"a":1} [1]"#);
}

#[test]
fn a_fractional_retry_limit_is_refused_when_the_settings_are_read() {
    let read = |limit: &str| {
        let json = format!(r#"{{"retries": {{"limit": {limit}, "delay": 1}}}}"#);
        serde_json::from_str::<StepConfig>(&json)
    };
    assert_eq!(read("2").unwrap().retries.unwrap().limit, 2);
    assert!(read("1.5").is_err());
}

#[test]
fn a_step_is_called_by_its_name_and_its_count() {
    let mut counter = StepCounter::default();
    let keys = ["save", "save", "load"].map(|name| counter.step(name).to_string());
    assert_eq!(keys, ["save#1", "save#2", "load#1"]);
    let driver = by_hand(WorkflowConfig::default());
    let (step, config) = (StepKey::new("save", 1), StepConfig::default());
    let begin = Op::BeginStep { engine: driver.engine("i"), step, config };
    assert_eq!(begin.to_string(), "beginStep wf/i@1 save#1");
}

#[test]
fn an_error_that_crosses_keeps_a_known_name_and_takes_any_other_into_its_message() {
    let crossed = |name: &str| {
        let mut driver = by_hand(WorkflowConfig::default());
        begin(&mut driver, "s", retries(0)).unwrap();
        let error = StepError::new(name, "no");
        let caught = shown(finish(&mut driver, 1, AttemptResult::Err(error.clone())));
        let engine = driver.engine("i");
        driver.apply(&Op::Finish { engine, result: Err(error) }).unwrap();
        [caught, line(&driver.status("i"))]
    };
    let known = "Error EvalError RangeError ReferenceError SyntaxError TypeError DataCloneError";
    for name in known.split(' ') {
        assert_eq!(crossed(name), [format!("throws {name}: no"), format!("errored {name}: no")]);
    }
    assert_eq!(crossed("MyErr"), ["throws Error: MyErr: no", "errored Error: MyErr: no"]);
}

#[test]
fn a_step_that_must_not_be_retried_throws_again_on_replay() {
    let mut driver = by_hand(WorkflowConfig::default());
    begin(&mut driver, "s", StepConfig::default()).unwrap();
    let error = AttemptResult::Err(StepError::non_retryable("no"));
    let thrown = "throws Error: NonRetryableError: no";
    assert_eq!(shown(finish(&mut driver, 1, error)), thrown);
    driver.crash("i");
    driver.run_for(0);
    assert_eq!(shown(begin(&mut driver, "s", StepConfig::default())), thrown);
}

#[test]
fn a_restart_of_a_queued_or_paused_instance_begins_with_the_original_parameters() {
    for (paused, trace) in [(false, "run a b"), (true, "run a run a b")] {
        let mut driver = Driver::production(hold(1_000));
        driver.apply(&Op::create("wf", "i", r#"{"n":7}"#)).unwrap();
        if paused {
            driver.run_for(100);
            driver.pause("i").unwrap();
            assert_eq!(driver.state("i"), Status::Paused);
        }
        driver.restart("i").unwrap();
        let begin = Op::Begin { engine: driver.engine("i") };
        let Ok(Reply::Begun(event)) = driver.apply(&begin) else { panic!("the body may begin") };
        assert_eq!(event.payload, Body::from(r#"{"n":7}"#));
        driver.run();
        assert_eq!(driver.trace("i"), trace);
    }
}

#[test]
fn a_sleep_that_a_restart_from_a_step_keeps_is_over() {
    let mut driver = by_hand(WorkflowConfig::default());
    let sleep = |driver: &mut Driver| {
        let op = Op::sleep(driver.engine("i"), StepKey::new("nap", 1), ms(60_000));
        driver.apply(&op).unwrap().to_string()
    };
    assert_eq!(sleep(&mut driver), "until 60.000s");
    begin(&mut driver, "later", StepConfig::default()).unwrap();
    let from = Some(RestartFrom { name: "later".into(), count: None, kind: None });
    driver.apply(&Op::Restart { workflow: "wf".into(), id: "i".into(), from }).unwrap();
    driver.run_for(0);
    assert_eq!(sleep(&mut driver), "slept");
}

#[test]
fn each_workflow_counts_its_own_instances() {
    let one = WorkflowConfig { concurrency: 1, ..WorkflowConfig::default() };
    let mut driver = Driver::new(one.clone(), slow);
    driver.workflows.define("other", one).unwrap();
    driver.create("a").unwrap();
    driver.create("b").unwrap();
    driver.apply(&Op::create("other", "c", "{}")).unwrap();
    driver.run_for(100);
    let states = ["a", "b"].map(|id| driver.state(id));
    assert_eq!(states, [Status::Running, Status::Queued]);
    assert_eq!(driver.workflows.status("other", "c").unwrap().status, Status::Running);
}

/// Sleeps for a second, then works for 800 ms.
fn nap(replay: &mut Replay<'_>) -> Result<Value, Stop> {
    replay.sleep("nap", 1_000)?;
    slow(replay)
}

#[test]
fn an_instance_that_wakes_goes_on_above_the_limit() {
    let one = WorkflowConfig { concurrency: 1, ..WorkflowConfig::default() };
    let mut driver = Driver::new(one, nap);
    driver.create("a").unwrap();
    driver.run_for(500);
    driver.create("b").unwrap();
    driver.run_for(1_100);
    assert_eq!(["a", "b"].map(|id| driver.trace(id)), ["run slow>", "run slow>"]);
    driver.create("c").unwrap();
    driver.run_for(300);
    let states = ["a", "b", "c"].map(|id| driver.state(id));
    assert_eq!(states, [Status::Complete, Status::Running, Status::Queued]);
    driver.run();
    assert_eq!(driver.state("c"), Status::Complete);
}

#[test]
fn what_a_body_returns_may_have_any_size() {
    let mut driver = Driver::production(ok);
    driver.create("i").unwrap();
    let (engine, value) = (driver.engine("i"), "a".repeat(2 * MAX_VALUE_BYTES));
    driver.apply(&Op::Finish { engine, result: Ok(value.into()) }).unwrap();
    assert_eq!(driver.status("i").output.unwrap().len(), 2 * MAX_VALUE_BYTES);
}

#[test]
fn where_production_publishes_no_text_ours_comes_with_a_code() {
    let mut driver = by_hand(WorkflowConfig::default());
    let batch = vec![CreateOptions::default(); 101];
    let refused = [
        Op::CreateBatch { workflow: "wf".into(), batch },
        Op::create("wf", "j", "a".repeat(MAX_VALUE_BYTES + 1)),
        Op::send_event("wf", "i", "a.b", "1"),
    ]
    .map(|op| {
        let error = driver.apply(&op).unwrap_err();
        (error.code().unwrap(), error.to_string())
    });
    let expected = [
        (Code::BatchTooLarge, "batchCreate should have at most 100 instances"),
        (Code::TooLarge, "Workflow params is too large. Maximum allowed size is 1MiB."),
        (Code::InvalidEventType, "Event type \"a.b\" is invalid"),
    ];
    assert_eq!(refused, expected.map(|(code, text)| (code, text.to_owned())));
    let failed = Error::service(10_001).to_string();
    assert_eq!(failed, "workflows.api.error.internal_server (10001)");
    let lost = Error::Aborted(Abort::Superseded).to_string();
    assert_eq!(lost, "Aborting engine: Superseded by a newer engine");
    let sleep = Op::sleep(driver.engine("i"), StepKey::new("s", 1), MAX_WAIT + ms(1));
    let thrown = driver.apply(&sleep).unwrap().to_string();
    let too_long = "WorkflowFatalError: Step \"s\" waits for more than 365 days";
    assert_eq!(thrown, format!("throws Error: {too_long}"));
}

#[test]
fn a_step_is_tested_for_the_limit_its_name_and_its_settings_in_this_order() {
    let mut driver = by_hand(WorkflowConfig { step_limit: 1, ..WorkflowConfig::default() });
    let wrong = StepConfig::default().timeout(Duration::ZERO);
    let mut ask = |name: &str, config| shown(begin(&mut driver, name, config));
    assert!(ask("a\tb", wrong).contains("Step name \"a\tb\" exceeds"));
    assert!(ask("s", wrong).contains("Step config for \"s\" is in a invalid format"));
    assert_eq!(ask("s", StepConfig::default()), "run attempt 1");
    assert!(ask("a\tb", wrong).contains("The limit of 1 steps has been reached"));
}
