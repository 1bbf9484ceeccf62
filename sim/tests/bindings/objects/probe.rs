//! An object that does what the probes ask of it, and the ways to ask.

#![allow(clippy::too_many_lines, reason = "one object answers every probe, a line or two each")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::cell::Cell;
use std::time::Duration;

use thunderhead_sim::sqlite::Value;
use thunderhead_sim::*;

/// An object that does what the probes ask of it.
pub struct Probe {
    ctx: ObjectState,
    env: Env,
    memory: Cell<u32>,
}

impl Probe {
    fn number(&self, key: &str) -> i64 {
        let stored = self.ctx.storage().get(key).unwrap();
        stored.and_then(|body| body.text().and_then(|text| text.parse().ok())).unwrap_or(0)
    }

    /// Reads, pauses in the given way, writes one more; what it read.
    async fn increment(&self, pause: &str) -> Result<Body, Error> {
        let read = self.number("n");
        let short = Duration::from_millis(20);
        match pause {
            "storage" => {}
            "timer" => self.env.sleep(short).await,
            "r2" => drop(self.env.bucket("shelf").head("k").await?),
            "rpc" => {
                let other = self.env.durable_object("PROBE").get_by_name("other");
                other.rpc("memory", "").await?;
            }
            _ => unreachable!("{pause}"),
        }
        self.ctx.storage().put("n", (read + 1).to_string())?;
        Ok(Body::from(read.to_string()))
    }

    async fn write_then_abort(&self, how: &str) -> Result<Body, Error> {
        self.ctx.storage().exec("create table if not exists w(a)", &[])?;
        self.env.sleep(Duration::from_millis(1)).await;
        match how {
            "sql" => drop(self.ctx.storage().exec("insert into w values (?)", &[how.into()])?),
            "kv" => self.ctx.storage().put("w", how)?,
            "sql_timer" => {
                self.ctx.storage().exec("insert into w values (?)", &[how.into()])?;
                self.env.sleep(Duration::from_millis(1)).await;
            }
            _ => unreachable!("{how}"),
        }
        self.ctx.abort(Some(&format!("after {how}"))).await
    }
}

impl DurableObject for Probe {
    fn new(ctx: ObjectState, env: Env) -> Probe {
        env.log("constructed");
        Probe { ctx, env, memory: Cell::new(0) }
    }

    async fn rpc(&self, method: &str, args: Body) -> Result<Body, Error> {
        let storage = self.ctx.storage();
        let text = args.text().unwrap_or("");
        match method {
            "memory" => {
                self.memory.set(self.memory.get() + 1);
                Ok(Body::from(self.memory.get().to_string()))
            }
            "seq" => {
                self.env.log(format!("seq {text}"));
                Ok(Body::empty())
            }
            "slow" => {
                let (name, ms) = text.split_once(' ').unwrap();
                self.env.log(format!("{name}>"));
                self.env.sleep(Duration::from_millis(ms.parse().unwrap())).await;
                self.env.log(format!("{name}<"));
                Ok(Body::empty())
            }
            "increment" => self.increment(text).await,
            "blocked" => {
                let (storage, env) = (storage.clone(), self.env.clone());
                let work = async move {
                    let n = storage.get("n")?.map_or(0, |n| n.text().unwrap().parse().unwrap());
                    env.sleep(Duration::from_millis(20)).await;
                    storage.put("n", format!("{}", n + 1))?;
                    Ok(n)
                };
                let n: i64 = self.ctx.block_concurrency_while(work).await?;
                Ok(Body::from(n.to_string()))
            }
            "transacted" => {
                let (inner, env) = (storage.clone(), self.env.clone());
                let work = async move {
                    let n = inner.get("n")?.map_or(0, |n| n.text().unwrap().parse().unwrap());
                    env.sleep(Duration::from_millis(20)).await;
                    inner.put("n", format!("{}", n + 1))?;
                    if n >= 5 { Err(Error::app("roll")) } else { Ok(n) }
                };
                let n: i64 = self.ctx.transaction(work).await?;
                Ok(Body::from(n.to_string()))
            }
            "gate_throws" => {
                let work = async { Err::<(), _>(Error::app("bcw boom")) };
                self.ctx.block_concurrency_while(work).await?;
                Ok(Body::empty())
            }
            "throw" => Err(Error::app(text)),
            "write_then_throw" => {
                storage.put("kv", "1")?;
                Err(Error::app("after write"))
            }
            "abort" => self.ctx.abort((!text.is_empty()).then_some(text)).await,
            "write_then_abort" => self.write_then_abort(text).await,
            "read" => {
                let rows =
                    storage.exec("select count(*) from sqlite_master where name = 'w'", &[])?;
                let written = match { rows }.raw().next() {
                    Some(row) if row[0] == Value::Integer(1) => {
                        storage.exec("select a from w", &[])?.to_array().len()
                    }
                    _ => 0,
                };
                let kv = storage.get("w")?.is_some() || storage.get("kv")?.is_some();
                Ok(Body::from(format!("{written} rows, kv {kv}")))
            }
            "arm" => {
                let ms: i64 = text.parse().unwrap();
                let at = self.env.now().as_ms().saturating_add_signed(ms);
                storage.set_alarm(Time::from_ms(at))?;
                Ok(Body::empty())
            }
            "mode" => {
                storage.put("mode", text)?;
                Ok(Body::empty())
            }
            "get_alarm" => Ok(Body::from(format!("{:?}", storage.get_alarm()))),
            _ => unreachable!("{method}"),
        }
    }

