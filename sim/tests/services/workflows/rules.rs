//! Ids, batches, retention, turns and the decision tables of an instance's life.
#![allow(clippy::unwrap_used, reason = "what a test calls may panic as the test may")]

use std::time::Duration;

use thunderhead_sim::Time;
use thunderhead_sim::workflow::{
    Abort, AlreadyExists, Anomaly, BatchError, Code, ConfigError, CreateOptions, Error,
    MAX_VALUE_BYTES, Op, Options, Reply, RestartFrom, Retention, Status, StepError, StepKind,
    WorkflowConfig, Workflows, transient_errors,
};

use super::driver::{Driver, Replay, Stop, fail, hold, message, ok, slow};

const STATES: [&str; 7] =
    ["queued", "running", "waitingForPause", "paused", "complete", "errored", "terminated"];

type Ask = fn(&mut Driver) -> Result<Reply, Error>;

/// A driver whose instance `i` is in this state.
fn in_state(state: &str, config: WorkflowConfig) -> Driver {
    let mut driver = match state {
        "complete" => Driver::new(config, ok),
        "errored" => Driver::new(config, fail),
        "running" | "waitingForPause" => Driver::new(config, slow),
        _ => Driver::new(config, hold(60_000)),
    };
    driver.create("i").unwrap();
    if state != "queued" {
        driver.run_for(100);
    }
    match state {
        "waitingForPause" | "paused" => driver.pause("i").map(|_| ()).unwrap(),
        "terminated" => driver.terminate("i").map(|_| ()).unwrap(),
        _ => {}
    }
    assert_eq!(driver.state("i").to_string(), state);
    driver
}

/// What an operation answers in every state, and the state after it.
fn table(config: &WorkflowConfig, op: Ask) -> Vec<(String, String)> {
    let row = |state: &&str| {
        let mut driver = in_state(state, config.clone());
        let answer = match op(&mut driver) {
            Ok(_) => "ok".to_owned(),
            Err(Error::Refused { code, .. }) => format!("{code:?}"),
            Err(other) => panic!("{other}"),
        };
        (answer, driver.state("i").to_string())
    };
    STATES.iter().map(row).collect()
}

fn rows(rows: [(&str, &str); 7]) -> Vec<(String, String)> {
    rows.map(|(answer, state)| (answer.to_owned(), state.to_owned())).into()
}

#[test]
fn an_id_is_refused_in_every_state() {
    let expected = STATES.map(|state| ("AlreadyExists", state));
    assert_eq!(table(&WorkflowConfig::default(), |driver| driver.create("i")), rows(expected));
}

#[test]
fn pausing_matters_only_to_what_runs() {
    let expected = rows([
        ("ok", "queued"),
        ("ok", "waitingForPause"),
        ("ok", "waitingForPause"),
        ("ok", "paused"),
        ("ok", "complete"),
        ("ok", "errored"),
        ("ok", "terminated"),
    ]);
    assert_eq!(table(&WorkflowConfig::default(), |driver| driver.pause("i")), expected);
}

#[test]
fn resuming_undoes_a_pause_and_is_an_error_while_running() {
    let expected = |running| {
        rows([
            ("ok", "queued"),
            (running, "running"),
            ("ok", "running"),
            ("ok", "queued"),
            ("ok", "complete"),
            ("ok", "errored"),
            ("ok", "terminated"),
        ])
    };
    let resume = |driver: &mut Driver| driver.resume("i");
    assert_eq!(table(&WorkflowConfig::default(), resume), expected("CannotResume"));
    assert_eq!(table(&WorkflowConfig::miniflare(), resume), expected("ok"));
}

#[test]
fn terminating_ends_everything_that_has_not_ended() {
    let expected = rows([
        ("ok", "terminated"),
        ("ok", "terminated"),
        ("ok", "terminated"),
        ("ok", "terminated"),
        ("CannotTerminate", "complete"),
        ("CannotTerminate", "errored"),
        ("CannotTerminate", "terminated"),
    ]);
    assert_eq!(table(&WorkflowConfig::default(), |driver| driver.terminate("i")), expected);
}

