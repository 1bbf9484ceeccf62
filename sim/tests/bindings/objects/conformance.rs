//! What the real runtime answered about Durable Objects, probe by probe; what concerns storage alone
//! is in `services/storage`. Each test is named after its probe.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::too_many_lines, reason = "one object answers every probe, a line or two each")]

use std::cell::Cell;
use std::time::Duration;

use thunderhead_sim::*;

use super::probe::{Probe, object_error, probe, raced, stub};

#[test]
fn ids() {
    probe(|env| async move {
        let (a, b) = (env.durable_object("PROBE"), env.durable_object("QUIET"));
        let id = a.id_from_name("x");
        assert_eq!(id, a.id_from_name("x"));
        assert_ne!(id.to_string(), b.id_from_name("x").to_string());
        assert_eq!((id.to_string().len(), id.name()), (64, Some("x")));
        let unique = a.unique_id();
        assert_eq!(unique.name(), None);
        assert_ne!(unique, a.unique_id());
        let parsed = a.id_from_string(&id.to_string()).unwrap();
        assert_eq!((parsed.to_string(), parsed.name()), (id.to_string(), None));
        assert_eq!(parsed, id);
        let refused = |text: &str| a.id_from_string(text).unwrap_err().to_string();
        assert_eq!(
            refused(&b.id_from_name("x").to_string()),
            "Durable Object ID is not valid for this namespace."
        );
        assert_eq!(refused("zz"), "Invalid Durable Object ID: must be 64 hex digits");
        assert_eq!(a.id_from_name("").to_string().len(), 64);
    });
}

#[test]
fn an_object_is_the_same_by_its_name_and_by_its_digits() {
    probe(|env| async move {
        let objects = env.durable_object("PROBE");
        let remembers = async |id| objects.get(id).rpc("memory", "").await.unwrap();
        let parsed = |name| {
            let digits = objects.id_from_name(name).to_string();
            objects.id_from_string(&digits).unwrap()
        };
        assert_eq!(remembers(objects.id_from_name("named")).await, Body::from("1"));
        assert_eq!(remembers(parsed("named")).await, Body::from("2"));
        assert_eq!(remembers(parsed("parsed")).await, Body::from("1"));
        assert_eq!(remembers(objects.id_from_name("parsed")).await, Body::from("2"));
        assert_eq!(remembers(objects.unique_id()).await, Body::from("1"));
    });
}

#[test]
fn a_call_names_its_object_as_the_history_does_whatever_it_was_found_by() {
    let run = simulate(&Scenario::default(), &Source::Tape(Tape::benign()), &|cloud| {
        cloud.durable_object::<Probe>("PROBE");
        cloud.client("client", |env| async move {
            let objects = env.durable_object("PROBE");
            let digits = objects.id_from_name("named").to_string();
            for id in [objects.id_from_name("named"), objects.id_from_string(&digits).unwrap()] {
                objects.get(id).rpc("memory", "").await.unwrap();
            }
        });
    });
    let trace = run.unwrap().trace.to_string();
    assert_eq!(trace.matches("call   #").count(), 2, "{trace}");
    assert_eq!(trace.matches("object.rpc PROBE:named memory").count(), 4, "{trace}");
}

#[test]
fn interleave_kv_await() {
    assert_eq!(raced("increment", "storage"), ["0 1"]);
}

#[test]
fn interleave_scheduler_wait() {
    assert_eq!(raced("increment", "timer"), ["0 0"]);
}

#[test]
fn interleave_r2_await() {
    assert_eq!(raced("increment", "r2"), ["0 0"]);
}

#[test]
fn interleave_rpc_await() {
    assert_eq!(raced("increment", "rpc"), ["0 0"]);
}

