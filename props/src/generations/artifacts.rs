//! What becomes of artifacts: each has its bytes, none is left over, none is paid for twice or lost.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use thunderhead_sim::{Body, Time, Trace};

use super::reading::{Seen, Shelves, json, seen, shelves};
use crate::invariant::{Finding, Invariant, Property};

pub static HAS_ITS_BYTES: Invariant = Invariant {
    name: "an artifact has its bytes",
    about: "whenever an artifact is in the library, the bucket has the bytes that the provider made",
    property: Property::Always(has_its_bytes),
};

pub static NOTHING_LEFT_OVER: Invariant = Invariant {
    name: "nothing is left over",
    about: "in the end every object in the bucket has its row, and every artifact its generation",
    property: Property::Eventually(nothing_left_over),
};

pub static PAID_ONCE: Invariant = Invariant {
    name: "nothing is paid for twice",
    about: "the provider charges for an artifact once, and takes on three jobs for each at most",
    property: Property::Always(paid_once),
};

pub static KEPT: Invariant = Invariant {
    name: "what was paid for is kept",
    about: "an artifact that was done 20 minutes of calm before its generation ended is in the \
            library",
    property: Property::Eventually(kept),
};

pub static APART: Invariant = Invariant {
    name: "generations are apart",
    about: "an artifact belongs to the generation that its job was for, and only its object writes it",
    property: Property::Always(apart),
};

/// How many jobs the provider may be asked for on behalf of one artifact.
const ATTEMPTS_MAX: usize = 3;
/// How long it may take to fetch what is done: an object looks every five minutes or more often, unless
/// its alarm is lost, and then it is looked after as soon as a queue has stopped waiting for a consumer.
const FETCHED: Duration = Duration::from_secs(20 * 60);

fn has_its_bytes(trace: &Trace) -> Result<(), Finding> {
    let mut shelves = Shelves::default();
    let mut artifact_of: BTreeMap<&str, &str> = BTreeMap::new();
    let mut made: BTreeMap<&str, BTreeSet<&Body>> = BTreeMap::new();
    for (event, at, seen) in seen(trace) {
        shelves.learn(at, &seen);
        let touched: Vec<&str> = match &seen {
            Seen::Accepted(job) => {
                artifact_of.insert(job.task, job.artifact);
                continue;
            }
            Seen::Served { task, response } if response.status == 200 => {
                let artifact = artifact_of.get(task).copied().unwrap_or_default();
                made.entry(artifact).or_default().insert(&response.body);
                continue;
            }
            Seen::Library(changes) => {
                let artifacts = changes.iter().filter(|change| &*change.table == "artifacts");
                artifacts.map(|change| super::reading::after(change, "id")).collect()
            }
            Seen::Put { artifact, .. } => vec![artifact],
            Seen::Deleted(artifacts) => artifacts.clone(),
            _ => continue,
        };
        for artifact in touched {
            if !shelves.artifacts.contains_key(artifact) {
                continue;
            }
            let Some(bytes) = shelves.bucket.get(artifact) else {
                let message = format!("{artifact} is in the library, and not in the bucket");
                return Err(Finding::at(event, message));
            };
            if !made.get(artifact).is_some_and(|made| made.contains(*bytes)) {
                let message = format!("{artifact} has bytes that the provider did not make for it");
                return Err(Finding::at(event, message));
            }
        }
    }
    Ok(())
}

fn nothing_left_over(trace: &Trace) -> Result<(), Finding> {
    let shelves = shelves(trace);
    for artifact in shelves.bucket.keys() {
        if !shelves.artifacts.contains_key(artifact) {
            return Err(Finding::missing(format!("{artifact} is in the bucket and has no row")));
        }
    }
    for (artifact, generation) in &shelves.artifacts {
        if !shelves.generations.contains_key(generation) {
            let message = format!("{artifact} has a row, and its generation {generation} has none");
            return Err(Finding::missing(message));
        }
    }
    Ok(())
}

fn paid_once(trace: &Trace) -> Result<(), Finding> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut jobs: BTreeMap<&str, usize> = BTreeMap::new();
    let mut charged = BTreeSet::new();
    for (event, _, seen) in seen(trace) {
        match seen {
            Seen::Created { generation, args } => {
                counts.insert(generation, json(args)["count"].as_u64().unwrap_or_default());
            }
            Seen::Accepted(job) => {
                let jobs = jobs.entry(job.generation).or_default();
                *jobs += 1;
                let count = counts.get(job.generation).copied().unwrap_or_default() as usize;
                if *jobs > count * ATTEMPTS_MAX {
                    let message =
                        format!("{jobs} jobs for {count} artifacts of {}", job.generation);
                    return Err(Finding::at(event, message));
                }
            }
            Seen::Charged(job) if !charged.insert(job.artifact) => {
                return Err(Finding::at(event, format!("{} is paid for twice", job.artifact)));
            }
            _ => {}
        }
    }
    Ok(())
}

fn kept(trace: &Trace) -> Result<(), Finding> {
    let shelves = shelves(trace);
    let mut calm = Time::ZERO;
    let mut charged = Vec::new();
    for (_, at, seen) in seen(trace) {
        match seen {
            Seen::Charged(job) => charged.push((at, job)),
            Seen::Calm => calm = at,
            _ => {}
        }
    }
    for (at, job) in charged {
        let Some(generation) = shelves.generations.get(job.generation) else { continue };
        let in_time = generation.at > at.max(calm) + FETCHED;
        if in_time && !shelves.artifacts.contains_key(job.artifact) {
            let message = format!("{} was done at {at} and is in no library", job.artifact);
            return Err(Finding::missing(message));
        }
    }
    Ok(())
}

fn apart(trace: &Trace) -> Result<(), Finding> {
    let mut owner: BTreeMap<&str, &str> = BTreeMap::new();
    for (event, _, seen) in seen(trace) {
        let claims: Vec<(&str, &str)> = match &seen {
            Seen::Accepted(job) => vec![(job.artifact, job.generation)],
            Seen::Putting { generation, artifact } => vec![(artifact, generation)],
            Seen::Library(changes) => {
                let artifacts = changes.iter().filter(|change| &*change.table == "artifacts");
                let text = super::reading::after;
                artifacts.map(|row| (text(row, "id"), text(row, "generation_id"))).collect()
            }
            _ => continue,
        };
        for (artifact, generation) in claims {
            let first = *owner.entry(artifact).or_insert(generation);
            if first != generation {
                let message = format!("{generation} touches {artifact}, which is of {first}");
                return Err(Finding::at(event, message));
            }
        }
    }
    Ok(())
}
