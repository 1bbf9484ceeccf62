//! Commands: a workflow's stream of messages is its state, its inbox and its outbox in one, and every command
//! in it takes effect exactly once.
//!
//! Route → stream (D1) → processors that poll → accounts (another D1) → back to the stream. `processor.rs` is
//! where the order of things is decided; the stream and the reference processor are the package
//! `thunderhead-stream`, which runs on real databases too.

mod group;
mod guests;
mod inbox;
mod mistakes;
mod names;
mod plan;
mod processor;
mod routes;
mod store;
mod wire;
mod workload;

use std::sync::LazyLock;

use thunderhead_props::{COMMANDS, System, Variant};
use thunderhead_sim::Cloud;

use crate::systems::mistake::with_mistakes;
use names::ACCOUNTS;
use processor::Approach;

/// What every alternative breaks that is carried out before, or beside, its record.
const REPEATS: &[&str] =
    &["no command takes effect twice", "a stay ends once", "poison holds up nobody"];

/// Commands: one implementation that holds, and the alternatives that the plan weighs.
pub static SYSTEM: LazyLock<System> = LazyLock::new(|| {
    let reference = Variant::holds(
        "reference",
        "the effect and the message id are one transaction, then the command is marked",
        |cloud| mount(cloud, Approach::Reference),
    );
    let system = System::new(
        "commands",
        "a workflow's stream is its outbox; every command takes effect exactly once",
        reference,
    );
    with_mistakes(system, mistakes::ALL, |cloud| mount(cloud, Approach::Reference))
    .with_variant(Variant::refuted(
        "execute-then-mark",
        "the plan's first solution: a handler that looks at the guest, then compare-and-set",
        REPEATS,
        |cloud| mount(cloud, Approach::ExecuteThenMark),
    ))
    .with_variant(Variant::refuted(
        "mark-then-execute",
        "the plan's recommendation: marked first, unmarked when executing fails",
        &[
            "no command is lost",
            "no command takes effect twice",
            "a stay ends once",
            "a flag is set once",
            "poison holds up nobody",
            "the workflow hears of every outcome",
        ],
        |cloud| mount(cloud, Approach::MarkThenExecute),
    ))
    .with_variant(Variant::refuted(
        "advisory-locks",
        "the plan's second solution, with lock ids that every process computes alike",
        REPEATS,
        |cloud| mount(cloud, Approach::AdvisoryLocks { stable: true }),
    ))
    .with_variant(Variant::refuted(
        "advisory-locks-hashcode",
        "like `advisory-locks`, with lock ids as written: drawn anew by every process",
        REPEATS,
        |cloud| mount(cloud, Approach::AdvisoryLocks { stable: false }),
    ))
    .with_variant(Variant::refuted(
        "checkpoint",
        "the original pattern: a checkpoint, and a log of message ids beside the effects",
        REPEATS,
        |cloud| mount(cloud, Approach::Checkpoint),
    ))
    .with_variant(Variant::refuted(
        "execution-events",
        "append-only: an event in the stream tells that a command was executed",
        REPEATS,
        |cloud| mount(cloud, Approach::ExecutionEvents),
    ))
    .with_variant(Variant::refuted(
        "no-expected-version",
        "the reference, with the plan's append: behind whatever the stream holds by then",
        &["live state is rebuilt state", "the workflow hears of every outcome"],
        |cloud| mount(cloud, Approach::Unversioned),
    ))
    .with_workload(workload::workload)
    .with_smallest(workload::smallest)
    .with_promises(COMMANDS)
    .outlasting_days()
    .ignoring("checkouts.id", "numbers checkouts in the order in which they happen")
    .ignoring("checkouts.stay", "the stay that a command meets depends on when it is carried out")
    .ignoring("checkouts.charged", "depends on the stay")
    .ignoring("checkouts.outcome", "depends on the stay")
    .ignoring("command_deliveries.attempts", "counts attempts")
    .ignoring("command_deliveries.failures", "counts failures, and weather makes some")
    .ignoring(
        "guests.*",
        "commands are carried out after the answer, so a guest who comes again may be met by an earlier one",
    )
    .ignoring(
        "workflow_messages.*",
        "outcomes are recorded in the order in which commands are carried out, and the last one says how it ended",
    )
    .ignoring("workflow_states.*", "follows from the messages in their order")
});

fn mount(cloud: &mut Cloud, approach: Approach) {
    store::mount(cloud);
    cloud.d1(ACCOUNTS);
    cloud.migrate(ACCOUNTS, &guests::SCHEMA);
    cloud.worker("web").fetch(move |env, request| routes::serve(env, request, approach));
    processor::mount(cloud, approach);
    cloud.migrate(ACCOUNTS, &[guests::RESIDENTS]);
}
