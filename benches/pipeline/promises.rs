//! What the pipeline promises of every run.

use std::collections::{BTreeMap, BTreeSet};

use thunderhead_props::{Finding, Invariant, PLATFORM, Property};
use thunderhead_sim::queue::Fate;
use thunderhead_sim::{Op, Reply, Trace, What, r2, workflow};

/// The pipeline's own promises and those of the platform.
pub fn promises() -> impl Iterator<Item = &'static Invariant> {
    [&ONE_INSTANCE, &ALL_CLASSIFIED].into_iter().chain(PLATFORM.iter().copied())
}

static ONE_INSTANCE: Invariant = Invariant {
    name: "one instance per upload",
    about: "no upload has its workflow created twice",
    property: Property::Always(one_instance),
};

static ALL_CLASSIFIED: Invariant = Invariant {
    name: "every upload is classified",
    about: "the row of every stored photo says in the end that it is classified",
    property: Property::Eventually(all_classified),
};

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
        match &event.what {
            What::Effect { call, outcome } if trace.outcome(*outcome).is_ok() => {
                if let Op::R2(op @ r2::Op::Put { .. }) = trace.op(*call) {
                    open.entry(op.key().unwrap_or("")).or_insert("stored");
                }
            }
            What::Rows { changes } => {
                for change in changes.iter().filter(|change| &*change.table == "upload") {
                    let value =
                        |column| change.value_after(column).and_then(|value| value.as_str());
                    if let (Some(key), Some(status)) = (value("key"), value("status")) {
                        open.insert(key, status);
                    }
                }
            }
            // What was given up is in the dead-letter queue, and not the pipeline's any more.
            What::Settle { fate: Fate::DeadLettered { .. } | Fate::Dropped, .. } => return Ok(()),
            _ => {}
        }
    }
    match open.iter().find(|(_, status)| **status != "classified") {
        None => Ok(()),
        Some((key, status)) => Err(Finding::missing(format!("{key} is still {status}"))),
    }
}