#[test]
fn transaction_rolls_back_and_does_not_reset() {
    let said = probe(|env| async move {
        let stub = stub(&env, "t");
        for _ in 0..5 {
            stub.rpc("transacted", "").await.unwrap();
        }
        let failed = object_error(stub.rpc("transacted", "").await);
        assert!(failed.remote && !failed.durable_object_reset, "{failed:?}");
        env.log(format!("{failed} {:?}", stub.rpc("increment", "storage").await.unwrap()));
    });
    assert_eq!(said, [r#"roll "5""#]);
}

#[test]
fn rpc_order_same_stub() {
    let said = probe(|env| async move {
        let stub = stub(&env, "ord");
        let calls: Vec<_> = (0..20)
            .map(|n| {
                let stub = stub.clone();
                env.spawn(async move { stub.rpc("seq", n.to_string()).await })
            })
            .collect();
        for call in calls {
            call.await.unwrap();
        }
    });
    assert_eq!(said, (0..20).map(|n| format!("seq {n}")).collect::<Vec<_>>());
}

#[test]
fn concurrent_requests_interleave() {
    let said = probe(|env| async move {
        let slow = |args: &'static str| {
            let stub = stub(&env, "cc");
            env.spawn(async move { stub.rpc("slow", args).await })
        };
        let (a, b) = (slow("A 100"), slow("B 50"));
        a.await.unwrap();
        b.await.unwrap();
    });
    assert_eq!(said, ["A>", "B>", "B<", "A<"]);
}

#[test]
fn block_concurrency_while_throw_resets() {
    let said = probe(|env| async move {
        let old = stub(&env, "gate");
        old.rpc("memory", "").await.unwrap();
        let thrown = object_error(old.rpc("gate_throws", "").await);
        let same = object_error(old.rpc("memory", "").await);
        assert_eq!(thrown, same, "the stub is broken for good");
        assert!(thrown.durable_object_reset);
        let fresh = stub(&env, "gate").rpc("memory", "").await.unwrap();
        env.log(format!("{thrown} {fresh}"));
    });
    assert_eq!(said, [r#"bcw boom "1""#]);
}

/// An object whose constructor fails the first time.
struct Fails;

impl DurableObject for Fails {
    async fn rpc(&self, method: &str, args: Body) -> Result<Body, Error> {
        methods!(self, method, args => read)
    }
}

impl Fails {
    fn read(&self, (): ()) -> Result<u32, Error> {
        Ok(0)
    }
}

#[test]
fn constructor_throws() {
    let run = simulate(&Scenario::default(), &Source::Tape(Tape::benign()), &|cloud| {
        let lives = Cell::new(0);
        cloud.try_durable_object_with("FAILS", move |_ctx, _env| {
            lives.set(lives.get() + 1);
            if lives.get() == 1 { Err(Error::app("ctor boom")) } else { Ok(Fails) }
        });
        cloud.client("client", |env| async move {
            let stub = || env.durable_object("FAILS").get_by_name("x");
            let old = stub();
            let first = object_error(old.rpc("read", "").await);
            assert!(first.durable_object_reset && !first.remote, "{first:?}");
            assert_eq!(first.to_string(), "ctor boom");
            assert_eq!(object_error(old.rpc("read", "").await), first, "the stub is broken");
            assert_eq!(stub().call::<_, u32>("read", &()).await, Ok(0));
        });
    });
    let run = run.unwrap();
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
}

#[test]
fn rpc_missing_method() {
    let run = simulate(&Scenario::default(), &Source::Tape(Tape::benign()), &|cloud| {
        cloud.durable_object_with("FAILS", |_ctx, _env| Fails);
        cloud.client("client", |env| async move {
            let stub = env.durable_object("FAILS").get_by_name("x");
            let missing = object_error(stub.rpc("nope", "").await);
            assert!(missing.remote && !missing.durable_object_reset, "{missing:?}");
            let text = r#"The RPC receiver does not implement the method "nope"."#;
            assert_eq!(missing.to_string(), text);
        });
    });
    let run = run.unwrap();
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
}

#[test]
fn rpc_exceptions() {
    let said = probe(|env| async move {
        let stub = stub(&env, "exc");
        stub.rpc("memory", "").await.unwrap();
        let thrown = object_error(stub.rpc("throw", "plain").await);
        assert!(thrown.remote && !thrown.durable_object_reset && !thrown.retryable);
        env.log(format!("{thrown} {}", stub.rpc("memory", "").await.unwrap()));
    });
    assert_eq!(said, [r#"plain "2""#], "the object lives on with its memory");
}

#[test]
fn abort_error_and_reset() {
    let said = probe(|env| async move {
        let old = stub(&env, "ab");
        old.rpc("memory", "").await.unwrap();
        let aborted = object_error(old.rpc("abort", "my reason").await);
        assert!(aborted.durable_object_reset && !aborted.remote && !aborted.retryable);
        assert_eq!(object_error(old.rpc("memory", "").await), aborted);
        let fresh = stub(&env, "ab");
        env.log(format!("{aborted} {}", fresh.rpc("memory", "").await.unwrap()));
        env.log(object_error(fresh.rpc("abort", "").await).to_string());
    });
    let default = "Application called abort() to reset Durable Object.";
    assert_eq!(said, [r#"my reason "1""#, default]);
}

#[test]
fn abort_durability() {
    let said = probe(|env| async move {
        for how in ["sql", "kv", "sql_timer"] {
            let aborted = object_error(stub(&env, how).rpc("write_then_abort", how).await);
            let left = stub(&env, how).rpc("read", "").await.unwrap();
            env.log(format!("{aborted}: {}", left.text().unwrap()));
        }
    });
    assert_eq!(
        said,
        [
            "after sql: 0 rows, kv false",
            "after kv: 0 rows, kv false",
            "after sql_timer: 1 rows, kv false"
        ]
    );
}

#[test]
fn writes_before_throw_persist() {
    let said = probe(|env| async move {
        let thrown = object_error(stub(&env, "wt").rpc("write_then_throw", "").await);
        let left = stub(&env, "wt").rpc("read", "").await.unwrap();
        env.log(format!("{thrown}: {}", left.text().unwrap()));
    });
    assert_eq!(said, ["after write: 0 rows, kv true"]);
}

/// Arms the alarm of an object in the given mode and waits; what the handler logged.
fn alarmed(mode: &'static str, arm_ms: &'static [i64], wait: Duration) -> Vec<String> {
    probe(move |env| async move {
        let stub = stub(&env, "alarm");
        stub.rpc("mode", mode).await.unwrap();
        for ms in arm_ms {
            stub.rpc("arm", ms.to_string()).await.unwrap();
        }
        env.sleep(wait).await;
        // An alarm that aborts breaks the stub.
        let fresh = env.durable_object("PROBE").get_by_name("alarm");
        let left = fresh.rpc("get_alarm", "").await.unwrap();
        env.log(format!("left {}", left.text().unwrap()));
    })
}

#[test]
fn alarm_fires() {
    let said = alarmed("quiet", &[200], Duration::from_secs(1));
    assert_eq!(said, ["alarm 0 false None", "left None"]);
}

#[test]
fn alarm_in_past() {
    let said = alarmed("quiet", &[-5_000], Duration::from_secs(1));
    assert_eq!(said, ["alarm 0 false None", "left None"]);
}

#[test]
fn alarm_get_alarm_inside_handler() {
    assert_eq!(alarmed("quiet", &[50], Duration::from_secs(1))[0], "alarm 0 false None");
}

#[test]
fn alarm_set_twice_fires_once() {
    let said = alarmed("quiet", &[500, 200], Duration::from_secs(2));
    assert_eq!(said, ["alarm 0 false None", "left None"]);
}

#[test]
fn alarm_rearm_inside() {
    let said = alarmed("rearm", &[50], Duration::from_secs(2));
    assert_eq!(said.iter().filter(|line| *line == "alarm 0 false None").count(), 3, "{said:?}");
}

#[test]
fn alarm_throw_always_240s() {
    let said = alarmed("throw", &[50], Duration::from_secs(240));
    let attempts: Vec<String> =
        (0..7).map(|n| format!("alarm {n} {} None", n > 0)).chain(["left None".into()]).collect();
    assert_eq!(said, attempts, "seven runs, then it is dropped");
}

#[test]
fn alarm_set_then_throw() {
    let said = alarmed("set_then_throw", &[50], Duration::from_secs(6));
    assert_eq!(said, ["alarm 0 false None", "alarm 0 false None", "left None"]);
}

#[test]
fn alarm_delete_then_throw() {
    let said = alarmed("delete_then_throw", &[50], Duration::from_secs(6));
    assert_eq!(said, ["alarm 0 false None", "left None"]);
}

#[test]
fn alarm_abort_is_retried() {
    let said = alarmed("abort", &[50], Duration::from_secs(6));
    assert_eq!(said, ["alarm 0 false None", "alarm 1 true None", "left None"]);
}

#[test]
fn alarm_no_handler() {
    let said = probe(|env| async move {
        let quiet = env.durable_object("QUIET").get_by_name("noalarm");
        env.log(object_error(quiet.rpc("arm", "").await).to_string());
    });
    let text = "Your Durable Object class must have an alarm() handler in order to call setAlarm()";
    assert_eq!(said, [text]);
}

#[test]
fn eviction_after_idle_15s() {
    let scenario = Scenario {
        faults: vec![ScriptedFault::once(Fault::Evict, "PROBE:evi")],
        ..Scenario::default()
    };
    let run = simulate(&scenario, &Source::Tape(Tape::benign()), &|cloud| {
        cloud.durable_object::<Probe>("PROBE");
        cloud.client("client", |env| async move {
            let stub = stub(&env, "evi");
            stub.rpc("memory", "").await.unwrap();
            env.sleep(Duration::from_secs(15)).await;
            assert_eq!(stub.rpc("memory", "").await.unwrap().text(), Some("1"));
        });
    })
    .unwrap();
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    assert_eq!(run.trace.to_string().matches("constructed").count(), 2, "{}", run.trace);
}
