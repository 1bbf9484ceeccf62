//! Small running systems with one mistake each. A promise of the image pipeline catches it by what R2 did, where the
//! application's own words and the bytes alone would excuse it.

use sha2::{Digest, Sha256};
use thunderhead_props::search::{self, Strategy};
use thunderhead_props::{System, UPLOADS, Variant, Violation};
use thunderhead_sim::queue::{ConsumerConfig, MessageBatch, QueueConfig};
use thunderhead_sim::r2::{self, BucketConfig, EventType, Rule};
use thunderhead_sim::sqlite::Value;
use thunderhead_sim::workflow::{CreateOptions, WorkflowConfig, WorkflowEvent};
use thunderhead_sim::{
    Body, ClientRequest, Cloud, DurableObject, Env, Error, EventKind, ObjectState, Reply, Request,
    Response, Run, Step, Time,
};

const KEY: &str = "acme/cat.jpg";

/// A bucket that tells a queue, a route that uploads, and a consumer.
fn mount<F>(cloud: &mut Cloud, consume: impl Fn(Env, MessageBatch) -> F + 'static)
where
    F: Future<Output = Result<(), Error>> + 'static,
{
    cloud.queue("uploads", QueueConfig::default());
    let rules = vec![Rule::new("uploads", [EventType::ObjectCreate])];
    cloud.bucket("images", BucketConfig { rules, ..BucketConfig::default() });
    cloud.worker("web").fetch(|env: Env, request: Request| async move {
        env.bucket("images").put(KEY, request.body.clone()).execute().await?;
        Ok(Response::new(201, ""))
    });
    let one_by_one = ConsumerConfig { max_batch_size: 1, ..ConsumerConfig::default() };
    cloud.worker("consumer").queue(&[("uploads", one_by_one)], consume);
}

/// A system with that mistake, of which these bytes are uploaded one after the other.
fn system(bytes: &'static [&str], mount: fn(&mut Cloud)) -> System {
    let mistaken = Variant::holds("mistaken", "has one mistake", mount);
    System::new("uploads", "a small one", mistaken).with_promises(UPLOADS).with_workload(
        move |rng| {
            let mut at = 0;
            let upload = |bytes: &&str| {
                at += u64::from(rng.below(4)) * 1_000;
                ClientRequest::new(Time::from_ms(at), "PUT", "/", *bytes)
            };
            bytes.iter().map(upload).collect()
        },
    )
}

/// The first runs of 5,000 that break a promise.
fn broken<'a>(system: &'a System, promise: &'a str) -> impl Iterator<Item = (Run, Violation)> + 'a {
    (0..5_000).filter_map(move |seed| {
        let (scenario, source) = search::of_seed(system, seed, Strategy::Random, 3);
        let (run, violations) =
            search::check(system, system.reference(), &scenario, &source).unwrap();
        let found = violations.into_iter().find(|violation| violation.promise == promise)?;
        Some((run, found))
    })
}

fn event(etag: &str) -> String {
    Sha256::digest(format!("{KEY}:{etag}")).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An agent that writes down what R2 answered, in the order in which the answers come in.
struct Hasty {
    ctx: ObjectState,
    env: Env,
}

impl DurableObject for Hasty {
    fn new(ctx: ObjectState, env: Env) -> Hasty {
        let table =
            "create table if not exists Upload (name text primary key, eventId text, status text)";
        ctx.storage().exec(table, &[]).expect("the name is free");
        Hasty { ctx, env }
    }

    async fn rpc(&self, _method: &str, _args: Body) -> Result<Body, Error> {
        let Some(found) = self.env.bucket("images").head(KEY).await? else {
            return Ok(Body::empty());
        };
        let upsert = "insert into Upload values ('cat.jpg', ?, 'queued') \
            on conflict (name) do update set eventId = excluded.eventId";
        self.ctx.storage().exec(upsert, &[event(&found.etag).into()])?;
        Ok(Body::empty())
    }
}

fn mount_hasty(cloud: &mut Cloud) {
    mount(cloud, |env, batch| async move {
        let agent = env.durable_object("ORGANIZATION").get_by_name("acme");
        agent.rpc("look", "").await?;
        batch.ack_all();
        Ok(())
    });
    cloud.durable_object::<Hasty>("ORGANIZATION");
}

/// The events that the row has described, one after the other.
fn described(run: &Run) -> Vec<&str> {
    let rows = run.trace.events().iter().filter_map(|event| match &event.kind {
        EventKind::Rows { changes } => changes[0].value_after("eventId").and_then(Value::as_str),
        _ => None,
    });
    let mut rows: Vec<&str> = rows.collect();
    rows.dedup();
    rows
}

/// Whether the rows are uploads in their order, if only bytes are compared.
fn is_excused_by_its_bytes(run: &Run) -> bool {
    let uploads = run.trace.events().iter().filter_map(|event| match &event.kind {
        EventKind::Effect { outcome, .. } => match run.trace.outcome(*outcome) {
            Ok(Reply::R2(r2::Reply::Stored(object))) => Some(self::event(&object.etag)),
            _ => None,
        },
        _ => None,
    });
    let uploads: Vec<String> = uploads.collect();
    let mut later = uploads.iter();
    described(run).iter().all(|row| later.any(|upload| upload == row))
}

#[test]
fn an_answer_that_comes_late_is_a_stale_overwrite_though_its_bytes_came_between_the_same_ones() {
    let system = system(&["one", "two", "one"], mount_hasty);
    let mut runs = broken(&system, "no stale overwrite");
    let excused = runs.find(|(run, _)| is_excused_by_its_bytes(run));
    let (run, violation) = excused.expect("a late answer within 5,000 runs");
    assert!(violation.finding.event.is_some(), "{}", run.trace);
}

/// Starts an instance for every delivery, and calls each delivery an event of its own.
fn mount_eager(cloud: &mut Cloud) {
    mount(cloud, |env, batch| async move {
        for message in batch.messages() {
            let Some(found) = env.bucket("images").head(KEY).await? else { continue };
            let id = format!("{}-{}", message.id(), message.attempts());
            let params = format!(r#"{{"key":"{KEY}","eTag":"{}","eventId":"{id}"}}"#, found.etag);
            let workflow = env.workflow("OrganizationWorkflow");
            workflow.create(CreateOptions::new(&id, params)).await?;
        }
        batch.ack_all();
        Ok(())
    });
    let body = |_env: Env, _event: WorkflowEvent, _step: Step| async { Ok(Body::empty()) };
    cloud.workflow("OrganizationWorkflow", WorkflowConfig::default(), body);
}

#[test]
fn two_workflows_of_one_upload_are_caught_though_the_application_calls_them_two_events() {
    let system = system(&["one"], mount_eager);
    let (run, violation) = broken(&system, "one workflow per event").next().expect("a redelivery");
    let message = &violation.finding.message;
    assert!(message.contains("has the instances"), "{message}\n{}", run.trace);
}
