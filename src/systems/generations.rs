//! Generations: a durable object drives the provider's jobs for one request, streams each artifact to
//! R2 and D1 as it comes, and survives anything.
//!
//! Route → object (storage, alarm, watch message) → provider → object → R2 → D1. `generation.rs` is
//! where it is decided what happens next, `job.rs` what happens to one artifact, `copy.rs` how it gets into the bucket.

mod artifact;
mod browse;
mod clients;
mod copy;
mod generation;
mod job;
mod library;
mod made;
mod mistakes;
mod names;
mod plan;
mod provider;
mod routes;
mod signature;
mod store;
mod studio;
mod tags;
mod watch;
mod wire;
mod workload;

use std::sync::LazyLock;

use thunderhead_props::{GENERATIONS, System, Variant};
use thunderhead_sim::Cloud;
use thunderhead_sim::queue::QueueConfig;
use thunderhead_sim::r2::{BucketConfig, Options};

use crate::systems::mistake::with_mistakes;
use clients::{KEYS, KEYS_VALUE};
use names::{BUCKET, GENERATION, LIBRARY, PART_BYTES, PART_BYTES_VALUE, WATCH, WATCH_LATER, WEB};
use signature::{SECRET, SECRET_VALUE};

/// What the plan does not promise. It pipes the body of one answer into the bucket; a body of this simulation is no
/// stream, so it could not be seen how much of it the plan would have in memory.
const IN_PARTS: &str = "an artifact comes in parts";

/// Generations: one implementation that holds, the plan, the plan in two degrees of repair, and a provider that does
/// not do its part.
pub static SYSTEM: LazyLock<System> = LazyLock::new(|| {
    let reference = Variant::holds(
        "reference",
        "names its jobs before it asks for them, and has the library count",
        |cloud| mount(cloud, reference),
    );
    let system = System::new(
        "generations",
        "a durable object drives N provider jobs, and never loses an artifact",
        reference,
    );
    with_mistakes(system, mistakes::ALL, |cloud| mount(cloud, self::reference))
    .with_variant(Variant::refuted(
        "as-written",
        "the plan to the letter, with the foreign key of its schema",
        &["nothing is left over"],
        |cloud| mount(cloud, plan::as_written),
    ).not_promising(IN_PARTS))
    .with_variant(Variant::refuted(
        "no-foreign-key",
        "the plan, without the foreign key; a request fired again keeps its name",
        &["one generation per key"],
        |cloud| mount(cloud, plan::no_foreign_key),
    ).not_promising(IN_PARTS))
    .with_variant(Variant::refuted(
        "fires-anew",
        "like `no-foreign-key`, but a request fired again after a restart is a new one",
        &["nothing is paid for twice"],
        |cloud| mount(cloud, plan::fires_anew),
    ).not_promising(IN_PARTS))
    .with_variant(Variant::refuted(
        "forgetful-provider",
        "the reference, with a provider for whom a job asked for again is another job",
        &["nothing is paid for twice"],
        |cloud| mount_with(cloud, self::reference, provider::mount_forgetful),
    ))
    .with_workload(workload::workload)
    .with_smallest(workload::smallest)
    .with_promises(GENERATIONS)
    .outlasting_days()
    .without(
        "the storm leaves no trace",
        "a generation has a deadline; one that a storm holds up until then ends with the artifacts that are there",
    )
});

/// Adds an implementation, and what every one of them works with.
fn mount(cloud: &mut Cloud, implementation: fn(&mut Cloud)) {
    mount_with(cloud, implementation, provider::mount);
}

fn mount_with(cloud: &mut Cloud, implementation: fn(&mut Cloud), provider: fn(&mut Cloud)) {
    cloud.secret(SECRET, SECRET_VALUE);
    cloud.secret(KEYS, KEYS_VALUE);
    cloud.var(PART_BYTES, &PART_BYTES_VALUE.to_string());
    let options = Options { min_part_bytes: Some(PART_BYTES_VALUE), ..Options::default() };
    cloud.bucket(BUCKET, BucketConfig { options, ..BucketConfig::default() });
    cloud.d1(LIBRARY);
    implementation(cloud);
    provider(cloud);
    studio::mount(cloud);
}

fn reference(cloud: &mut Cloud) {
    cloud.migrate(LIBRARY, library::SCHEMA);
    cloud.queue(WATCH, QueueConfig::default());
    cloud.queue(WATCH_LATER, QueueConfig::default());
    cloud.worker(WEB).fetch(routes::serve);
    cloud.worker("watcher").queue(&watch::queues(), watch::consume);
    cloud.durable_object::<generation::Generation>(GENERATION);
}
