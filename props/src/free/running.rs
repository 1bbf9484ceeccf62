//! Small systems that run and break the promises that come for nothing, beside ones that keep them.

use std::time::Duration;

use thunderhead_sim::queue::{ConsumerConfig, MessageBody, QueueConfig};
use thunderhead_sim::r2::{BucketConfig, EventType, Rule};
use thunderhead_sim::workflow::{CreateOptions, WorkflowConfig, WorkflowEvent};
use thunderhead_sim::{
    AlarmInfo, Body, ClientRequest, Cloud, DurableObject, Env, Error, Fault, MessageBatch,
    ObjectState, Request, Response, Scenario, ScriptedFault, Source, Step, Tape, Time,
};

use crate::promise::Violation;
use crate::search;
use crate::system::{System, Variant};

fn system(mount: impl Fn(&mut Cloud) + Send + Sync + 'static) -> System {
    System::new("small", "breaks a promise or keeps it", Variant::holds("only", "one", mount))
}

/// What a run of `system` breaks, when each path is sent at its second and these faults strike.
fn broken(system: &System, paths: &[(u64, &str)], faults: &[(Fault, &str)]) -> Vec<Violation> {
    let request =
        |&(at, path): &(u64, &str)| ClientRequest::new(Time::from_ms(1_000 * at), "POST", path, "");
    let scripted = |&(fault, on): &(Fault, &str)| ScriptedFault::once(fault, on);
    let scenario = Scenario {
        requests: paths.iter().map(request).collect(),
        faults: faults.iter().map(scripted).collect(),
        ..Scenario::default()
    };
    let source = Source::Tape(Tape::benign());
    let checked = search::check(system, system.reference(), &scenario, &source);
    checked.expect("the scenario fits the system").1
}

fn names(broken: &[Violation]) -> Vec<&str> {
    broken.iter().map(|violation| &*violation.promise).collect()
}

/// `web` puts a message on the queue `jobs`, and `worker` handles it.
fn queueing(cloud: &mut Cloud, dead_letters: Option<&str>) {
    cloud.queue("jobs", QueueConfig::default());
    cloud.queue("dead", QueueConfig::default());
    cloud.worker("web").fetch(|env, request| async move {
        env.queue("jobs").send(MessageBody::text(&request.path[1..])).await?;
        Ok(Response::new(202, ""))
    });
    let consumer = ConsumerConfig {
        max_retries: 1,
        dead_letter_queue: dead_letters.map(Into::into),
        ..ConsumerConfig::default()
    };
    let refuse = |_: Env, _: MessageBatch| async { Err(Error::app("not today")) };
    cloud.worker("worker").queue(&[("jobs", consumer)], refuse);
}

#[test]
fn a_consumer_that_always_fails_gives_its_message_up() {
    let dropped = broken(&system(|cloud| queueing(cloud, None)), &[(0, "/a")], &[]);
    assert_eq!(names(&dropped), ["no message is given up"]);
    assert!(dropped[0].finding.message.contains("of jobs is given up"), "{dropped:?}");
    let unread = broken(&system(|cloud| queueing(cloud, Some("dead"))), &[(0, "/a")], &[]);
    assert_eq!(names(&unread), ["no message is given up"]);
}

#[test]
fn a_dead_letter_that_is_read_is_not_given_up() {
    let read = system(|cloud| {
        queueing(cloud, Some("dead"));
        let take = |_: Env, _: MessageBatch| async { Ok(()) };
        cloud.worker("undertaker").queue(&[("dead", ConsumerConfig::default())], take);
    });
    assert_eq!(broken(&read, &[(0, "/a")], &[]), []);
}

/// `POST /create` starts an instance of `body`; any other path is what is done to it.
fn instances(cloud: &mut Cloud, body: impl Fn() -> Result<Body, Error> + Copy + 'static) {
    cloud.worker("web").fetch(|env, request: Request| async move {
        let workflow = env.workflow("job");
        match &*request.path {
            "/create" => drop(workflow.create(CreateOptions::new("one", "")).await?),
            "/pause" => workflow.get("one").await?.pause().await?,
            _ => drop(workflow.get("one").await?.status().await?),
        }
        Ok(Response::new(200, ""))
    });
    let run = move |_: Env, _: WorkflowEvent, step: Step| async move {
        step.sleep("a while", Duration::from_secs(5)).await?;
        body()
    };
    cloud.workflow("job", WorkflowConfig::default(), run);
}

