//! What the real runtime did in which order, event by event: gates, transactions and alarms. Each test is named after
//! its probe.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use thunderhead_sim::*;

use super::probe::object_error;

const SHORT: Duration = Duration::from_millis(30);

/// An object that tells what it does, step by step.
struct Steps {
    ctx: ObjectState,
    env: Env,
    runs: Rc<Cell<u32>>,
}

impl Steps {
    /// Work that tells when it begins and ends, and adds one to a number in storage.
    fn told(&self, name: &str) -> impl Future<Output = Result<u32, Error>> + 'static + use<> {
        let (env, storage, name) = (self.env.clone(), self.ctx.storage().clone(), name.to_string());
        async move {
            env.log(format!("{name}>"));
            env.sleep(SHORT).await;
            let n = storage.get("n")?.map_or(0, |n| n.text().unwrap().parse().unwrap());
            storage.put("n", format!("{}", n + 1))?;
            env.log(format!("{name}<"));
            Ok(n)
        }
    }

    /// Reads, waits and writes with everything else kept out, and tells when it is let in and when it leaves.
    async fn guarded(&self, name: &str, how: &str) -> Result<Body, Error> {
        self.env.log(format!("{name} enter"));
        let work = self.told(name);
        let n = match how {
            "transaction" => self.ctx.transaction(work).await?,
            _ => self.ctx.block_concurrency_while(work).await?,
        };
        self.env.log(format!("{name} leave"));
        Ok(Body::from(n.to_string()))
    }

    async fn nested(&self) -> Result<Body, Error> {
        let (ctx, env, inner) = (self.ctx.clone(), self.env.clone(), self.told("inner"));
        let outer = async move {
            env.log("outer>");
            let n = ctx.block_concurrency_while(inner).await?;
            env.log("outer<");
            Ok(n)
        };
        let n = self.ctx.block_concurrency_while(outer).await?;
        self.env.log("leave");
        Ok(Body::from(n.to_string()))
    }

    /// Two gates side by side, of which the second takes no time.
    async fn two(&self) -> Result<Body, Error> {
        let (a, env) = (self.told("a"), self.env.clone());
        let b = async move {
            env.log("b>");
            Ok(())
        };
        let (a, b) = (self.ctx.block_concurrency_while(a), self.ctx.block_concurrency_while(b));
        b.await?;
        a.await?;
        Ok(Body::empty())
    }

    /// Two transactions side by side; the first fails.
    async fn transactions(&self) -> Result<Body, Error> {
        let storage = self.ctx.storage();
        let (inner, env, ctx) = (storage.clone(), self.env.clone(), self.ctx.clone());
        let a = async move {
            env.log("a>");
            inner.put("a", "1")?;
            env.sleep(SHORT).await;
            env.log("a throws");
            Err::<(), _>(Error::app("a failed"))
        };
        let a = self.env.spawn(async move { ctx.transaction(a).await });
        let (inner, env, ctx) = (storage.clone(), self.env.clone(), self.ctx.clone());
        let b = async move {
            env.log("b>");
            inner.put("b", "1")?;
            env.log(format!("b sees a={:?}", inner.get("a")?));
            Ok(())
        };
        let b = self.env.spawn(async move { ctx.transaction(b).await });
        storage.put("o", "1")?;
        self.env.log("outside put");
        let (a, b) = (a.await, b.await);
        self.env.log(format!("{} {b:?}", a.unwrap_err()));
        let kept = storage.list(&Default::default())?.into_iter();
        Ok(Body::from(kept.map(|(key, _)| key.to_string()).collect::<Vec<_>>().join(",")))
    }

    fn arm(&self, ms: u64) -> Result<Body, Error> {
        self.ctx.storage().set_alarm(self.env.now() + Duration::from_millis(ms))?;
        self.env.log("armed");
        Ok(Body::empty())
    }

    async fn armed_then(&self, how: &str) -> Result<Body, Error> {
        self.arm(10)?;
        match how {
            "timer" => self.env.sleep(SHORT).await,
            _ => drop(self.ctx.block_concurrency_while(self.told("bcw")).await?),
        }
        let alarm = self.ctx.storage().get_alarm();
        self.env
            .log(format!("request end, alarm {}", if alarm.is_some() { "set" } else { "none" }));
        Ok(Body::empty())
    }
}

impl DurableObject for Steps {
    fn new(ctx: ObjectState, env: Env) -> Steps {
        let name = ctx.id().name().unwrap_or_default();
        let (inner, fails) = (env.clone(), name == "fails");
        if fails || name == "begins" {
            // Nobody awaits it, and so nobody can catch what it throws.
            drop(ctx.block_concurrency_while(async move {
                inner.log("init>");
                inner.sleep(SHORT).await;
                inner.log("init<");
                if fails { Err(Error::app("init failed")) } else { Ok(()) }
            }));
        }
        Steps { ctx, env, runs: Rc::default() }
    }