    async fn alarm(&self, info: AlarmInfo) -> Result<(), Error> {
        let storage = self.ctx.storage();
        let (count, retry) = (info.retry_count, info.is_retry());
        self.env.log(format!("alarm {count} {retry} {:?}", storage.get_alarm()));
        storage.put(&format!("ran {}", self.env.now()), "1")?;
        let mode = storage.get("mode")?.map(|mode| mode.text().unwrap().to_string());
        let soon = self.env.now() + Duration::from_millis(50);
        match mode.as_deref() {
            Some("throw") => Err(Error::app("no")),
            Some("rearm") if storage.list(&Default::default())?.len() < 4 => {
                storage.set_alarm(soon)
            }
            Some("set_then_throw") => {
                storage.put("mode", "quiet")?;
                storage.set_alarm(soon)?;
                Err(Error::app("no"))
            }
            Some("delete_then_throw") => {
                storage.delete_alarm();
                Err(Error::app("no"))
            }
            Some("abort") => {
                storage.put("mode", "quiet")?;
                self.env.sleep(Duration::from_millis(1)).await;
                self.ctx.abort(None).await
            }
            _ => Ok(()),
        }
    }
}

struct NoAlarm(ObjectState);

impl DurableObject for NoAlarm {
    const ALARM: bool = false;

    fn new(ctx: ObjectState, _env: Env) -> NoAlarm {
        NoAlarm(ctx)
    }

    async fn rpc(&self, _method: &str, _args: Body) -> Result<Body, Error> {
        self.0.storage().set_alarm(Time::from_ms(1))?;
        Ok(Body::empty())
    }
}

/// What a client's work logs, with what the objects log meanwhile.
pub fn probe<F: Future<Output = ()> + 'static>(work: impl Fn(Env) -> F + 'static) -> Vec<String> {
    let run = simulate(&Scenario::default(), &Source::Tape(Tape::benign()), &|cloud| {
        cloud.bucket("shelf", r2::BucketConfig::default());
        cloud.durable_object::<Probe>("PROBE");
        cloud.durable_object::<NoAlarm>("QUIET");
        cloud.client("client", &work);
    })
    .unwrap();
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    let said = run.trace.events().iter().filter_map(|event| match &event.kind {
        EventKind::Log { text } if &**text != "constructed" => Some(text.to_string()),
        _ => None,
    });
    said.collect()
}

pub fn stub(env: &Env, name: &str) -> Stub {
    env.durable_object("PROBE").get_by_name(name)
}

/// Two calls of one method at the same time; what they answered.
pub async fn race(env: &Env, method: &'static str, args: &'static str) -> String {
    let call = |stub: Stub| env.spawn(async move { stub.rpc(method, args).await });
    let (a, b) = (call(stub(env, "race")), call(stub(env, "race")));
    let (a, b) = (a.await.unwrap(), b.await.unwrap());
    format!("{} {}", a.text().unwrap(), b.text().unwrap())
}

pub fn raced(method: &'static str, args: &'static str) -> Vec<String> {
    probe(move |env| async move {
        let answers = race(&env, method, args).await;
        env.log(answers);
    })
}

pub fn object_error(result: Result<Body, Error>) -> ObjectError {
    match result {
        Err(Error::Object(error)) => error,
        other => panic!("expected an object's error, got {other:?}"),
    }
}
