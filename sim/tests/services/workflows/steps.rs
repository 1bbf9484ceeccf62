//! Crashes, replays, timers and events: what a body can rely on.
#![allow(clippy::unwrap_used, reason = "what a test calls may panic as the test may")]

use std::time::Duration;

use serde_json::{Value, json};
use thunderhead_sim::workflow::{
    Abort, AttemptResult, Backoff, Error, Op, Options, Progress, Reply, RestartFrom, Status,
    StepConfig, StepError, StepKey, WorkflowConfig,
};
use thunderhead_sim::{Body, Time};

use super::driver::{Driver, Replay, Stop, caught, hold, line, slow};

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A driver whose body is the test itself, by hand.
pub fn by_hand(config: WorkflowConfig) -> Driver {
    let mut driver = Driver::new(config, |_| Err(Stop::Parked));
    driver.create("i").unwrap();
    driver.run_for(0);
    driver
}

pub fn begin(driver: &mut Driver, name: &str, config: StepConfig) -> Result<Progress, Error> {
    let engine = driver.engine("i");
    match driver.apply(&Op::BeginStep { engine, step: StepKey::new(name, 1), config }) {
        Ok(Reply::Step(progress)) => Ok(progress),
        Ok(other) => panic!("{other}"),
        Err(error) => Err(error),
    }
}

pub fn finish(driver: &mut Driver, attempt: u32, result: AttemptResult) -> Result<Progress, Error> {
    let (engine, step) = (driver.engine("i"), StepKey::new("s", 1));
    match driver.apply(&Op::FinishStep { engine, step, attempt, result }) {
        Ok(Reply::Step(progress)) => Ok(progress),
        Ok(other) => panic!("{other}"),
        Err(error) => Err(error),
    }
}

pub fn shown(progress: Result<Progress, Error>) -> String {
    progress.map_or_else(|error| error.to_string(), |progress| progress.to_string())
}

pub fn retries(limit: u32) -> StepConfig {
    StepConfig::retries(limit, ms(100), Backoff::Constant)
}

#[test]
fn a_crash_replays_the_body_and_no_stored_step() {
    let mut driver = Driver::production(hold(500));
    driver.create("i").unwrap();
    driver.run_for(200);
    driver.crash("i");
    driver.run();
    assert_eq!(driver.trace("i"), "run a run b");
    assert_eq!(driver.now, Time::from_ms(500), "a crash does not lengthen a sleep");
}

#[test]
fn a_crash_in_a_step_runs_it_again_and_the_lost_attempt_counts() {
    let mut driver = by_hand(WorkflowConfig::default());
    assert_eq!(shown(begin(&mut driver, "s", retries(1))), "run attempt 1");
    assert_eq!(shown(begin(&mut driver, "s", retries(1))), "run attempt 1", "it only asks again");
    driver.crash("i");
    driver.run_for(0);
    assert_eq!(shown(begin(&mut driver, "s", retries(1))), "run attempt 2");
    let failed = finish(&mut driver, 2, AttemptResult::Err(StepError::error("no")));
    assert_eq!(shown(failed), "throws Error: no", "the lost attempt was one of the two");
    driver.crash("i");
    driver.run_for(0);
    assert_eq!(shown(begin(&mut driver, "s", retries(1))), "throws Error: no", "it is stored");
}

#[test]
fn a_lost_last_attempt_is_made_up_for() {
    let mut driver = by_hand(WorkflowConfig::default());
    for attempt in 1..=3 {
        let run = shown(begin(&mut driver, "s", retries(0)));
        assert_eq!(run, format!("run attempt {attempt}"));
        driver.crash("i");
        driver.run_for(0);
    }
}

#[test]
fn the_wait_for_a_retry_survives_a_crash() {
    let mut driver = by_hand(WorkflowConfig::default());
    begin(&mut driver, "s", retries(5)).unwrap();
    let failed = finish(&mut driver, 1, AttemptResult::Err(StepError::error("no")));
    assert_eq!(shown(failed), "until 0.100s");
    driver.run_for(99);
    driver.crash("i");
    driver.run_for(0);
    assert_eq!(shown(begin(&mut driver, "s", retries(5))), "until 0.100s");
    driver.run_for(1);
    assert_eq!(shown(begin(&mut driver, "s", retries(5))), "run attempt 2");
}