#[test]
fn restarting_works_in_every_state_and_begins_with_nothing() {
    let expected = rows([("ok", "queued"); 7]);
    assert_eq!(table(&WorkflowConfig::default(), |driver| driver.restart("i")), expected);
}

#[test]
fn a_finished_instance_takes_no_events_in_production_and_loses_them_in_the_emulator() {
    let send = |driver: &mut Driver| driver.send("i", "go", 1.into());
    let expected = |ended| {
        rows([
            ("ok", "queued"),
            ("ok", "running"),
            ("ok", "waitingForPause"),
            ("ok", "paused"),
            (ended, "complete"),
            (ended, "errored"),
            (ended, "terminated"),
        ])
    };
    assert_eq!(table(&WorkflowConfig::default(), send), expected("CannotSendEvent"));
    assert_eq!(table(&WorkflowConfig::miniflare(), send), expected("ok"));
}

#[test]
fn deleting_frees_the_id_in_every_state_and_aborts_what_runs() {
    for state in STATES {
        let mut driver = in_state(state, WorkflowConfig::default());
        let live = matches!(state, "queued" | "running" | "waitingForPause");
        let engine = live.then(|| driver.engine("i"));
        driver.delete("i").unwrap();
        assert!(driver.get("i").unwrap_err().is_not_found(), "{state}");
        let gone = "(instance.not_found) Instance does not exist";
        assert_eq!(message(&driver.delete("i")), gone, "{state}");
        driver.create("i").unwrap();
        if let Some(engine) = engine {
            let (last, abort) = (driver.follows.len() - 2, "Aborting engine: User called delete");
            assert_eq!(driver.follows[last], format!("abort {engine}: {abort}"), "{state}");
            let late = driver.apply(&Op::Begin { engine });
            assert!(matches!(late, Err(Error::Aborted(_))), "an old life cannot enter a new one");
        }
    }
}

#[test]
fn every_wording_of_a_duplicate_id_is_recognised() {
    let texts = AlreadyExists::ALL.map(|wording| {
        [false, true].map(|prefix| {
            let error = Error::already_exists("a", wording, prefix);
            assert!(error.is_already_exists() && !error.is_not_found() && !error.is_transient());
            assert_eq!((error.code(), error.name()), (Some(Code::AlreadyExists), "Error"));
            error.to_string()
        })
    });
    assert_eq!(
        texts.as_flattened(),
        [
            "(instance.already_exists) Instance already exists",
            "WorkflowError: (instance.already_exists) Instance already exists",
            "(instance.already_exists) Workflow instance with id \"a\" already exists",
            "WorkflowError: (instance.already_exists) Workflow instance with id \"a\" already exists",
            "workflows.api.error.instance.already_exists",
            "WorkflowError: workflows.api.error.instance.already_exists",
        ]
    );
}

#[test]
fn the_old_emulator_accepts_a_duplicate_and_does_nothing() {
    for state in STATES {
        let options = Options::miniflare4();
        let mut driver = in_state(state, WorkflowConfig { options, ..WorkflowConfig::default() });
        let before = driver.follows.len();
        assert_eq!(driver.create("i"), Ok(Reply::Instance { id: "i".into() }), "{state}");
        assert_eq!(driver.follows.len(), before, "{state}: nothing runs");
    }
}

#[test]
fn retention_frees_an_id_to_the_millisecond() {
    let day = 86_400_000;
    let own = |ms: u64| Some(Duration::from_millis(ms).into());
    let retention = Retention { success_retention: own(500), error_retention: own(900) };
    let cases: [(WorkflowConfig, &str, Retention, u64); 6] = [
        (WorkflowConfig::default(), "complete", Retention::default(), 30 * day),
        (WorkflowConfig::free(), "complete", Retention::default(), 3 * day),
        (WorkflowConfig::free(), "errored", Retention::default(), 3 * day),
        (WorkflowConfig::default(), "complete", retention, 500),
        (WorkflowConfig::default(), "errored", retention, 900),
        (WorkflowConfig::default(), "terminated", retention, 900),
    ];
    for (config, end, retention, kept) in cases {
        let mut driver = Driver::new(config, if end == "errored" { fail } else { ok });
        let options = CreateOptions { retention, ..CreateOptions::new("i", "{}") };
        let create = Op::Create { workflow: "wf".into(), options };
        driver.apply(&create).unwrap();
        if end == "terminated" {
            driver.terminate("i").unwrap();
        }
        driver.run();
        driver.now = Time::from_ms(kept - 1);
        assert!(driver.apply(&create).unwrap_err().is_already_exists(), "{end} {kept}");
        driver.now = Time::from_ms(kept);
        assert!(driver.get("i").unwrap_err().is_not_found(), "{end} {kept}");
        driver.apply(&create).unwrap();
        driver.run();
        let runs = if end == "terminated" { 1 } else { 2 };
        let expected = vec![if end == "errored" { "run" } else { "run a" }; runs].join(" ");
        assert_eq!(driver.trace("i"), expected, "the id runs a second time");
    }
}