    async fn rpc(&self, method: &str, args: Body) -> Result<Body, Error> {
        let text = args.text().unwrap_or_default();
        match method {
            "nested" => self.nested().await,
            "two" => self.two().await,
            "transactions" => self.transactions().await,
            "arm" => self.arm(text.parse().unwrap()),
            "abort" => self.ctx.abort(Some(text)).await,
            "disarm" => {
                self.ctx.storage().delete_alarm();
                Ok(Body::empty())
            }
            "armed_then" => self.armed_then(text).await,
            "get_alarm" => Ok(Body::from(self.ctx.storage().get_alarm().map_or("null", |_| "set"))),
            "say" => {
                self.env.log(text);
                Ok(Body::empty())
            }
            "never" => {
                let forever: JoinHandle<Result<(), Error>> =
                    self.ctx.block_concurrency_while(std::future::pending());
                forever.await?;
                Ok(Body::empty())
            }
            how => self.guarded(text, how).await,
        }
    }

    async fn alarm(&self, info: AlarmInfo) -> Result<(), Error> {
        self.runs.set(self.runs.get() + 1);
        match self.ctx.id().name().unwrap_or_default() {
            "slow" => {
                self.env.log("alarm>");
                self.env.sleep(Duration::from_millis(150)).await;
                self.env.log("alarm<");
            }
            "backoff" => {
                let (run, retries) = (self.runs.get(), info.retry_count);
                self.env.log(format!("alarm {run} retryCount {retries} at {}", self.env.now()));
                if run <= 2 {
                    return Err(Error::app("x"));
                }
            }
            _ => self.env.log("alarm"),
        }
        Ok(())
    }
}

/// What a client's work and its objects log, in their order.
fn order<F: Future<Output = ()> + 'static>(work: impl Fn(Env) -> F + 'static) -> Vec<String> {
    let run = simulate(&Scenario::default(), &Source::Tape(Tape::benign()), &|cloud| {
        cloud.durable_object::<Steps>("STEPS");
        cloud.client("client", &work);
    });
    let run = run.unwrap();
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    let logged = run.trace.events().iter().filter_map(|event| match &event.kind {
        EventKind::Log { text } => Some(text.to_string()),
        _ => None,
    });
    logged.collect()
}

fn stub(env: &Env, name: &str) -> Stub {
    env.durable_object("STEPS").get_by_name(name)
}

/// Calls `method` once for each argument, all at the same time, through a stub each; what was answered.
async fn at_once(env: &Env, method: &'static str, args: &[&'static str]) -> String {
    let call = |arg: &&'static str| {
        let (stub, arg) = (stub(env, "x"), *arg);
        env.spawn(async move { stub.rpc(method, arg).await.unwrap().text().unwrap().to_string() })
    };
    let mut answers = Vec::new();
    for call in args.iter().map(call).collect::<Vec<_>>() {
        answers.push(call.await);
    }
    answers.join(" ")
}

fn guarded(method: &'static str, names: &'static [&'static str]) -> Vec<String> {
    order(move |env| async move {
        let answers = at_once(&env, method, names).await;
        env.log(answers);
    })
}

/// What two calls do of which the second waits for the first, and what both have read.
const ONE_AFTER_THE_OTHER: [&str; 9] =
    ["A enter", "A>", "A<", "A leave", "B enter", "B>", "B<", "B leave", "0 1"];

#[test]
fn interleave_transaction_timer() {
    assert_eq!(guarded("transaction", &["A", "B"]), ONE_AFTER_THE_OTHER);
}

#[test]
fn interleave_block_concurrency_while_timer() {
    assert_eq!(guarded("block", &["A", "B"]), ONE_AFTER_THE_OTHER);
}

#[test]
fn bcw_steps_of_three_concurrent_calls() {
    let steps = guarded("block", &["A", "B", "C"]);
    let expected = ["A", "B", "C"].iter().flat_map(|name| {
        [format!("{name} enter"), format!("{name}>"), format!("{name}<"), format!("{name} leave")]
    });
    assert_eq!(steps, expected.chain(["0 1 2".to_string()]).collect::<Vec<_>>());
}

#[test]
fn bcw_nested() {
    let steps = order(|env| async move {
        let waits = stub(&env, "x");
        let call = env.spawn({
            let stub = waits.clone();
            async move { stub.rpc("nested", "").await }
        });
        env.sleep(Duration::from_millis(10)).await;
        waits.rpc("say", "let in").await.unwrap();
        call.await.unwrap();
        stub(&env, "y").rpc("two", "").await.unwrap();
    });
    let expected = ["outer>", "inner>", "inner<", "outer<", "leave", "let in", "a>", "a<", "b>"];
    assert_eq!(steps, expected);
}

#[test]
fn bcw_timeout_30s() {
    order(|env| async move {
        let stuck = env.spawn({
            let stub = stub(&env, "x");
            async move { stub.rpc("never", "").await }
        });
        env.sleep(Duration::from_millis(100)).await;
        let queued = object_error(stub(&env, "x").rpc("say", "never said").await);
        let stuck = object_error(stuck.await);
        assert_eq!(env.now().as_ms() / 1_000, 30);
        assert_eq!(stuck, queued);
        assert!(stuck.durable_object_reset && stuck.overloaded, "{stuck:?}");
        assert!(stuck.to_string().contains("waited for too long"), "{stuck}");
        stub(&env, "x").rpc("say", "again").await.unwrap();
    });
}

#[test]
fn two_transactions_in_one_request() {
    let steps = order(|env| async move {
        env.log(stub(&env, "x").rpc("transactions", "").await.unwrap().text().unwrap());
    });
    let expected =
        ["outside put", "a>", "a throws", "b>", "b sees a=None", "a failed Ok(())", "b,o"];
    assert_eq!(steps, expected);
}

#[test]
fn constructor_bcw_rejection_caught() {
    let steps = order(|env| async move {
        let failed = object_error(stub(&env, "fails").rpc("say", "never said").await);
        assert!(failed.durable_object_reset, "{failed:?}");
        env.log(failed.to_string());
        stub(&env, "begins").rpc("say", "let in").await.unwrap();
    });
    assert_eq!(steps, ["init>", "init<", "init failed", "init>", "init<", "let in"]);
}

#[test]
fn abort_variants() {
    order(|env| async move {
        let (idle, aborts) = (stub(&env, "x"), stub(&env, "x"));
        idle.rpc("say", "used").await.unwrap();
        let call = object_error(aborts.rpc("abort", "later").await);
        assert!(call.durable_object_reset && call.to_string() == "later", "{call:?}");
        let old = object_error(idle.rpc("say", "never said").await);
        assert_eq!(old, call, "it was idle when the object was reset, and is broken all the same");
        assert_eq!(object_error(idle.rpc("say", "never said").await), call, "for good");
        stub(&env, "x").rpc("say", "new").await.unwrap();
    });
}

#[test]
fn alarm_due_while_request_runs() {
    let run = |how: &'static str| {
        order(move |env| async move { drop(stub(&env, "x").rpc("armed_then", how).await.unwrap()) })
    };
    assert_eq!(run("timer"), ["armed", "alarm", "request end, alarm none"]);
    assert_eq!(run("bcw"), ["armed", "bcw>", "bcw<", "request end, alarm set", "alarm"]);
}

