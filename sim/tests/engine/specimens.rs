//! Mistakes that only a faithful engine shows. Each is small, is found by a promise, and has a twin without it that
//! holds.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use thunderhead_props::history::served;
use thunderhead_props::search::{self, Sampling};
use thunderhead_props::{Finding, Promise, System, Variant};
use thunderhead_sim::*;

/// How many storms a specimen that must hold is played in.
const STORMS: u64 = 150;

/// In how many storms of these faults the promise is broken.
fn broken_in(system: &System, promise: &Promise, faults: FaultSet) -> usize {
    let broken = (0..STORMS).filter(|seed| {
        let (scenario, source) = search::of_seed_among(system, *seed, Sampling::Random, 3, faults);
        let (_, broken) =
            search::check_drawn(system, system.reference(), &scenario, &source).unwrap();
        broken.iter().any(|violation| violation.promise == promise.name)
    });
    broken.count()
}

static SHOWN: Promise = Promise::eventually(
    "a thumbnail that is asked for is shown",
    "who asks for a thumbnail often enough gets it when the storm is over",
    |trace| {
        let last = served(trace, "web").last();
        match last {
            Some((_, request, response)) if response.status != 200 => {
                Err(Finding::missing(format!("{} is never shown", request.path)))
            }
            _ => Ok(()),
        }
    },
);

/// For how long it is believed that a thumbnail is being made.
const BELIEF: Duration = Duration::from_secs(60);

/// Answers 200 when there is a thumbnail. Otherwise it begins to make one, unless one is being made, and answers 202.
/// A worker that dies forgets what it was making, so the next request begins again.
async fn thumbnail(
    env: Env,
    request: Request,
    making: Rc<RefCell<BTreeMap<(u32, String), Time>>>,
    keeps: bool,
) -> Result<Response, Error> {
    let name = request.path[1..].to_string();
    if env.bucket("thumbnails").head(&name).await?.is_some() {
        return Ok(Response::new(200, ""));
    }
    let key = (env.life(), name.clone());
    let begun = making.borrow().get(&key).is_some_and(|begun| env.now() - *begun < BELIEF);
    if !begun {
        making.borrow_mut().insert(key, env.now());
        let inner = env.clone();
        let work = async move {
            inner.sleep(Duration::from_secs(3)).await;
            inner.bucket("thumbnails").put(&name, "small").execute().await.map(drop)
        };
        match keeps {
            true => env.wait_until(work),
            false => drop(env.spawn(work)),
        }
    }
    Ok(Response::new(202, ""))
}

fn thumbnails(keeps: bool, add: fn(&mut Cloud<'_>, FetchThumbnail)) -> System {
    let mount = move |cloud: &mut Cloud| {
        cloud.bucket("thumbnails", r2::BucketConfig::default());
        let making = Rc::default();
        add(
            cloud,
            Box::new(move |env, request| {
                Box::pin(thumbnail(env, request, Rc::clone(&making), keeps))
            }),
        );
        cloud.client("phone", |env| async move {
            for _ in 0..60 {
                let shown = env.fetch("web", Request::new("GET", "/cat", "")).await;
                if shown.is_ok_and(|response| response.status == 200) {
                    return;
                }
                env.sleep(Duration::from_secs(7)).await;
            }
        });
    };
    let variant = Variant::holds("reference", "makes thumbnails when they are asked for", mount);
    System::new("thumbnails", "", variant).with_promises(&[&SHOWN]).with_workload(|_| Vec::new())
}

type FetchThumbnail =
    Box<dyn Fn(Env, Request) -> std::pin::Pin<Box<dyn Future<Output = Result<Response, Error>>>>>;

#[test]
fn a_forgotten_wait_until_is_found_in_a_worker_and_is_none_where_spawned_work_goes_on() {
    let worker = |cloud: &mut Cloud<'_>, fetch| {
        cloud.worker("web").fetch(fetch);
    };
    let all = FaultSet::explored();
    // Until Workers ended their spawned work, they were as this is.
    let machine = |cloud: &mut Cloud<'_>, fetch| {
        cloud.machine("web").fetch(fetch);
    };
    assert_eq!(broken_in(&thumbnails(false, machine), &SHOWN, all), 0, "missed");
    assert_eq!(broken_in(&thumbnails(true, worker), &SHOWN, all), 0, "holds");
    assert_eq!(broken_in(&thumbnails(false, worker), &SHOWN, all), STORMS as usize, "found");
}

static DATED: Promise =
    Promise::always("every sale has a day", "no ticket is sold between two days", |trace| {
        let undated = served(trace, "web").find(|(_, _, sold)| sold.body.text() == Some("0"));
        undated.map_or(Ok(()), |(at, ..)| Err(Finding::at(at, "a ticket was sold on no day")))
    });

/// A desk that sells tickets for the present day, which is in memory and in storage.
struct Desk {
    ctx: ObjectState,
    env: Env,
    day: Rc<Cell<u32>>,
    /// Whether it has no day while it writes its report, which is the mistake.
    forgets: bool,
}

impl Desk {
    fn new(ctx: ObjectState, env: Env, forgets: bool) -> Desk {
        let day = ctx.storage().get("day").unwrap();
        let day = day.map_or(1, |day| day.text().unwrap().parse().unwrap());
        Desk { ctx, env, day: Rc::new(Cell::new(day)), forgets }
    }

    /// Nothing is sold while the till is counted, which takes a while.
    async fn close(&self) -> Result<Body, Error> {
        let (env, storage, next) =
            (self.env.clone(), self.ctx.storage().clone(), self.day.get() + 1);
        let counted = async move {
            env.sleep(Duration::from_secs(20)).await;
            storage.put("day", next.to_string())
        };
        self.ctx.transaction(counted).await?;
        self.day.set(if self.forgets { 0 } else { next });
        self.env.bucket("reports").put(&next.to_string(), "counted").execute().await?;
        self.day.set(next);
        Ok(Body::from("closed"))
    }
}

impl DurableObject for Desk {
    async fn rpc(&self, method: &str, _args: Body) -> Result<Body, Error> {
        match method {
            "close" => self.close().await,
            _ => Ok(Body::from(self.day.get().to_string())),
        }
    }
}

fn desk(forgets: bool) -> System {
    let mount = move |cloud: &mut Cloud| {
        cloud.bucket("reports", r2::BucketConfig::default());
        cloud.durable_object_with("DESK", move |ctx, env| Desk::new(ctx, env, forgets));
        cloud.worker("web").fetch(|env, request| async move {
            let desk = env.durable_object("DESK").get_by_name("one");
            Ok(Response::new(200, desk.rpc(&request.path[1..], "").await?))
        });
    };
    let workload = |rng: &mut Rng| {
        let sale = 1 + u64::from(rng.below(15_000));
        let at = |ms, path| ClientRequest::new(Time::from_ms(ms), "POST", path, "");
        vec![at(0, "/close"), at(sale, "/sell")]
    };
    let variant = Variant::holds("reference", "sells tickets", mount);
    System::new("desk", "", variant).with_promises(&[&DATED]).with_workload(workload)
}

#[test]
fn what_a_caller_does_after_a_transaction_is_seen_by_those_who_waited_for_it() {
    // Other faults change the order of events, and with it found the mistake now and then when those who had waited
    // came before the caller.
    let faults = FaultSet::crashes();
    assert_eq!(broken_in(&desk(false), &DATED, FaultSet::explored()), 0, "holds");
    let found = broken_in(&desk(true), &DATED, faults);
    assert!(found > 30, "{found} of {STORMS}");
}
