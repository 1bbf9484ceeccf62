//! Comparisons of two environments: probes of both, what differs and how grave it is, and a history
//! of the last comparisons of each pair, in one durable object per pair.

mod address;
mod diff;
mod envelope;
mod envpair;
mod explainer;
mod names;
mod plan;
mod probe;
mod ring;
mod routes;
mod sites;
mod target;
mod wire;
mod workflow;
mod workload;

use thunderhead_props::{COMPARISONS, Expected, System, Variant};
use thunderhead_sim::Cloud;
use thunderhead_sim::workflow::WorkflowConfig;

use names::{COMPARE, ENVPAIR_DO};
use plan::Repair;

/// Comparisons: one implementation that holds, and the plan in three degrees of repair.
pub static SYSTEM: System = System {
    name: "comparisons",
    about: "two environments are probed and compared; each pair keeps its last comparisons",
    variants: &[
        Variant {
            name: "reference",
            about: "creates the workflow before the row, and changes only what still runs",
            expected: Expected::Holds,
            mount: reference,
        },
        Variant {
            name: "as-written",
            about: "the plan to the letter: one shared database, instance ids with a colon",
            expected: Expected::Refuted(&["none runs for ever"]),
            mount: |cloud| plan::mount(cloud, Repair::AsWritten),
        },
        Variant {
            name: "valid-ids",
            about: "the plan, with instance ids that the platform accepts",
            expected: Expected::Refuted(&["a pair keeps its newest", "none runs for ever"]),
            mount: |cloud| plan::mount(cloud, Repair::ValidIds),
        },
        Variant {
            name: "own-storage",
            about: "the plan, with valid ids and the object's own storage as its title says",
            expected: Expected::Refuted(&[
                "one comparison per request",
                "none runs for ever",
                "answers are true",
            ]),
            mount: |cloud| plan::mount(cloud, Repair::OwnStorage),
        },
    ],
    workload: workload::workload,
    smallest: workload::smallest,
    promises: COMPARISONS,
};

fn reference(cloud: &mut Cloud) {
    cloud.worker("web").fetch(routes::serve);
    cloud.durable_object::<envpair::EnvPair>(ENVPAIR_DO);
    cloud.workflow(COMPARE, WorkflowConfig::default(), workflow::compare);
    sites::mount(cloud);
}