#[test]
fn alarm_and_requests_queued_behind_bcw() {
    let steps = order(|env| async move {
        let stub = stub(&env, "x");
        let call = |method, args| {
            let stub = stub.clone();
            env.spawn(async move { stub.rpc(method, args).await.unwrap() })
        };
        let blocks = call("armed_then", "bcw");
        env.sleep(Duration::from_millis(15)).await;
        let (one, two) = (call("say", "request 1"), call("say", "request 2"));
        blocks.await;
        one.await;
        two.await;
    });
    let end = "request end, alarm set";
    assert_eq!(steps, ["armed", "bcw>", "bcw<", end, "request 1", "request 2", "alarm"]);
}

#[test]
fn alarm_set_by_request_while_handler_runs() {
    let steps = order(|env| async move {
        let stub = stub(&env, "slow");
        stub.rpc("arm", "20").await.unwrap();
        env.sleep(Duration::from_millis(100)).await;
        stub.rpc("arm", "20").await.unwrap();
        let during = stub.rpc("get_alarm", "").await.unwrap();
        env.sleep(Duration::from_millis(600)).await;
        let after = stub.rpc("get_alarm", "").await.unwrap();
        env.log(format!("{} {}", during.text().unwrap(), after.text().unwrap()));
    });
    let expected = ["armed", "alarm>", "armed", "alarm<", "alarm>", "alarm<", "set null"];
    assert_eq!(steps, expected);
}

#[test]
fn alarm_rearmed_by_request_during_backoff() {
    let steps = order(|env| async move {
        let stub = stub(&env, "backoff");
        stub.rpc("arm", "20").await.unwrap();
        env.sleep(Duration::from_millis(500)).await;
        let in_backoff = stub.rpc("get_alarm", "").await.unwrap();
        stub.rpc("arm", "20").await.unwrap();
        env.sleep(Duration::from_secs(9)).await;
        let after = stub.rpc("get_alarm", "").await.unwrap();
        env.log(format!("{} {}", in_backoff.text().unwrap(), after.text().unwrap()));
    });
    let expected = [
        "armed",
        "alarm 1 retryCount 0 at 0.022s",
        "armed",
        "alarm 2 retryCount 1 at 2.023s",
        "alarm 3 retryCount 0 at 2.024s",
        "set null",
    ];
    assert_eq!(steps, expected);
}

#[test]
fn an_alarm_that_is_deleted_during_its_back_off_is_not_tried_again() {
    let scenario = Scenario {
        faults: vec![ScriptedFault::once(Fault::LoseRequest, "object.alarm")],
        ..Scenario::default()
    };
    let run = simulate(&scenario, &Source::Tape(Tape::benign()), &|cloud| {
        cloud.durable_object::<Steps>("STEPS");
        cloud.client("client", |env| async move {
            let stub = stub(&env, "x");
            stub.rpc("arm", "20").await.unwrap();
            env.sleep(Duration::from_millis(500)).await;
            stub.rpc("disarm", "").await.unwrap();
        });
    });
    let run = run.unwrap();
    assert_eq!(run.trace.to_string().matches("log    alarm").count(), 0, "{}", run.trace);
}