#[test]
fn a_workflow_that_is_paused_and_forgotten_never_ends() {
    let system = system(|cloud| instances(cloud, || Ok(Body::empty())));
    assert_eq!(broken(&system, &[(0, "/create")], &[]), []);
    let paused = broken(&system, &[(0, "/create"), (1, "/pause")], &[]);
    assert_eq!(names(&paused), ["every workflow ends"]);
}

#[test]
fn a_workflow_that_throws_is_heard_by_who_asks_and_not_otherwise() {
    let system = system(|cloud| instances(cloud, || Err(Error::app("no"))));
    assert_eq!(names(&broken(&system, &[(0, "/create")], &[])), ["no workflow fails unheard"]);
    assert_eq!(broken(&system, &[(0, "/create"), (20, "/status")], &[]), []);
}

/// An object that sets an alarm which always fails, and that refuses to be told `no`.
struct Stubborn {
    ctx: ObjectState,
    env: Env,
}

impl DurableObject for Stubborn {
    fn new(ctx: ObjectState, env: Env) -> Stubborn {
        Stubborn { ctx, env }
    }

    async fn rpc(&self, method: &str, _args: Body) -> Result<Body, Error> {
        let storage = self.ctx.storage();
        match method {
            "alarm" => storage.set_alarm(self.env.now() + Duration::from_secs(1))?,
            "no" => return Err(Error::app("no")),
            "seal" if storage.get("sealed")?.is_some() => return Err(Error::app("sealed")),
            "seal" => storage.put("sealed", "yes")?,
            _ => storage.put("done", "yes")?,
        }
        Ok(Body::empty())
    }

    async fn alarm(&self, _info: AlarmInfo) -> Result<(), Error> {
        Err(Error::app("too early"))
    }
}

/// `POST /method` calls the object, and answers 200 whatever it says.
fn stubborn(cloud: &mut Cloud) {
    cloud.durable_object::<Stubborn>("STUBBORN");
    cloud.worker("web").fetch(|env, request: Request| async move {
        let object = env.durable_object("STUBBORN").get_by_name("one");
        let _ = object.rpc(&request.path[1..], "").await;
        Ok(Response::new(200, ""))
    });
}

#[test]
fn an_alarm_that_always_fails_is_dropped_unless_the_object_goes_on() {
    let dropped = broken(&system(stubborn), &[(0, "/alarm")], &[]);
    assert_eq!(names(&dropped), ["no alarm is dropped for good"]);
    assert_eq!(broken(&system(stubborn), &[(0, "/alarm"), (1_000, "/finish")], &[]), []);
}

#[test]
fn an_object_that_refuses_every_call_after_the_storm_is_refuted() {
    let refusing = broken(&system(stubborn), &[(0, "/seal"), (100, "/seal"), (200, "/seal")], &[]);
    assert_eq!(names(&refusing), ["no object refuses every call"]);
    let answers = [(0, "/seal"), (100, "/seal"), (200, "/seal"), (300, "/finish")];
    assert_eq!(broken(&system(stubborn), &answers, &[]), []);
    // It has never answered that.
    assert_eq!(broken(&system(stubborn), &[(100, "/no"), (200, "/no")], &[]), []);
}

/// How a photo is counted when it is stored.
#[derive(Clone, Copy)]
enum Counting {
    /// Each delivery adds one.
    Deliveries,
    /// The message has a place of its own.
    Messages,
}

