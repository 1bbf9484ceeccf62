//! Commands: a workflow's stream of messages is its state, its inbox and its outbox in one, and every command
//! in it takes effect exactly once.
//!
//! Route → stream (D1) → processors that poll → accounts (another D1) → back to the stream. `processor.rs` is
//! where the order of things is decided; the stream and the reference processor are the package
//! `thunderhead-stream`, which runs on real databases too.

mod group;
mod guests;
mod inbox;
mod names;
mod plan;
mod processor;
mod routes;
mod store;
mod wire;
mod workload;

use thunderhead_props::{COMMANDS, Expected, System, Variant};
use thunderhead_sim::Cloud;

use names::ACCOUNTS;
use processor::Approach;

/// What every alternative breaks that is carried out before, or beside, its record.
const REPEATS: &[&str] = &["no command takes effect twice", "poison holds up nobody"];

/// Commands: one implementation that holds, and the alternatives that the plan weighs.
pub static SYSTEM: System = System {
    name: "commands",
    about: "a workflow's stream is its outbox; every command takes effect exactly once",
    variants: &[
        Variant {
            name: "reference",
            about: "the effect and the message id are one transaction, then the command is marked",
            expected: Expected::Holds,
            mount: |cloud| mount(cloud, Approach::Reference),
        },
        Variant {
            name: "execute-then-mark",
            about: "the plan's first solution: a handler that looks at the guest, then compare-and-set",
            expected: Expected::Refuted(REPEATS),
            mount: |cloud| mount(cloud, Approach::ExecuteThenMark),
        },
        Variant {
            name: "mark-then-execute",
            about: "the plan's recommendation: marked first, unmarked when executing fails",
            expected: Expected::Refuted(&[
                "no command is lost",
                "no command takes effect twice",
                "a flag is set once",
                "poison holds up nobody",
                "the workflow hears of every outcome",
            ]),
            mount: |cloud| mount(cloud, Approach::MarkThenExecute),
        },
        Variant {
            name: "advisory-locks",
            about: "the plan's second solution, with lock ids that every process computes alike",
            expected: Expected::Refuted(REPEATS),
            mount: |cloud| mount(cloud, Approach::AdvisoryLocks { stable: true }),
        },
        Variant {
            name: "advisory-locks-hashcode",
            about: "like `advisory-locks`, with lock ids as written: drawn anew by every process",
            expected: Expected::Refuted(REPEATS),
            mount: |cloud| mount(cloud, Approach::AdvisoryLocks { stable: false }),
        },
        Variant {
            name: "checkpoint",
            about: "the original pattern: a checkpoint, and a log of message ids beside the effects",
            expected: Expected::Refuted(REPEATS),
            mount: |cloud| mount(cloud, Approach::Checkpoint),
        },
        Variant {
            name: "execution-events",
            about: "append-only: an event in the stream tells that a command was executed",
            expected: Expected::Refuted(REPEATS),
            mount: |cloud| mount(cloud, Approach::ExecutionEvents),
        },
    ],
    workload: workload::workload,
    smallest: workload::smallest,
    promises: COMMANDS,
};

fn mount(cloud: &mut Cloud, approach: Approach) {
    store::mount(cloud);
    cloud.d1(ACCOUNTS);
    cloud.migrate(ACCOUNTS, &guests::SCHEMA);
    cloud.worker("web").fetch(move |env, request| routes::serve(env, request, approach));
    processor::mount(cloud, approach);
    cloud.migrate(ACCOUNTS, &[guests::RESIDENTS]);
}
