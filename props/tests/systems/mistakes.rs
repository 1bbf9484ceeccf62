//! Small running systems with one mistake each. A promise of the image pipeline catches it by what R2 did, where the
//! application's own words would excuse it.

use thunderhead_props::search::{self, Sampling};
use thunderhead_props::{System, UPLOADS, Variant, Violation};
use thunderhead_sim::queue::{ConsumerConfig, MessageBatch, QueueConfig};
use thunderhead_sim::r2::{BucketConfig, EventType, Rule};
use thunderhead_sim::workflow::{CreateOptions, WorkflowConfig, WorkflowEvent};
use thunderhead_sim::{Body, ClientRequest, Cloud, Env, Error, Request, Response, Run, Step, Time};

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
        let (scenario, source) = search::of_seed(system, seed, Sampling::Random, 3);
        let (run, violations) =
            search::check(system, system.reference(), &scenario, &source).unwrap();
        let found = violations.into_iter().find(|violation| violation.promise == promise)?;
        Some((run, found))
    })
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
