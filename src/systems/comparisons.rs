//! Comparisons of two environments: probes of both, what differs and how grave it is, and a history
//! of the last comparisons of each pair, in one durable object per pair.

mod access;
mod address;
mod connector;
mod diff;
mod envelope;
mod envpair;
mod explainer;
mod mistakes;
mod names;
mod plan;
mod probe;
mod ring;
mod routes;
mod sites;
pub(super) mod target;
mod wire;
mod workflow;
mod workload;
mod zone;

use std::sync::LazyLock;

use thunderhead_props::{COMPARISONS, System, Variant};
use thunderhead_sim::Cloud;
use thunderhead_sim::workflow::WorkflowConfig;

use crate::systems::mistake::with_mistakes;
use names::{COMPARE, ENVPAIR_DO};
use plan::Repair;

/// Comparisons: one implementation that holds, and the plan in three degrees of repair.
pub static SYSTEM: LazyLock<System> = LazyLock::new(|| {
    let reference = Variant::holds(
        "reference",
        "creates the workflow before the row, and changes only what still runs",
        reference,
    );
    let system = System::new(
        "comparisons",
        "two environments are probed and compared; each pair keeps its last comparisons",
        reference,
    );
    with_mistakes(system, mistakes::ALL, self::reference)
        .with_variant(Variant::refuted(
            "as-written",
            "the plan to the letter: one shared database, instance ids with a colon",
            &["none runs for ever"],
            |cloud| plan::mount(cloud, Repair::AsWritten),
        ))
        .with_variant(Variant::refuted(
            "valid-ids",
            "the plan, with instance ids that the platform accepts",
            &["a pair keeps its newest", "none runs for ever"],
            |cloud| plan::mount(cloud, Repair::ValidIds),
        ))
        .with_variant(Variant::refuted(
            "own-storage",
            "the plan, with valid ids and the object's own storage as its title says",
            &["one comparison per request", "none runs for ever", "answers are true"],
            |cloud| plan::mount(cloud, Repair::OwnStorage),
        ))
        .with_workload(workload::workload)
        .with_smallest(workload::smallest)
        .with_promises(COMPARISONS)
        .outlasting_days()
});

fn reference(cloud: &mut Cloud) {
    cloud.worker("web").fetch(routes::serve);
    cloud.durable_object::<envpair::EnvPair>(ENVPAIR_DO);
    cloud.workflow(COMPARE, WorkflowConfig::default(), workflow::compare);
    access::mount(cloud);
    sites::mount(cloud);
}
