//! Probes of the real local emulator about steps, repeated on the simulated workflow; see
//! `conformance.rs`.
#![allow(clippy::unwrap_used, reason = "what a test calls may panic as the test may")]
#![allow(non_snake_case, reason = "each test carries the name of the probe that it repeats")]

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use thunderhead_sim::Time;
use thunderhead_sim::workflow::{
    Backoff, InstanceStatus, Op, Progress, Reply, StepConfig, StepCounter, StepError,
    WorkflowConfig,
};

use super::driver::{Driver, Replay, Stop, caught, line};

const FATAL: &str = "The execution of the Workflow instance was terminated, as a step threw an \
                     NonRetryableError and it was not handled";

/// A body whose one step always fails, what became of it, and the gaps between its attempts.
fn retried(config: WorkflowConfig, step: StepConfig) -> (String, String, Vec<u64>) {
    let times = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&times);
    let body = move |replay: &mut Replay<'_>| {
        replay.log("run");
        let now = replay.now();
        replay.step_with("r", step, |attempt| {
            seen.borrow_mut().push(now);
            Err(StepError::new("MyErr", format!("fail {attempt}")))
        })
    };
    let mut driver = Driver::new(config, body);
    let status = line(&driver.go("r"));
    let times: Vec<Time> = times.take();
    let gaps = times.windows(2).map(|pair| (pair[1] - pair[0]).as_millis().try_into().unwrap());
    (status, driver.trace("r"), gaps.collect())
}

fn custom(json: &str) -> (String, String, Vec<u64>) {
    retried(WorkflowConfig::miniflare(), serde_json::from_str(json).unwrap())
}

#[test]
fn step_retry_default_config() {
    let (status, trace, gaps) = retried(WorkflowConfig::miniflare(), StepConfig::default());
    assert_eq!(status, "errored Error: MyErr: fail 6 []");
    assert_eq!(trace, "run r r r r r r", "six attempts of one body");
    assert_eq!(gaps, [1_000, 2_000, 4_000, 8_000, 16_000]);
    let (.., gaps) = retried(WorkflowConfig::default(), StepConfig::default());
    assert_eq!(gaps, [10_000, 20_000, 40_000, 80_000, 160_000]);
}