#[test]
fn the_first_settings_of_a_step_are_its_settings_for_ever() {
    let mut driver = by_hand(WorkflowConfig::default());
    begin(&mut driver, "s", retries(1)).unwrap();
    driver.crash("i");
    driver.run_for(0);
    begin(&mut driver, "s", retries(9)).unwrap();
    let failed = finish(&mut driver, 2, AttemptResult::Err(StepError::error("no")));
    assert_eq!(shown(failed), "throws Error: no");
}

#[test]
fn an_attempt_that_was_given_up_is_ignored_whenever_it_ends() {
    let mut driver = by_hand(WorkflowConfig::default());
    let config = retries(1).timeout(ms(50));
    begin(&mut driver, "s", config).unwrap();
    assert_eq!(shown(finish(&mut driver, 1, AttemptResult::TimedOut)), "until 0.100s");
    assert_eq!(finish(&mut driver, 1, AttemptResult::Ok("1".into())), Ok(Progress::Ignored));
    driver.run_for(100);
    begin(&mut driver, "s", config).unwrap();
    assert_eq!(finish(&mut driver, 1, AttemptResult::Ok("1".into())), Ok(Progress::Ignored));
    let second = finish(&mut driver, 2, AttemptResult::Ok("2".into()));
    assert_eq!(second, Ok(Progress::Value("2".into())));
    assert_eq!(finish(&mut driver, 2, AttemptResult::Ok("3".into())), Ok(Progress::Ignored));
    assert_eq!(begin(&mut driver, "s", config), Ok(Progress::Value("2".into())));
    let never_begun = Op::FinishStep {
        engine: driver.engine("i"),
        step: StepKey::new("other", 1),
        attempt: 1,
        result: AttemptResult::Ok("1".into()),
    };
    assert_eq!(driver.apply(&never_begun), Ok(Reply::Step(Progress::Ignored)));
}

#[test]
fn undefined_is_stored_and_found_again() {
    let mut driver = by_hand(WorkflowConfig::default());
    begin(&mut driver, "s", StepConfig::default()).unwrap();
    finish(&mut driver, 1, AttemptResult::Ok(Body::empty())).unwrap();
    assert_eq!(shown(begin(&mut driver, "s", StepConfig::default())), "undefined");
}

#[test]
fn a_step_name_has_limits() {
    let mut driver = by_hand(WorkflowConfig::default());
    let long = |len| "a".repeat(len);
    assert_eq!(shown(begin(&mut driver, &long(256), StepConfig::default())), "run attempt 1");
    for name in [long(257), "a\tb".to_owned()] {
        let thrown = shown(begin(&mut driver, &name, StepConfig::default()));
        let expected = format!(
            "throws Error: WorkflowFatalError: Step name \"{name}\" exceeds max length (256 chars) \
             or invalid characters found"
        );
        assert_eq!(thrown, expected);
    }
}

#[test]
fn the_limit_on_steps_does_not_count_a_replay_or_a_sleep() {
    let body = |replay: &mut Replay<'_>| {
        for name in ["a", "b"] {
            replay.step(name, 1)?;
            replay.sleep("nap", 100)?;
        }
        replay.step("c", 1)
    };
    let mut driver =
        Driver::new(WorkflowConfig { step_limit: 3, ..WorkflowConfig::default() }, body);
    driver.create("i").unwrap();
    driver.run_for(150);
    driver.crash("i");
    assert_eq!(driver.state("i"), Status::Running);
    driver.run();
    assert_eq!(line(&driver.status("i")), "complete 1");
}

/// Sleeps until 500 ms, then for 500 ms.
fn two_sleeps(replay: &mut Replay<'_>) -> Result<Value, Stop> {
    replay.sleep_until("morning", Time::from_ms(500))?;
    replay.sleep("nap", 500)?;
    Ok(json!(replay.now().as_ms()))
}

