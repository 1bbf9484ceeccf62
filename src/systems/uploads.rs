//! Uploads: an image lands in R2, is classified once, the newest upload wins, and what is deleted
//! stays deleted.
//!
//! Route → R2 → notification → queue → agent of the organisation (SQLite) → workflow → model → agent →
//! clients. `organization.rs` is where the order of things is decided.

mod browser;
mod consumer;
mod ledger;
mod messages;
mod mistakes;
mod names;
mod operator;
mod organization;
mod plan;
mod routes;
mod s3;
mod watch;
mod wire;
mod workflow;
mod workload;

use std::sync::LazyLock;

use thunderhead_props::{System, UPLOADS, Variant};
use thunderhead_sim::queue::QueueConfig;
use thunderhead_sim::r2::{BucketConfig, EventType, Rule};
use thunderhead_sim::workflow::WorkflowConfig;
use thunderhead_sim::{Cloud, DurableObject, Env, ObjectState};

use ledger::{Current, History, Ledger, Migrating};
use names::{AGENT, BUCKET, DEAD_LETTERS, OPERATOR, QUEUE, WATCH, WORKFLOW};
use operator::Operator;
use organization::Organization;
use plan::{Rows, Times};

use crate::model::Model;
use crate::systems::mistake::with_mistakes;

/// What the plan with the approaches B and C promises and both break: its requirements 2 to 5, its fifth and fourth
/// criterion of acceptance, and the goal of its policy for tracking.
const BROKEN_BY_APPROACHES: &[&str] = &[
    "a duplicate changes nothing",
    "the latest upload wins",
    "no stale overwrite",
    "acknowledged when all is done",
    "statuses only go forward",
    "no row is stuck",
    "no workflow is left untracked",
];

/// What the plan for deletions promises and breaks: that it bears duplicates, protects from stale events, and that
/// what is deleted is removed.
const BROKEN_BY_DELETIONS: &[&str] = &[
    "a duplicate changes nothing",
    "the latest upload wins",
    "no stale overwrite",
    "deleted stays deleted",
];

/// What no plan promises: each leaves the tracking to the SDK, which hears of no end that a workflow does not report.
const NOT_PLANNED: &str = "a workflow is tracked to its end";

/// The image pipeline, implementations that hold, and the plans to the letter.
pub static SYSTEM: LazyLock<System> = LazyLock::new(|| system(&Model::stand_in()));

/// Uploads with this model behind the simulated inference and its pictures in the requests.
pub fn system(model: &Model) -> System {
    let with = |mount: fn(&mut Cloud)| {
        let model = model.clone();
        move |cloud: &mut Cloud| {
            mount(cloud);
            model.mount(cloud);
        }
    };
    let (sent, least) = (model.pictures().clone(), model.pictures().clone());
    let reference = Variant::holds(
        "reference",
        "asks R2 at every decision; one row per name and a memory of every event",
        with(mount_reference::<Current>),
    );
    let system = System::new(
        "uploads",
        "an image lands in R2, is classified once, the newest upload wins, deletions stay",
        reference,
    );
    with_mistakes(system, mistakes::ALL, with(mount_reference::<Current>))
    .with_variant(Variant::holds(
        "reference-history",
        "like the reference, with a history of events and a projection of the current ones",
        with(mount_reference::<History>),
    ))
    .with_variant(Variant::holds(
        "reference-migrating",
        "begins as `reference` and becomes `reference-history` when an operator asks",
        with(mount_reference::<Migrating>),
    ))
    .with_variant(Variant::refuted(
        "row-first",
        "the plan's approach B: the row is replaced by each notification, then the workflow",
        BROKEN_BY_APPROACHES,
        with(|cloud| mount_plan(cloud, false, |ctx, env| Rows::new(ctx, env, false))),
    ).not_promising(NOT_PLANNED))
    .with_variant(Variant::refuted(
        "workflow-first",
        "the plan's approach C: the workflow is started, then the row is written",
        BROKEN_BY_APPROACHES,
        with(|cloud| mount_plan(cloud, false, |ctx, env| Rows::new(ctx, env, true))),
    ).not_promising(NOT_PLANNED))
    .with_variant(Variant::refuted(
        "event-time",
        "the plan for deletions: recency by `eventTime`, a deleted row is forgotten",
        BROKEN_BY_DELETIONS,
        with(|cloud| mount_plan(cloud, true, Times::new)),
    ).not_promising(NOT_PLANNED))
    .with_workload(move |rng| workload::workload(rng, &sent))
    .with_smallest(move || workload::smallest(&least))
    .with_promises(UPLOADS)
    .outlasting_days()
    .ignoring(
        "Replaced.*",
        "an upload that is replaced is kept as it was then, and how far it had come is a matter of time",
    )
    .ignoring("UploadEvent.*", "has the uploads that were replaced, like `Replaced`")
    .ignoring(
        "Rejected.*",
        "a message that the network puts on the queue twice has two ids, and both are written down",
    )
    .ignoring("Terminated.*", "an upload that is deleted late may have ended by itself")
    .ignoring("Abandoned.*", "counts workflows that ended before they could read the bytes")
    .ignoring(
        "cf_agents_workflows.*",
        "an upload that is replaced before its notification is read never gets a workflow",
    )
}

/// Adds what every variant has around its agent, workflow and consumer.
fn mount_surroundings(cloud: &mut Cloud) {
    cloud.queue(QUEUE, QueueConfig::default());
    cloud.queue(DEAD_LETTERS, QueueConfig::default());
    let rules = vec![Rule::new(QUEUE, [EventType::ObjectCreate, EventType::ObjectDelete])];
    cloud.bucket(BUCKET, BucketConfig { rules, ..BucketConfig::default() });
    cloud.worker("web").fetch(routes::serve);
    cloud.worker("s3").fetch(s3::serve);
    cloud.machine("browser").fetch(browser::open);
    cloud.durable_object::<Operator>(OPERATOR);
}

fn mount_reference<L: Ledger + 'static>(cloud: &mut Cloud) {
    mount_surroundings(cloud);
    cloud.durable_object_with(AGENT, Organization::over::<L>);
    cloud.workflow(WORKFLOW, WorkflowConfig::default(), workflow::run);
    let [uploads, dead] = consumer::queues();
    let queues = match mistakes::DEAD_LETTERS_UNREAD.is_made_in(cloud) {
        true => vec![uploads],
        false => vec![uploads, dead],
    };
    cloud.worker("consumer").queue(&queues, consumer::consume);
    cloud.queue(WATCH, QueueConfig::default());
    cloud.worker("watcher").queue(&[watch::queue()], watch::consume);
}

fn mount_plan<A: DurableObject>(
    cloud: &mut Cloud,
    deletes: bool,
    agent: impl Fn(ObjectState, Env) -> A + 'static,
) {
    mount_surroundings(cloud);
    cloud.durable_object_with(AGENT, agent);
    cloud.workflow(WORKFLOW, WorkflowConfig::default(), plan::run);
    let consume = move |env, batch| plan::consume(env, batch, deletes);
    cloud.worker("consumer").queue(&plan::queues(), consume);
}