/// `web` announces a photo on a queue; `counter` writes down how many there were in a bucket.
fn counting(cloud: &mut Cloud, how: Counting) {
    cloud.queue("photos", QueueConfig::default());
    cloud.bucket("counts", BucketConfig::default());
    cloud.worker("web").fetch(|env, request: Request| async move {
        env.queue("photos").send(MessageBody::text(&request.path[1..])).await?;
        Ok(Response::new(200, ""))
    });
    let consumer = ConsumerConfig { max_batch_size: 1, ..ConsumerConfig::default() };
    let count = move |env: Env, batch: MessageBatch| async move {
        let counts = env.bucket("counts");
        for message in batch.messages() {
            let key = match how {
                Counting::Deliveries => "all".to_string(),
                Counting::Messages => message.body().to_text().unwrap_or_default(),
            };
            let before = counts.get(&key).execute().await?;
            let before = before.and_then(|found| found.body?.text()?.parse::<u32>().ok());
            let now = match how {
                Counting::Deliveries => before.unwrap_or(0) + 1,
                Counting::Messages => 1,
            };
            counts.put(&key, now.to_string()).execute().await?;
        }
        Ok(())
    };
    cloud.worker("counter").queue(&[("photos", consumer)], count);
}

/// The counter dies after it has written and before it has acknowledged.
const DIES: &[(Fault, &str)] = &[(Fault::CrashAfter, "r2.put counts/*")];

#[test]
fn a_storm_that_is_counted_leaves_a_trace() {
    let wrong = system(|cloud| counting(cloud, Counting::Deliveries));
    assert_eq!(broken(&wrong, &[(0, "/cat"), (9, "/dog")], &[]), []);
    let found = broken(&wrong, &[(0, "/cat"), (9, "/dog")], DIES);
    assert_eq!(names(&found), ["the storm leaves no trace"]);
    let message = &found[0].finding.message;
    let told = "`body` is `3` after the storm and `2` in the calm. The calm run, the nearest of 2, plays the \
        requests 1, 2 one after the other, ten minutes apart. If this may be so, add \
        `.ignoring(\"counts.body\", \"why\")` to the system";
    assert!(message.starts_with("in the object of bucket counts (key=all, "), "{message}");
    assert!(message.ends_with(told), "{message}");
    let right = system(|cloud| counting(cloud, Counting::Messages));
    assert_eq!(broken(&right, &[(0, "/cat"), (9, "/dog")], DIES), []);
}

#[test]
fn what_a_system_ignores_or_leaves_out_is_not_held_against_it() {
    let requests = &[(0, "/cat"), (9, "/dog")];
    let wrong = || system(|cloud| counting(cloud, Counting::Deliveries));
    let ignoring = wrong().ignoring("counts.body", "counts deliveries");
    assert_eq!(broken(&ignoring, requests, DIES), []);
    let without = wrong().without("the storm leaves no trace", "counts deliveries");
    assert_eq!(broken(&without, requests, DIES), []);
    assert_eq!(without.left_out()[0].1, "counts deliveries");
    assert!(without.promise("the storm leaves no trace").is_none());
}

/// `web` stores a photo, and then a receipt that names its version.
fn receipts(cloud: &mut Cloud) {
    cloud.bucket("photos", BucketConfig::default());
    cloud.bucket("receipts", BucketConfig::default());
    cloud.worker("web").fetch(|env, request: Request| async move {
        let photo = env.bucket("photos").put("cat", &*request.path).execute().await?;
        let version = photo.map(|photo| photo.version.clone()).unwrap_or_default();
        env.bucket("receipts").put("cat", &*version).execute().await?;
        Ok(Response::new(200, ""))
    });
}

#[test]
fn a_name_that_refers_to_something_else_than_in_the_calm_is_told() {
    let system = system(receipts);
    assert_eq!(broken(&system, &[(0, "/one"), (9, "/two")], &[]), []);
    let dies = [(Fault::CrashAfter, "r2.put photos/*")];
    let found = broken(&system, &[(0, "/one")], &dies);
    assert_eq!(names(&found), ["the storm leaves no trace"], "the photo has no receipt");
    assert!(found[0].finding.message.contains("bucket photos"), "{found:?}");
    let scenario = Scenario {
        requests: [(0, "/one"), (9_000, "/two")]
            .map(|(at, path)| ClientRequest::new(Time::from_ms(at), "POST", path, ""))
            .into(),
        faults: vec![ScriptedFault { skip: 1, ..ScriptedFault::once(dies[0].0, dies[0].1) }],
        ..Scenario::default()
    };
    let source = Source::Tape(Tape::benign());
    let found = search::check(&system, system.reference(), &scenario, &source).unwrap().1;
    assert_eq!(
        names(&found),
        ["the storm leaves no trace"],
        "the receipt is that of another photo"
    );
    let told = "occurs nowhere else after the storm and also in ";
    assert!(found[0].finding.message.contains(told), "{found:?}");
}

