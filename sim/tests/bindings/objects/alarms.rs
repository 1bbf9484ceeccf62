//! When an alarm is tried again, and alarms that are delivered twice, of which the first copy dies: the copy that ends
//! well has run the alarm.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use thunderhead_sim::*;

/// When a retry comes, and when the second alarm is due if the handler sets one for the same moment.
const PAUSE: Duration = Duration::from_secs(2);

/// Rings after a second. How its handler goes on is the name of the method that has set the alarm.
struct Bell {
    ctx: ObjectState,
    env: Env,
}

impl DurableObject for Bell {
    fn new(ctx: ObjectState, env: Env) -> Bell {
        Bell { ctx, env }
    }

    async fn rpc(&self, method: &str, _args: Body) -> Result<Body, Error> {
        self.ctx.storage().put("method", method)?;
        self.ctx.storage().set_alarm(self.env.now() + Duration::from_secs(1))?;
        Ok(Body::empty())
    }

    async fn alarm(&self, info: AlarmInfo) -> Result<(), Error> {
        let storage = self.ctx.storage();
        let (now, retries) = (self.env.now(), info.retry_count);
        self.env.log(format!("rings at {} s, retry {retries}", now.as_ms() / 1_000));
        // The turn that is lost has to have written something.
        storage.put("rung", now.as_ms().to_string())?;
        let method = storage.get("method")?.unwrap();
        if method.text().unwrap().contains("slow") {
            self.env.sleep(Duration::from_secs(10)).await;
        }
        if method.text().unwrap().contains("sets") && storage.get("set")?.is_none() {
            storage.put("set", "once")?;
            storage.set_alarm(self.env.now() + PAUSE)?;
        }
        if method.text().unwrap().contains("for ever") {
            storage.set_alarm(self.env.now() + PAUSE)?;
        }
        let always = method.text().unwrap().contains("always");
        if always || method.text().unwrap().contains("throws") && retries == 0 {
            return Err(Error::app("not yet"));
        }
        Ok(())
    }
}

#[test]
fn a_run_can_end_when_nothing_is_left_but_alarms_that_are_set_again() {
    let play = |most: Option<u32>| {
        let scenario = Scenario { max_steps: 2_000, ..Scenario::default() };
        let source = Source::Tape(Tape::benign());
        let run = simulate(&scenario, &source, &|cloud| {
            most.into_iter().for_each(|most| cloud.rest_after_alarms(most));
            cloud.durable_object::<Bell>("BELL");
            cloud.client("alice", move |env| async move {
                let bell = env.durable_object("BELL").get_by_name("one");
                bell.rpc("for ever", "").await.unwrap();
            });
        });
        let run = run.unwrap();
        let rings = run.trace.to_string().matches("rings at").count();
        (run.end, rings)
    };
    assert_eq!(play(None).0, End::Livelock);
    // Those that ring in the minute of the storm do not count: its end is still to come.
    assert_eq!(play(Some(5)), (End::Quiet, 30 + 5));
}

/// What the bell says when its alarm is delivered twice at the same moment and dies in the first copy.
fn rings(method: &'static str) -> Vec<String> {
    let faults = vec![
        ScriptedFault::once(Fault::Duplicate, "object.alarm"),
        ScriptedFault { skip: 1, code: Some(1), ..ScriptedFault::once(Fault::Crash, "BELL:*") },
    ];
    let run = simulate(
        &Scenario { faults, ..Scenario::default() },
        &Source::Tape(Tape::benign()),
        &|cloud| {
            cloud.durable_object::<Bell>("BELL");
            cloud.client("alice", move |env| async move {
                env.durable_object("BELL").get_by_name("one").rpc(method, "").await.unwrap();
            });
        },
    );
    let run = run.unwrap();
    assert!(run.trace.to_string().contains("CRASH"), "{}", run.trace);
    let said = run.trace.events().iter().filter_map(|event| match &event.kind {
        EventKind::Log { text } => Some(text.to_string()),
        _ => None,
    });
    said.collect()
}

#[test]
fn an_alarm_that_has_run_is_not_tried_again_because_its_other_copy_died() {
    for method in ["quick", "slow"] {
        assert_eq!(rings(method), ["rings at 1 s, retry 0"; 2], "{method}");
    }
}

#[test]
fn an_alarm_that_the_surviving_copy_has_set_goes_off() {
    let twice = "rings at 1 s, retry 0";
    assert_eq!(rings("quick, sets"), [twice, twice, "rings at 3 s, retry 0"]);
    assert_eq!(rings("slow, sets"), [twice, twice, "rings at 13 s, retry 0"]);
    let again = ["rings at 13 s, retry 0", "rings at 25 s, retry 1"];
    assert_eq!(rings("slow, sets, throws"), [&[twice; 2][..], &again].concat());
}

#[test]
fn an_alarm_of_which_both_copies_fail_is_tried_again() {
    let rings = rings("slow, throws");
    assert_eq!(rings, ["rings at 1 s, retry 0", "rings at 1 s, retry 0", "rings at 15 s, retry 2"]);
}

/// The milliseconds between the deliveries of an alarm that always fails.
fn pauses(tape: &[&str]) -> Vec<u64> {
    let tape = Tape(tape.iter().map(|choice| choice.parse().unwrap()).collect());
    let run = simulate(&Scenario::default(), &Source::Tape(tape), &|cloud| {
        cloud.durable_object::<Bell>("BELL");
        cloud.client("alice", |env| async move {
            let bell = env.durable_object("BELL").get_by_name("one");
            bell.rpc("always throws", "").await.unwrap();
        });
    });
    let run = run.unwrap();
    let began = run.trace.events().iter().filter_map(|event| match event.kind {
        EventKind::Begin { call } => {
            matches!(run.trace.op(call), Op::Alarm { .. }).then(|| event.at.as_ms())
        }
        _ => None,
    });
    let began: Vec<u64> = began.collect();
    began.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn an_alarm_is_tried_again_after_two_seconds_doubling_and_up_to_a_quarter_more() {
    // Each delivery travels for a millisecond.
    assert_eq!(pauses(&[]), [2_001, 4_001, 8_001, 16_001, 32_001, 64_001]);
    let drawn = pauses(&[
        "jitter BELL:one #1 = 4/5",
        "jitter BELL:one #2 = 3/5",
        "jitter BELL:one #3 = 2/5",
        "jitter BELL:one #4 = 1/5",
    ]);
    assert_eq!(drawn[..4], [2_501, 4_751, 9_001, 17_001]);
}
