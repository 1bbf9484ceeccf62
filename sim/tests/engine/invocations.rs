//! What ends with an invocation, and what keeps it open. Tests that are called like a probe of the real runtime compare
//! the order that was observed there.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use thunderhead_sim::queue::{ConsumerConfig, MessageBody, QueueConfig};
use thunderhead_sim::*;

use crate::runs::benign;
use crate::support::{count, lines};

/// Logs `text` after so many milliseconds.
async fn later(env: Env, ms: u64, text: &str) {
    env.sleep(Duration::from_millis(ms)).await;
    env.log(text);
}

/// What a client saw and a worker did, in its order, when the client asked the worker once.
fn order<F>(handler: impl Fn(Env) -> F + Clone + 'static) -> Vec<String>
where
    F: Future<Output = Result<Response, Error>> + 'static,
{
    let run = simulate(&Scenario::default(), &Source::Tape(Tape::benign()), &|cloud| {
        let handler = handler.clone();
        cloud.bucket("shelf", r2::BucketConfig::default());
        cloud.worker("web").fetch(move |env, _| handler(env));
        cloud.client("caller", |env| async move {
            let answer = env.fetch("web", Request::new("GET", "/", "")).await;
            env.log(format!("caller got {}", answer.map_or(0, |answer| answer.status)));
        });
    });
    let run = run.unwrap();
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    let logged = run.trace.events().iter().filter_map(|event| match &event.kind {
        EventKind::Log { text } => Some(text.to_string()),
        _ => None,
    });
    logged.collect()
}

const ONE_ENDED: &str = "1 task not awaited, ended with the invocation";

#[test]
fn what_a_worker_has_spawned_ends_with_its_invocation_and_what_it_has_sent_arrives() {
    let run = benign(&|cloud| {
        cloud.bucket("shelf", r2::BucketConfig::default());
        cloud.worker("web").fetch(|env, _| async move {
            let inner = env.clone();
            drop(env.spawn(async move {
                let first = inner.bucket("shelf").put("first", "1").execute().await;
                inner.bucket("shelf").put("second", "2").execute().await?;
                first
            }));
            Ok(Response::new(200, ""))
        });
    });
    assert_eq!(
        format!("\n{}", run.trace),
        r#"
    0.000s     1  client  call   #0 fetch web GET /
    0.001s     2  web     begin  #0 fetch web GET /
    0.001s     3  web     end    #0 200
    0.001s     4  web     call   #1 r2.put shelf/first 1
    0.001s     5  web     log    1 task not awaited, ended with the invocation
    0.002s     6  client  return #0 200
    0.002s     7  r2      effect #1 r2.put shelf/first 1 = stored etag=c4ca4238… version=910a2dec…
   60.000s     8  cloud   calm   the storm is over
"#
    );
}

#[test]
fn wait_until_runs_after_response() {
    let order = order(|env| async move {
        env.log("handler>");
        let inner = env.clone();
        env.wait_until(async move {
            inner.log("bg>");
            later(inner.clone(), 100, "bg mid").await;
            inner.bucket("shelf").put("wu1", "x").execute().await?;
            inner.log("bg<");
            Ok(())
        });
        env.log("handler<");
        Ok(Response::new(200, ""))
    });
    // On the runtime the work begins before `waitUntil` is called, and here at the first wait after it.
    assert_eq!(order, ["handler>", "handler<", "bg>", "caller got 200", "bg mid", "bg<"]);
}

#[test]
fn unawaited_timer_kept_alive_by_wait_until() {
    let order = order(|env| async move {
        drop(env.spawn(later(env.clone(), 100, "100ms, not waited for")));
        drop(env.spawn(later(env.clone(), 600, "600ms, not waited for")));
        let kept = later(env.clone(), 300, "300ms, waitUntil");
        env.wait_until(async {
            kept.await;
            Ok(())
        });
        Ok(Response::new(200, ""))
    });
    assert_eq!(order, ["caller got 200", "100ms, not waited for", "300ms, waitUntil", ONE_ENDED]);
}

#[test]
fn wait_until_rejection_and_late_calls() {
    let order = order(|env| async move {
        env.wait_until(async { Err(Error::app("bg")) });
        let inner = env.clone();
        env.wait_until(async move {
            later(inner.clone(), 50, "first done").await;
            let nested = later(inner.clone(), 50, "nested done");
            inner.wait_until(async {
                nested.await;
                Ok(())
            });
            Ok(())
        });
        Ok(Response::new(201, ""))
    });
    assert_eq!(order, ["caller got 201", "first done", "nested done", "waitUntil: bg"]);
}

#[test]
fn unawaited_promise_after_return() {
    let order = order(|env| async move {
        drop(env.spawn(later(env.clone(), 100, "timer 100ms")));
        let (inner, shelf) = (env.clone(), env.bucket("shelf"));
        drop(env.spawn(async move { inner.log("microtask") }));
        let inner = env.clone();
        drop(env.spawn(async move {
            later(inner, 20, "after timer").await;
            shelf.put("sua", "x").execute().await
        }));
        Ok(Response::new(200, ""))
    });
    let ended = "2 tasks not awaited, ended with the invocation";
    assert_eq!(order, ["microtask", ended, "caller got 200"]);
}

#[test]
fn unawaited_send_then_return() {
    let requests =
        ["/waited", "/waitUntil", "/afterTimer", "/thenThrow"].iter().zip([0, 100, 200, 300]);
    let requests =
        requests.map(|(path, at)| ClientRequest::new(Time::from_ms(at), "GET", path, ""));
    let scenario = Scenario { requests: requests.collect(), ..Scenario::default() };
    let run = simulate(&scenario, &Source::Tape(Tape::benign()), &|cloud| {
        cloud.queue("fire", QueueConfig::default());
        cloud.worker("web").fetch(|env, request| async move {
            let (inner, path) = (env.clone(), request.path.clone());
            let send = move || async move {
                inner.queue("fire").send(MessageBody::text(&path[1..])).await.map(drop)
            };
            match &*request.path {
                "/waited" => send().await?,
                "/waitUntil" => env.wait_until(send()),
                "/afterTimer" => {
                    let inner = env.clone();
                    drop(env.spawn(async move {
                        inner.sleep(Duration::from_millis(20)).await;
                        send().await
                    }));
                }
                _ => {
                    send().await?;
                    return Err(Error::app("x"));
                }
            }
            Ok(Response::new(200, ""))
        });
        cloud.worker("reader").queue(
            &[("fire", ConsumerConfig::default())],
            |env, batch| async move {
                for message in batch.messages() {
                    let text = message.body().data.text().unwrap();
                    env.log(format!("{text}#{}", message.attempts()));
                }
                Ok(())
            },
        );
    });
    let run = run.unwrap();
    let read = lines(&run, "reader")
        .into_iter()
        .filter(|line| line.contains('#') && line.contains(" log "));
    let read: Vec<String> = read.map(|line| line.replace("reader log ", "")).collect();
    assert_eq!(read, ["waited#1", "waitUntil#1", "thenThrow#1"], "{}", run.trace);
}

#[test]
fn background_work_that_takes_too_long_is_cancelled_thirty_seconds_after_the_answer() {
    let order = order(|env| async move {
        let (short, long) =
            (later(env.clone(), 29_000, "29 s"), later(env.clone(), 31_000, "31 s"));
        env.wait_until(async {
            short.await;
            Ok(())
        });
        env.wait_until(async {
            long.await;
            Ok(())
        });
        Ok(Response::new(200, ""))
    });
    let too_long = "waitUntil() tasks did not complete within the allowed time after invocation end and have been \
        cancelled.";
    assert_eq!(order, ["caller got 200", "29 s", too_long, ONE_ENDED]);
}

#[test]
fn a_host_that_dies_in_the_background_has_answered() {
    let kill = Kill { at: Time::from_ms(2_000), host: "web".into(), down: None };
    let requests = vec![ClientRequest::new(Time::ZERO, "GET", "/", "")];
    let scenario = Scenario { kills: vec![kill], requests, ..Scenario::default() };
    let run = simulate(&scenario, &Source::Tape(Tape::benign()), &|cloud| {
        cloud.worker("web").fetch(|env, _| async move {
            env.log("handled");
            let work = later(env.clone(), 5_000, "too late");
            env.wait_until(async {
                work.await;
                Ok(())
            });
            Ok(Response::new(200, ""))
        });
    })
    .unwrap();
    assert_eq!((count(&run, "handled"), count(&run, "too late")), (1, 0), "{}", run.trace);
    assert_eq!(lines(&run, "client  return"), ["client return #0 200"], "{}", run.trace);
}

/// A queue of one message, whose consumer does `work`; the whole run.
fn consumed(work: fn(&Env)) -> Run {
    benign(&|cloud| {
        cloud.queue("jobs", QueueConfig::default());
        cloud.worker("web").fetch(|env, _| async move {
            env.queue("jobs").send(MessageBody::text("job")).await?;
            Ok(Response::new(202, ""))
        });
        let consumer = ConsumerConfig { max_retries: 1, ..ConsumerConfig::default() };
        cloud.worker("worker").queue(&[("jobs", consumer)], move |env, _| async move {
            env.log("handler<");
            work(&env);
            Ok(())
        });
    })
}

#[test]
fn the_result_of_a_batch_waits_for_wait_until_and_fails_with_it() {
    let run = consumed(|env| {
        let inner = env.clone();
        env.wait_until(async move {
            later(inner, 2_000, "bg").await;
            Err(Error::app("the background failed"))
        });
    });
    let failed = |call: u32| format!("worker end #{call} error: the background failed");
    assert_eq!(count(&run, "worker  log    bg"), 2, "it is delivered again: {}", run.trace);
    assert_eq!(lines(&run, "worker  end"), [failed(2), failed(3)], "{}", run.trace);
}

#[test]
fn what_a_consumer_has_spawned_ends_with_its_batch() {
    let run = consumed(|env| drop(env.spawn(later(env.clone(), 1, "after the batch"))));
    assert_eq!(count(&run, "after the batch"), 0, "{}", run.trace);
    assert_eq!(lines(&run, "worker  end"), ["worker end #2 done"], "{}", run.trace);
    assert_eq!(lines(&run, "not awaited"), [format!("worker log {ONE_ENDED}")], "{}", run.trace);
}

#[test]
fn what_a_machine_and_a_host_outside_have_spawned_goes_on() {
    let run = simulate(&Scenario::default(), &Source::Tape(Tape::benign()), &|cloud| {
        let handler = |env: Env, _request: Request| async move {
            drop(env.spawn(later(env.clone(), 100, "still there")));
            Ok(Response::new(200, ""))
        };
        cloud.machine("browser").fetch(handler);
        cloud.outside("provider", handler);
        cloud.client("caller", |env| async move {
            for host in ["browser", "provider"] {
                env.fetch(host, Request::new("GET", "/", "")).await.unwrap();
            }
        });
    });
    let run = run.unwrap();
    assert_eq!(count(&run, "still there"), 2, "{}", run.trace);
    assert_eq!(count(&run, "not awaited"), 0, "{}", run.trace);
}

/// An object that begins work which its handlers do not await.
struct Busy {
    ctx: ObjectState,
    env: Env,
}

impl DurableObject for Busy {
    fn new(ctx: ObjectState, env: Env) -> Busy {
        Busy { ctx, env }
    }

    async fn rpc(&self, method: &str, _args: Body) -> Result<Body, Error> {
        let (env, storage) = (self.env.clone(), self.ctx.storage().clone());
        match method {
            "un" => drop(self.env.spawn(async move {
                later(env, 150, "DO unawaited 150ms").await;
                storage.put("bg", "written")
            })),
            "wu" => self.env.wait_until(async move {
                later(env, 50, "rejects").await;
                Err(Error::app("bg"))
            }),
            _ => return Ok(storage.get("bg")?.unwrap_or(Body::from("nothing"))),
        }
        Ok(Body::from("returned"))
    }
}

#[test]
fn unawaited_after_durable_object_return() {
    let run = simulate(&Scenario::default(), &Source::Tape(Tape::benign()), &|cloud| {
        cloud.durable_object::<Busy>("BUSY");
        cloud.client("client", |env| async move {
            let stub = env.durable_object("BUSY").get_by_name("a");
            for method in ["un", "read", "wu"] {
                env.log(format!("{method} {}", stub.rpc(method, "").await.unwrap()));
                env.sleep(Duration::from_millis(400)).await;
            }
            env.log(format!("read {}", stub.rpc("read", "").await.unwrap()));
        });
    });
    let order: Vec<String> = lines(&run.unwrap(), " log ")
        .iter()
        .map(|line| line.split_once(" log ").unwrap().1.to_string())
        .collect();
    let expected = [
        r#"un "returned""#,
        "DO unawaited 150ms",
        r#"read "written""#,
        r#"wu "returned""#,
        "rejects",
        "waitUntil: bg",
        r#"read "written""#,
    ];
    assert_eq!(order, expected);
}