/// `web` writes what differs from run to run: a short name that is made anew, and a number that is drawn.
fn drawing(cloud: &mut Cloud) {
    cloud.bucket("notes", BucketConfig::default());
    cloud.worker("web").fetch(|env, request: Request| async move {
        let (name, number) = (env.unique(), env.random(1_000));
        let note =
            format!(r#"{{"short":"{}","number":{number},"path":"{}"}}"#, &name[..5], request.path);
        env.bucket("notes").put(&name, note).execute().await?;
        Ok(Response::new(200, ""))
    });
}

#[test]
fn what_two_calm_runs_do_not_agree_on_is_not_compared() {
    let storm = [(Fault::LoseReply, "client>fetch web*")];
    assert_eq!(broken(&system(drawing), &[(0, "/cat"), (1, "/dog")], &[]), []);
    assert_eq!(broken(&system(drawing), &[(0, "/cat"), (1, "/dog")], &storm), []);
}

/// `web` accepts a photo unless another one was accepted less than a second ago. `/count` adds one to a number that it
/// has read long before.
fn limiting(cloud: &mut Cloud) {
    cloud.bucket("accepted", BucketConfig::default());
    cloud.worker("web").fetch(|env, request: Request| async move {
        let accepted = env.bucket("accepted");
        let before = accepted.get("before").execute().await?;
        let before = before.and_then(|found| found.body?.text()?.parse::<u64>().ok());
        let now = match &*request.path {
            "/count" => {
                env.sleep(Duration::from_millis(150)).await;
                before.unwrap_or(0) + 1
            }
            _ if before.is_some_and(|before| env.now().as_ms() < before + 1_000) => {
                return Ok(Response::new(429, ""));
            }
            _ => env.now().as_ms(),
        };
        accepted.put("before", now.to_string()).execute().await?;
        accepted.put(&request.path[1..], "photo").execute().await?;
        Ok(Response::new(200, ""))
    });
}

#[test]
fn who_is_refused_for_coming_too_soon_leaves_no_trace_and_a_race_does() {
    let at = |times: [u64; 2], paths: [&str; 2]| {
        let requests = times.into_iter().zip(paths);
        let request =
            |(at, path): (u64, &str)| ClientRequest::new(Time::from_ms(at), "POST", path, "");
        let scenario =
            Scenario { requests: requests.map(request).collect(), ..Scenario::default() };
        let system = system(limiting);
        let source = Source::Tape(Tape::benign());
        search::check(&system, system.reference(), &scenario, &source).unwrap().1
    };
    assert_eq!(at([0, 300], ["/cat", "/dog"]), [], "the dog is refused");
    assert_eq!(at([0, 300], ["/count", "/count"]), []);
    assert_eq!(names(&at([0, 0], ["/count", "/count"])), ["the storm leaves no trace"]);
}

/// `web` stores a photo, R2 notifies `copier`, and that writes a copy.
fn copying(cloud: &mut Cloud) {
    let rules = vec![Rule::new("stored", [EventType::ObjectCreate])];
    cloud.bucket("photos", BucketConfig { rules, ..BucketConfig::default() });
    cloud.bucket("copies", BucketConfig::default());
    cloud.queue("stored", QueueConfig::default());
    cloud.worker("web").fetch(|env, request: Request| async move {
        env.bucket("photos").put("cat", &*request.path).execute().await?;
        Ok(Response::new(202, ""))
    });
    let copy = |env: Env, _: MessageBatch| async move {
        env.bucket("copies").put("cat", "copy").execute().await?;
        Ok(())
    };
    cloud.worker("copier").queue(&[("stored", ConsumerConfig::default())], copy);
}

#[test]
fn what_no_system_can_survive_is_not_compared() {
    let lost = [(Fault::LoseEvent, "r2.notify photos*")];
    assert_eq!(broken(&system(copying), &[(0, "/cat")], &lost), []);
    let late = [(Fault::Fail, "copier>r2.put copies/*")];
    assert_eq!(broken(&system(copying), &[(0, "/cat")], &late), [], "it is delivered again");
}