#[test]
fn step_retry_constant() {
    let (status, trace, gaps) =
        custom(r#"{"retries": {"limit": 3, "delay": 100, "backoff": "constant"}}"#);
    assert_eq!(
        (status.as_str(), trace.as_str()),
        ("errored Error: MyErr: fail 4 []", "run r r r r")
    );
    assert_eq!(gaps, [100, 100, 100]);
}

#[test]
fn step_retry_linear() {
    let (_, trace, gaps) =
        custom(r#"{"retries": {"limit": 3, "delay": 100, "backoff": "linear"}}"#);
    assert_eq!((trace.as_str(), gaps), ("run r r r r", vec![100, 200, 300]));
}

#[test]
fn step_retry_exponential() {
    let (_, trace, gaps) =
        custom(r#"{"retries": {"limit": 3, "delay": 100, "backoff": "exponential"}}"#);
    assert_eq!((trace.as_str(), gaps), ("run r r r r", vec![100, 200, 400]));
}

#[test]
fn step_retry_no_backoff_given() {
    let (_, trace, gaps) = custom(r#"{"retries": {"limit": 3, "delay": 100}}"#);
    assert_eq!((trace.as_str(), gaps), ("run r r r r", vec![100, 200, 400]));
}

#[test]
fn step_retry_duration_string() {
    let (status, trace, gaps) = custom(r#"{"retries": {"limit": 1, "delay": "1 second"}}"#);
    assert_eq!((status.as_str(), trace.as_str()), ("errored Error: MyErr: fail 2 []", "run r r"));
    assert_eq!(gaps, [1_000]);
}

#[test]
fn step_config_invalid() {
    let invalid = [
        r#"{"retries": {"limit": -1, "delay": 10}}"#,
        r#"{"retries": {"limit": 1, "delay": 10, "backoff": "x"}}"#,
        r#"{"retries": {"limit": 1, "delay": "soon"}}"#,
        r#"{"retries": {"limit": 1}}"#,
        r#"{"foo": 1}"#,
        r#"{"timeout": "x"}"#,
    ];
    for json in invalid {
        assert!(serde_json::from_str::<StepConfig>(json).is_err(), "{json}");
    }
    serde_json::from_str::<StepConfig>(r#"{"retries": {"limit": 100000, "delay": 1}}"#).unwrap();
    // What the types let through, the service refuses in the emulator's words.
    let body = |replay: &mut Replay<'_>| {
        replay.log("run");
        replay.step_with("s", StepConfig::default().timeout(Duration::ZERO), |_| Ok("ok".into()))
    };
    let mut driver = Driver::emulator(body);
    assert_eq!(
        line(&driver.go("cfg")),
        "errored Error: WorkflowFatalError: Step config for \"s\" is in a invalid format. See \
         https://developers.cloudflare.com/workflows/build/sleeping-and-retrying/ []"
    );
    assert_eq!(driver.trace("cfg"), "run");
}

fn non_retryable(replay: &mut Replay<'_>) -> Result<Value, Stop> {
    replay.log("run");
    replay.step_with("n", StepConfig::default(), |_| Err(StepError::non_retryable("no more")))
}

#[test]
fn step_nonretryable() {
    let mut driver = Driver::emulator(non_retryable);
    assert_eq!(line(&driver.go("n")), format!("errored WorkflowFatalError: {FATAL} []"));
    assert_eq!(driver.trace("n"), "run n");
    let mut driver = Driver::production(non_retryable);
    assert_eq!(line(&driver.go("n")), "errored NonRetryableError: no more");
}

#[test]
fn step_nonretryable_caught() {
    let body = |replay: &mut Replay<'_>| {
        let error = caught(non_retryable(replay))?.unwrap_err();
        replay.step("after", Value::Null)?;
        Ok(json!({ "name": &*error.name, "message": &*error.message }))
    };
    let mut driver = Driver::emulator(body);
    assert_eq!(
        line(&driver.go("n")),
        r#"complete {"message":"NonRetryableError: no more","name":"Error"} [null]"#
    );
    assert_eq!(driver.trace("n"), "run n after");
}

#[test]
fn nonretryable_outside_step() {
    let body = |replay: &mut Replay<'_>| {
        replay.log("run");
        Err(StepError::non_retryable("outside").into())
    };
    let mut driver = Driver::emulator(body);
    assert_eq!(line(&driver.go("n")), format!("errored WorkflowFatalError: {FATAL} []"));
    assert_eq!(line(&Driver::production(body).go("n")), "errored NonRetryableError: outside");
}

/// What a body catches from a step that fails twice with this error.
fn caught_from(error: StepError) -> (String, String) {
    let body = move |replay: &mut Replay<'_>| {
        replay.log("run");
        let config = StepConfig::retries(1, Duration::from_millis(10), Backoff::Constant);
        let error = error.clone();
        let error = caught(replay.step_with("c", config, |_| Err(error)))?.unwrap_err();
        Ok(json!([&*error.name, &*error.message]))
    };
    let mut driver = Driver::emulator(body);
    (line(&driver.go("c")), driver.trace("c"))
}

#[test]
fn step_error_caught_by_workflow() {
    let (status, trace) = caught_from(StepError::new("MyErr", "inner"));
    assert_eq!(status, r#"complete ["Error","MyErr: inner"] []"#, "the name is lost on the way");
    assert_eq!(trace, "run c c");
}

#[test]
fn step_throws_string() {
    let (status, trace) = caught_from(StepError::error("str"));
    assert_eq!((status.as_str(), trace.as_str()), (r#"complete ["Error","str"] []"#, "run c c"));
}

#[test]
fn same_step_name_twice() {
    let body = |replay: &mut Replay<'_>| {
        replay.log("run");
        Ok(json!({ "x": replay.step("same", 1)?, "y": replay.step("same", 2)? }))
    };
    let mut driver = Driver::emulator(body);
    assert_eq!(line(&driver.go("s")), r#"complete {"x":1,"y":2} [1,2]"#);
    assert_eq!(driver.trace("s"), "run same same");
}

#[test]
fn sleepUntil() {
    let until = |at: Time| {
        move |replay: &mut Replay<'_>| {
            replay.log("run");
            replay.sleep_until("nap", at)?;
            Ok("slept".into())
        }
    };
    for config in [WorkflowConfig::miniflare(), WorkflowConfig::default()] {
        let mut driver = Driver::new(config.clone(), until(Time::from_ms(1_300)));
        driver.now = Time::from_ms(1_000);
        assert!(line(&driver.go("future")).starts_with("complete \"slept\""));
        assert_eq!((driver.now, driver.trace("future")), (Time::from_ms(1_300), "run".into()));
        let mut driver = Driver::new(config, until(Time::ZERO));
        driver.now = Time::from_ms(1_000);
        let past = "errored Error: You can't sleep until a time in the past, time-traveler";
        assert!(line(&driver.go("past")).starts_with(past));
    }
}

#[test]
fn step_result_big() {
    let mib = 1024 * 1024;
    let result = |config: WorkflowConfig, len: usize| {
        let body = move |replay: &mut Replay<'_>| {
            let config = StepConfig::retries(1, Duration::from_millis(1), Backoff::Constant);
            replay.step_with("v", config, |_| Ok("a".repeat(len).into()))?;
            Ok("stored".into())
        };
        let mut driver = Driver::new(config, body);
        let status = driver.go("big");
        let shown = InstanceStatus { step_outputs: None, ..status };
        (line(&shown), driver.trace("big"))
    };
    // Two bytes of the value are its quotes.
    for len in [mib - 64, mib + 1, 2 * mib, 4 * mib] {
        let emulator = result(WorkflowConfig::miniflare(), len);
        assert_eq!(emulator, ("complete \"stored\"".into(), "v".into()), "{len}");
    }
    let fits = result(WorkflowConfig::default(), mib - 2);
    assert_eq!(fits, ("complete \"stored\"".into(), "v".into()));
    let too_big = "errored Error: WorkflowInternalError: Step v-1 output is too large. Maximum \
                   allowed size is 1MiB.";
    let refused = result(WorkflowConfig::default(), mib - 1);
    assert_eq!(refused, (too_big.into(), "v v".into()), "and it is retried");
}

#[test]
fn parallel_steps() {
    let body = |replay: &mut Replay<'_>| {
        replay.log("run");
        let results = [("p1", 100), ("p2", 200), ("p3", 300)].map(|(name, ms)| {
            let (start, end) = (format!("{name}>"), format!("{name}<"));
            let takes = Duration::from_millis(ms);
            let says = (start.as_str(), end.as_str());
            replay.slow_step(name, StepConfig::default(), takes, says, |_| Ok(name.into()))
        });
        let results: Result<Vec<Value>, Stop> = results.into_iter().collect();
        Ok(Value::from(results?))
    };
    let mut driver = Driver::emulator(body);
    assert_eq!(line(&driver.go("par")), r#"complete ["p1","p2","p3"] ["p1","p2","p3"]"#);
    assert_eq!(driver.trace("par"), "run p1> p2> p3> p1< p2< p3<");
    assert_eq!(driver.now, Time::from_ms(300), "they ran beside each other");
}

#[test]
fn unawaited_step() {
    let body = |replay: &mut Replay<'_>| {
        replay.log("run");
        let takes = Duration::from_millis(300);
        let _ =
            replay.slow_step("bg", StepConfig::default(), takes, ("bg", "bg<"), |_| Ok(1.into()));
        Ok("returned".into())
    };
    let mut driver = Driver::emulator(body);
    assert_eq!(line(&driver.go("un")), "complete \"returned\" []");
    assert_eq!(driver.trace("un"), "run bg bg<", "its end is not heard");
}

#[test]
fn step_callback_args() {
    let mut driver = Driver::emulator(|_| Ok(Value::Null));
    driver.create("ctx").unwrap();
    let engine = driver.engine("ctx");
    let (step, config) = (StepCounter::default().step("c"), StepConfig::default());
    assert_eq!(serde_json::to_value(&step).unwrap(), json!({ "name": "c", "count": 1 }));
    let Ok(Reply::Step(Progress::Run { attempt, policy })) =
        driver.apply(&Op::BeginStep { engine, step, config })
    else {
        panic!("the step must run")
    };
    assert_eq!(attempt, 1);
    let retries = json!({ "limit": 5, "backoff": "exponential", "delay": 1000 });
    let expected = json!({ "retries": retries, "timeout": 600_000 });
    assert_eq!(serde_json::to_value(policy).unwrap(), expected);
}

#[test]
fn step_timeout() {
    let body = |replay: &mut Replay<'_>| {
        replay.log("run");
        let config = StepConfig::retries(1, Duration::from_millis(10), Backoff::Constant)
            .timeout(Duration::from_millis(200));
        let takes = Duration::from_millis(205);
        let slow = replay.slow_step("t", config, takes, ("t", "t-late"), |_| Ok(1.into()));
        let error = caught(slow)?.unwrap_err();
        Ok(json!([&*error.name, &*error.message]))
    };
    let mut driver = Driver::emulator(body);
    assert_eq!(
        line(&driver.go("sto")),
        r#"complete ["Error","WorkflowTimeoutError: Execution timed out after 200ms"] []"#
    );
    assert_eq!(driver.trace("sto"), "run t t-late t t-late", "no attempt is cancelled");
}