#[test]
fn sleep_until_is_remembered_and_forgotten_by_the_emulator() {
    let story = |config| {
        let mut driver = Driver::new(config, two_sleeps);
        driver.create("i").unwrap();
        driver.run_for(700);
        driver.crash("i");
        driver.run();
        line(&driver.status("i"))
    };
    assert_eq!(story(WorkflowConfig::default()), "complete 1000");
    let thrown = "errored Error: You can't sleep until a time in the past, time-traveler []";
    assert_eq!(story(WorkflowConfig::miniflare()), thrown);
}

#[test]
fn a_pause_lengthens_sleeps_but_does_not_move_a_date() {
    let mut driver = Driver::production(two_sleeps);
    driver.create("i").unwrap();
    driver.run_for(100);
    driver.pause("i").unwrap();
    driver.run_for(200);
    driver.resume("i").unwrap();
    driver.run_for(300);
    driver.pause("i").unwrap();
    driver.run_for(1_000);
    driver.resume("i").unwrap();
    driver.run();
    assert_eq!(line(&driver.status("i")), "complete 2000", "500 + 500 + the second pause");
}

#[test]
fn a_pause_lengthens_the_wait_for_a_retry_and_for_an_event() {
    let body = |replay: &mut Replay<'_>| {
        let config = StepConfig::retries(1, ms(1_000), Backoff::Constant);
        replay.step_with("r", config, |attempt| match attempt {
            1 => Err(StepError::error("once")),
            _ => Ok(1.into()),
        })?;
        let timed_out = caught(replay.wait_for_event("w", "go", Some(ms(1_000))))?.unwrap_err();
        Ok(json!([replay.now().as_ms(), &*timed_out.message]))
    };
    let mut driver = Driver::production(body);
    driver.create("i").unwrap();
    for _ in 0..2 {
        driver.run_for(500);
        driver.pause("i").unwrap();
        driver.run_for(5_000);
        driver.resume("i").unwrap();
        driver.run_for(500);
    }
    driver.run();
    let expected = r#"[12000,"WorkflowTimeoutError: Execution timed out after 1000ms"]"#;
    assert_eq!(line(&driver.status("i")), format!("complete {expected}"));
}

#[test]
fn a_pause_waits_for_the_step_in_progress_but_not_for_a_dead_engine() {
    let mut driver = Driver::production(slow);
    driver.create("i").unwrap();
    driver.run_for(100);
    driver.pause("i").unwrap();
    driver.crash("i");
    assert_eq!(driver.state("i"), Status::Paused);
    driver.run_for(10_000);
    driver.resume("i").unwrap();
    driver.run();
    assert_eq!(driver.trace("i"), "run slow> run slow> slow< next");
}

#[test]
fn a_pause_between_steps_takes_hold_at_the_next_one() {
    let mut driver = by_hand(WorkflowConfig::default());
    driver.pause("i").unwrap();
    assert_eq!(driver.state("i"), Status::WaitingForPause);
    let refused = begin(&mut driver, "s", StepConfig::default());
    assert_eq!(refused, Err(Error::Aborted(Abort::Pause)));
    assert_eq!(driver.state("i"), Status::Paused);
}

#[test]
fn beginning_twice_does_not_undo_a_pause() {
    let mut driver = Driver::production(slow);
    driver.create("i").unwrap();
    driver.run_for(100);
    driver.pause("i").unwrap();
    let begin = Op::Begin { engine: driver.engine("i") };
    assert!(matches!(driver.apply(&begin), Ok(Reply::Begun(_))));
    assert_eq!(driver.state("i"), Status::WaitingForPause);
}

#[test]
fn a_pause_that_is_cancelled_in_time_never_happened() {
    let mut driver = Driver::production(slow);
    driver.create("i").unwrap();
    driver.run_for(100);
    driver.pause("i").unwrap();
    driver.resume("i").unwrap();
    driver.run();
    assert_eq!(
        (driver.state("i"), driver.trace("i").as_str()),
        (Status::Complete, "run slow> slow< next")
    );
}