#[test]
fn an_instance_that_has_not_ended_is_kept_however_old_it_is() {
    for state in ["queued", "running", "paused", "waitingForPause"] {
        let mut driver = in_state(state, WorkflowConfig::free());
        driver.now = Time::from_ms(400 * 86_400_000);
        assert!(driver.create("i").unwrap_err().is_already_exists(), "{state}");
    }
    let mut driver = in_state("complete", WorkflowConfig::miniflare());
    driver.now = Time::from_ms(400 * 86_400_000);
    assert!(driver.create("i").unwrap_err().is_already_exists(), "the emulator forgets nothing");
}

/// The ids that a batch created, and the codes of the others.
fn batch(driver: &mut Driver, ids: &[&str], anomaly: Option<Anomaly>) -> (Vec<String>, Vec<u32>) {
    let batch = ids.iter().map(|id| CreateOptions::new(id, "{}")).collect();
    let op = Op::CreateBatch { workflow: "wf".into(), batch };
    match driver.apply_with(&op, anomaly) {
        Ok(Reply::Batch { created, errors }) => {
            let codes = errors.iter().map(|BatchError { code, .. }| *code);
            (created.iter().map(ToString::to_string).collect(), codes.collect())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_batch_leaves_out_what_exists_and_what_repeats() {
    let options = Options::miniflare4();
    let old = WorkflowConfig { options, ..WorkflowConfig::default() };
    let cases = [
        (WorkflowConfig::default(), vec!["n1", "n2"], vec![10405, 10415]),
        (WorkflowConfig::miniflare(), vec!["n1", "n2"], vec![10405, 10415]),
        (old, vec!["a", "n1", "n1", "n2"], vec![]),
    ];
    for (config, created, errors) in cases {
        let mut driver = Driver::new(config, ok);
        driver.go("a");
        let answer = batch(&mut driver, &["a", "n1", "n1", "n2"], None);
        assert_eq!(answer, (created.iter().map(ToString::to_string).collect(), errors));
        driver.run();
        assert_eq!(["a", "n1", "n2"].map(|id| driver.trace(id)), ["run a"; 3]);
    }
}

#[test]
fn a_batch_that_is_wrong_creates_nothing() {
    let cases = [
        (0, "", "batchCreate should have at least 1 instance"),
        (101, "", "batchCreate only supports 100 instances at a time"),
        (3, "bad id", "Workflow instance has invalid id"),
    ];
    for (count, bad, expected) in cases {
        let mut driver = Driver::emulator(ok);
        let mut batch: Vec<CreateOptions> =
            (0..count).map(|n| CreateOptions::new(&format!("n{n}"), "{}")).collect();
        if !bad.is_empty() {
            batch.push(CreateOptions::new(bad, "{}"));
        }
        let answer = driver.apply(&Op::CreateBatch { workflow: "wf".into(), batch });
        assert_eq!(message(&answer), format!("WorkflowError: {expected}"));
        assert!(driver.get("n0").is_err() && driver.follows.is_empty());
    }
    let mut driver = Driver::emulator(ok);
    let ids: Vec<String> = (0..100).map(|n| format!("n{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    assert_eq!(batch(&mut driver, &ids, None).0.len(), 100);
}

#[test]
fn a_storm_can_ask_for_an_id_that_exists_without_an_instance() {
    let mut driver = Driver::production(ok);
    let create = Op::create("wf", "i", "{}");
    let anomaly = Anomaly::of(&create)[0];
    assert!(driver.apply_with(&create, Some(anomaly)).unwrap_err().is_already_exists());
    assert!(driver.get("i").unwrap_err().is_not_found());
    assert_eq!(driver.follows, [""; 0]);
    let answer = batch(&mut driver, &["i", "j"], Some(anomaly));
    assert_eq!(answer, (vec!["j".to_owned()], vec![10405]));
    assert!(driver.get("i").is_err() && driver.get("j").is_ok());
}

#[test]
fn a_storm_can_ask_for_an_instance_that_is_created_and_denied() {
    let mut driver = Driver::production(ok);
    let create = Op::create("wf", "i", "{}");
    for anomaly in [Some(Anomaly::CreatedButExists), None, None] {
        assert!(driver.apply_with(&create, anomaly).unwrap_err().is_already_exists());
    }
    driver.run();
    assert_eq!((driver.state("i"), driver.trace("i").as_str()), (Status::Complete, "run a"));
    assert_eq!(Anomaly::of(&Op::Get { workflow: "wf".into(), id: "i".into() }), []);
}

#[test]
fn parameters_and_payloads_have_a_limit_of_one_mebibyte() {
    let text = |len: usize| "a".repeat(len);
    let mut driver = Driver::production(hold(1_000));
    driver.apply(&Op::create("wf", "i", text(MAX_VALUE_BYTES))).unwrap();
    let big = driver.apply(&Op::create("wf", "j", text(MAX_VALUE_BYTES + 1)));
    assert_eq!(big.unwrap_err().code(), Some(Code::TooLarge));
    driver.apply(&Op::send_event("wf", "i", "go", text(MAX_VALUE_BYTES))).unwrap();
    let big = driver.apply(&Op::send_event("wf", "i", "go", text(MAX_VALUE_BYTES + 1)));
    assert_eq!(big.unwrap_err().code(), Some(Code::TooLarge));
    for event_type in ["", "a.b", &text(101)] {
        let refused = driver.apply(&Op::send_event("wf", "i", event_type, "1"));
        assert_eq!(refused.unwrap_err().code(), Some(Code::InvalidEventType), "{event_type:?}");
    }
    driver.apply(&Op::send_event("wf", "i", &text(100), "1")).unwrap();
}

#[test]
fn excess_instances_wait_for_their_turn_and_a_parked_one_gives_its_place_up() {
    let two = WorkflowConfig { concurrency: 2, ..WorkflowConfig::default() };
    let mut driver = Driver::new(two.clone(), slow);
    for id in ["a", "b", "c", "d"] {
        driver.create(id).unwrap();
    }
    driver.run_for(100);
    let states = ["a", "b", "c", "d"].map(|id| driver.state(id));
    assert_eq!(states, [Status::Running, Status::Running, Status::Queued, Status::Queued]);
    driver.terminate("c").unwrap();
    driver.run_for(800);
    assert_eq!(driver.state("d"), Status::Running, "a and b are done and c has given up");

    let mut driver = Driver::new(two, hold(1_000));
    for id in ["a", "b", "c", "d"] {
        driver.create(id).unwrap();
    }
    driver.run_for(100);
    assert_eq!(["a", "b", "c", "d"].map(|id| driver.state(id)), [Status::Running; 4]);
}

fn three(replay: &mut Replay<'_>) -> Result<serde_json::Value, Stop> {
    replay.log("run");
    for name in ["a", "b", "b", "c"] {
        replay.step(name, 1)?;
    }
    replay.sleep("nap", 10)?;
    Err(StepError::error("at the end").into())
}

#[test]
fn a_restart_from_a_step_keeps_what_came_before_it() {
    let from = |name: &str, count, kind| {
        let mut driver = Driver::production(three);
        driver.go("i");
        let from = Some(RestartFrom { name: name.into(), count, kind });
        let op = Op::Restart { workflow: "wf".into(), id: "i".into(), from };
        let answer = driver.apply(&op).map(|_| ());
        driver.run();
        answer.map(|()| driver.trace("i").strip_prefix("run a b b c ").unwrap_or("").to_owned())
    };
    assert_eq!(from("a", None, None).unwrap(), "run a b b c");
    assert_eq!(from("b", None, None).unwrap(), "run b b c");
    assert_eq!(from("b", Some(2), Some(StepKind::Do)).unwrap(), "run b c");
    assert_eq!(from("nap", None, Some(StepKind::Sleep)).unwrap(), "run");
    for (name, count) in [("x", None), ("b", Some(3)), ("b", Some(0)), ("nap", None)] {
        let expected =
            format!("(instance.cannot_restart) Step \"{name}\" not found in execution history");
        assert_eq!(from(name, count, None).unwrap_err().to_string(), expected);
    }
}

#[test]
fn only_the_newest_life_is_heard() {
    let mut driver = Driver::production(hold(60_000));
    driver.create("i").unwrap();
    driver.run_for(0);
    let ended: [(Ask, Abort); 3] = [
        (|driver| driver.restart("i"), Abort::Restart),
        (|driver| driver.pause("i"), Abort::Pause),
        (|driver| driver.terminate("i"), Abort::Terminate),
    ];
    for (end, reason) in ended {
        let engine = driver.engine("i");
        end(&mut driver).unwrap();
        let finish = Op::Finish { engine, result: Ok("1".into()) };
        assert_eq!(driver.apply(&finish), Err(Error::Aborted(reason)));
        assert_ne!(driver.state("i"), Status::Complete);
        if reason == Abort::Pause {
            driver.resume("i").unwrap();
        }
        driver.run_for(0);
    }
}

#[test]
fn a_workflow_that_makes_no_sense_is_refused() {
    let mut workflows = Workflows::default();
    let mut define = |name: &str, change: fn(&mut WorkflowConfig)| {
        let mut config = WorkflowConfig::default();
        change(&mut config);
        workflows.define(name, config)
    };
    assert_eq!(define("", |_| {}), Err(ConfigError::Name("".into())));
    assert_eq!(define("a b", |_| {}), Err(ConfigError::Name("a b".into())));
    assert!(define(&"a".repeat(65), |_| {}).is_err());
    assert_eq!(define(&"a".repeat(64), |_| {}), Ok(()));
    assert_eq!(define("w", |config| config.step_limit = 0), Err(ConfigError::StepLimit(0)));
    assert!(define("w", |config| config.step_limit = 25_001).is_err());
    assert_eq!(define("w", |config| config.concurrency = 0), Err(ConfigError::Concurrency));
    assert_eq!(define("w", |config| config.step_limit = 25_000), Ok(()));
    assert_eq!(define("w", |_| {}), Err(ConfigError::Exists("w".into())));
    let unknown = workflows.apply(Time::ZERO, &Op::create("x", "a", "{}")).reply;
    assert_eq!(unknown.unwrap_err().code(), Some(Code::WorkflowNotFound));
}

#[test]
fn what_passes_by_itself_is_said_to_be_transient() {
    let create = Op::create("wf", "a", "{}");
    for code in transient_errors(&create) {
        assert!(Error::service(*code).is_transient());
    }
    assert!(!transient_errors(&create).is_empty());
    let mut driver = Driver::production(ok);
    driver.create("a").unwrap();
    assert_eq!(transient_errors(&Op::Begin { engine: driver.engine("a") }), &[0; 0]);
}

#[test]
fn operations_and_replies_survive_json() {
    let mut driver = Driver::production(hold(5));
    driver.create("a").unwrap();
    let engine = driver.engine("a");
    let ops = [
        Op::create("wf", "b", r#"{"x":1}"#),
        Op::send_event("wf", "a", "go", "1"),
        Op::Begin { engine: engine.clone() },
        Op::Finish { engine, result: Err(StepError::new("TypeError", "no")) },
        Op::Status { workflow: "wf".into(), id: "a".into() },
    ];
    for op in ops {
        let json = serde_json::to_string(&op).unwrap();
        assert_eq!(serde_json::from_str::<Op>(&json).unwrap(), op, "{json}");
        let outcome = driver.workflows.apply(Time::ZERO, &op);
        let json = serde_json::to_string(&outcome).unwrap();
        assert_eq!(
            serde_json::from_str::<thunderhead_sim::workflow::Applied>(&json).unwrap(),
            outcome
        );
    }
}
