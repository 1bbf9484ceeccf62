//! What the pipeline promises of every run.

use std::collections::{BTreeMap, BTreeSet};

use thunderhead_props::{Finding, PLATFORM, Promise};
use thunderhead_sim::queue::Fate;
use thunderhead_sim::{EventKind, Op, Reply, Trace, r2, workflow};

/// The pipeline's own promises and those of the platform.
pub fn promises() -> impl Iterator<Item = &'static Promise> {
    [&ONE_INSTANCE, &ALL_CLASSIFIED].into_iter().chain(PLATFORM.iter().copied())
}

static ONE_INSTANCE: Promise = Promise::always(
    "one instance per upload",
    "no upload has its workflow created twice",
    one_instance,
);

static ALL_CLASSIFIED: Promise = Promise::eventually(
    "every upload is classified",
    "the row of every stored photo says in the end that it is classified",
    all_classified,
);

fn one_instance(trace: &Trace) -> Result<(), Finding> {
    let mut created = BTreeSet::new();
    for (at, op, outcome) in trace.effects() {
        let Op::Workflow(workflow::Op::Create { .. }) = op else { continue };
        if let Ok(Reply::Workflow(workflow::Reply::Instance { id })) = outcome
            && !created.insert(id)
        {
            return Err(Finding::at(at, format!("{id} was created twice")));
        }
    }
    Ok(())
}

fn all_classified(trace: &Trace) -> Result<(), Finding> {
    let mut open = BTreeMap::new();
    for event in trace.events() {
        match &event.kind {
            EventKind::Effect { call, outcome } if trace.outcome(*outcome).is_ok() => {
                if let Op::R2(op @ r2::Op::Put { .. }) = trace.op(*call) {
                    open.entry(op.key().unwrap_or("")).or_insert("stored");
                }
            }
            EventKind::Rows { changes } => {
                for change in changes.iter().filter(|change| &*change.table == "upload") {
                    let value =
                        |column| change.value_after(column).and_then(|value| value.as_str());
                    if let (Some(key), Some(status)) = (value("key"), value("status")) {
                        open.insert(key, status);
                    }
                }
            }
            // What was given up is in the dead-letter queue, and not the pipeline's any more.
            EventKind::Settle { fate: Fate::DeadLettered { .. } | Fate::Dropped, .. } => {
                return Ok(());
            }
            _ => {}
        }
    }
    match open.iter().find(|(_, status)| **status != "classified") {
        None => Ok(()),
        Some((key, status)) => Err(Finding::missing(format!("{key} is still {status}"))),
    }
}