#[test]
fn the_documented_status_of_a_parked_instance_is_an_option() {
    let options = Options { parked_is_waiting: true, ..Options::default() };
    let mut driver = Driver::new(WorkflowConfig { options, ..Default::default() }, hold(500));
    driver.create("i").unwrap();
    driver.run_for(100);
    assert_eq!(driver.state("i"), Status::Waiting);
    driver.run();
    assert_eq!(driver.state("i"), Status::Complete);
}

/// Waits for two events, with a sleep between them.
fn two_events(replay: &mut Replay<'_>) -> Result<Value, Stop> {
    let first = replay.payload("first", "go")?;
    replay.sleep("between", 1_000)?;
    Ok(json!([first, replay.payload("second", "go")?]))
}

#[test]
fn events_that_come_early_are_kept_in_order() {
    let mut driver = Driver::production(two_events);
    driver.create("i").unwrap();
    driver.send("i", "go", json!("A")).unwrap();
    driver.send("i", "other", json!("X")).unwrap();
    driver.send("i", "go", json!("B")).unwrap();
    driver.run();
    assert_eq!(line(&driver.status("i")), r#"complete ["A","B"]"#);
}

#[test]
fn an_event_is_consumed_once_except_by_the_emulator() {
    let story = |config| {
        let mut driver = Driver::new(config, two_events);
        driver.create("i").unwrap();
        driver.run_for(100);
        driver.send("i", "go", json!("A")).unwrap();
        driver.run_for(100);
        driver.pause("i").unwrap();
        driver.resume("i").unwrap();
        driver.run_for(5_000);
        driver.send("i", "go", json!("B")).unwrap();
        driver.run();
        let output = driver.status("i").output.unwrap();
        output.text().unwrap().to_owned()
    };
    assert_eq!(story(WorkflowConfig::default()), r#"["A","B"]"#);
    assert_eq!(story(WorkflowConfig::miniflare()), r#"["A","A"]"#);
}

#[test]
fn an_event_that_comes_while_nothing_runs_is_kept() {
    let mut driver = Driver::production(two_events);
    driver.create("i").unwrap();
    driver.run_for(100);
    driver.pause("i").unwrap();
    driver.send("i", "go", json!("A")).unwrap();
    driver.resume("i").unwrap();
    driver.send("i", "go", json!("B")).unwrap();
    driver.run();
    assert_eq!(line(&driver.status("i")), r#"complete ["A","B"]"#);
}

#[test]
fn the_first_of_two_waits_gets_the_event_and_a_delivered_event_survives_a_crash() {
    let body = |replay: &mut Replay<'_>| {
        let results = [replay.payload("zebra", "go"), replay.payload("ant", "go")];
        let results: Result<Vec<Value>, Stop> = results.into_iter().collect();
        Ok(Value::from(results?))
    };
    let mut driver = Driver::production(body);
    driver.create("i").unwrap();
    driver.run_for(10);
    driver.send("i", "go", json!(1)).unwrap();
    driver.crash("i");
    driver.run_for(10);
    driver.send("i", "go", json!(2)).unwrap();
    driver.run();
    assert_eq!(line(&driver.status("i")), "complete [1,2]", "in the order in which they began");
}

#[test]
fn a_wait_gives_up_after_a_day_and_for_good() {
    let body = |replay: &mut Replay<'_>| {
        let late = caught(replay.payload("w", "go"))?.unwrap_err();
        let next = replay.payload("next", "go")?;
        Ok(json!([&*late.message, next]))
    };
    let mut driver = Driver::production(body);
    driver.create("i").unwrap();
    driver.run_for(86_400_000);
    driver.send("i", "go", json!("late")).unwrap();
    driver.crash("i");
    driver.run();
    let expected =
        r#"complete ["WorkflowTimeoutError: Execution timed out after 86400000ms","late"]"#;
    assert_eq!(line(&driver.status("i")), expected);
}

fn wait(driver: &mut Driver, name: &str) -> String {
    let (engine, step, event_type) = (driver.engine("i"), StepKey::new(name, 1), "go".into());
    let timeout = Some(ms(100).into());
    driver.apply(&Op::WaitForEvent { engine, step, event_type, timeout }).unwrap().to_string()
}

#[test]
fn an_event_at_the_end_of_a_wait_is_kept_for_the_next() {
    let mut driver = by_hand(WorkflowConfig::default());
    assert_eq!(wait(&mut driver, "w"), "until 0.100s");
    driver.now = Time::from_ms(100);
    driver.send("i", "go", json!(1)).unwrap();
    let thrown = "throws Error: WorkflowTimeoutError: Execution timed out after 100ms";
    assert_eq!(wait(&mut driver, "w"), thrown);
    assert_eq!(wait(&mut driver, "next"), "go 1");
}

#[test]
fn a_restart_forgets_the_events_that_nobody_took() {
    let mut driver = by_hand(WorkflowConfig::default());
    driver.send("i", "go", json!(1)).unwrap();
    driver.restart("i").unwrap();
    driver.run_for(0);
    assert_eq!(wait(&mut driver, "w"), "until 0.100s");
}

#[test]
fn a_restart_from_a_step_forgets_the_timers_of_what_it_keeps() {
    let mut driver = by_hand(WorkflowConfig::default());
    begin(&mut driver, "s", retries(5)).unwrap();
    finish(&mut driver, 1, AttemptResult::Err(StepError::error("no"))).unwrap();
    begin(&mut driver, "later", retries(5)).unwrap();
    let from = Some(RestartFrom { name: "later".into(), count: None, kind: None });
    driver.apply(&Op::Restart { workflow: "wf".into(), id: "i".into(), from }).unwrap();
    driver.run_for(0);
    assert_eq!(shown(begin(&mut driver, "s", retries(5))), "run attempt 2", "at once");
    assert_eq!(shown(begin(&mut driver, "later", retries(5))), "run attempt 1");
}

#[test]
fn a_year_is_the_longest_wait() {
    let year = 365 * 86_400_000;
    let sleep = |ms| move |replay: &mut Replay<'_>| replay.sleep("s", ms).map(|()| Value::Null);
    assert_eq!(Driver::production(sleep(year)).go("i").status, Status::Complete);
    assert_eq!(Driver::production(sleep(year + 1)).go("i").status, Status::Errored);
    let wait = |replay: &mut Replay<'_>| {
        replay.wait_for_event("w", "not a type", None).map(|_| Value::Null)
    };
    assert_eq!(Driver::production(wait).go("i").status, Status::Errored);
}

#[test]
fn a_sleep_of_another_length_is_another_sleep() {
    let mut driver = by_hand(WorkflowConfig::default());
    let sleep = |driver: &mut Driver, length| {
        let op = Op::sleep(driver.engine("i"), StepKey::new("nap", 1), ms(length));
        driver.apply(&op).unwrap().to_string()
    };
    assert_eq!(sleep(&mut driver, 100), "until 0.100s");
    driver.run_for(60);
    assert_eq!(sleep(&mut driver, 100), "until 0.100s");
    assert_eq!(sleep(&mut driver, 200), "until 0.260s");
    driver.run_for(40);
    assert_eq!(sleep(&mut driver, 100), "slept");
}

#[test]
fn a_body_that_returns_while_a_pause_is_due_is_complete() {
    let mut driver = by_hand(WorkflowConfig::default());
    driver.pause("i").unwrap();
    let engine = driver.engine("i");
    driver.apply(&Op::Finish { engine: engine.clone(), result: Ok("1".into()) }).unwrap();
    assert_eq!(line(&driver.status("i")), "complete 1");
    let again = driver.apply(&Op::Finish { engine, result: Ok("2".into()) });
    assert_eq!(again, Err(Error::Aborted(Abort::Finished)));
    assert_eq!(line(&driver.status("i")), "complete 1");
}
