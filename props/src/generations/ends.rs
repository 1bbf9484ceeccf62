//! How a generation ends: once, in time, counted right, with its tags, and for good.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value as Json;
use thunderhead_sim::{Time, Trace};

use super::reading::{Given, Seen, Shelves, generation_of, given, seen, shelves};
use crate::invariant::{Finding, Invariant, Property};

pub static EVERY_REQUEST_ENDS: Invariant = Invariant {
    name: "every request ends",
    about: "whoever was given an id finds its generation in the library, no later than 17 \
            minutes after its time is up or the calm has come",
    property: Property::Eventually(every_request_ends),
};

pub static COUNTED: Invariant = Invariant {
    name: "a generation counts its artifacts",
    about: "when a generation is written it is ready with as many artifacts as there are, or failed \
            with none, and none comes later",
    property: Property::Always(counted),
};

pub static FINAL: Invariant = Invariant {
    name: "final is final",
    about: "once a generation is written, no row of it changes, and no bytes of its artifacts",
    property: Property::Always(is_final),
};

pub static TAGGED: Invariant = Invariant {
    name: "tags are as asked",
    about: "a generation that is in the library has the tags that were asked for, and no others",
    property: Property::Eventually(tagged),
};

pub static ONE_BY_ONE: Invariant = Invariant {
    name: "artifacts come one by one",
    about: "each artifact is written by itself, and a generation only when it is over",
    property: Property::Always(one_by_one),
};

/// How long a generation may take when its client does not say, by what it makes.
const IMAGE: Duration = Duration::from_secs(300);
const VIDEO: Duration = Duration::from_secs(600);
/// How much longer it may take: as long as a queue waits for a consumer that says nothing, if the alarm
/// of the object is lost too, and a little more.
const GRACE: Duration = Duration::from_secs(17 * 60);

/// When a generation that was given must be over, if there is no storm.
pub fn deadline(given: &Given) -> Time {
    let model = given.wanted["model"].as_str().unwrap_or_default();
    let usual = if model.starts_with("video") { VIDEO } else { IMAGE };
    let timeout = given.wanted["timeoutSeconds"].as_u64().map_or(usual, Duration::from_secs);
    given.at + timeout
}

fn every_request_ends(trace: &Trace) -> Result<(), Finding> {
    let shelves = shelves(trace);
    let calm = seen(trace).find(|(.., seen)| matches!(seen, Seen::Calm));
    let calm = calm.map_or(Time::ZERO, |(_, at, _)| at);
    for given in given(trace) {
        let Some(row) = shelves.generations.get(&*given.id) else {
            return Err(Finding::missing(format!("{} is not in the library", given.id)));
        };
        let latest = deadline(&given).max(calm) + GRACE;
        if row.at > latest {
            let late = format!("{} is written at {}, after {latest}", given.id, row.at);
            return Err(Finding::missing(late));
        }
    }
    Ok(())
}

fn counted(trace: &Trace) -> Result<(), Finding> {
    let mut shelves = Shelves::default();
    for (event, at, seen) in seen(trace) {
        shelves.learn(at, &seen);
        let Seen::Library(changes) = seen else { continue };
        for id in changes.iter().filter_map(generation_of) {
            let Some(row) = shelves.generations.get(id) else { continue };
            let there = shelves.count_of(id);
            let right = if there > 0 { "ready" } else { "failed" };
            if row.output_count != there as i64 || row.status != right {
                let (status, said) = (row.status, row.output_count);
                let message = format!("{id} is {status} with {said} artifacts; there are {there}");
                return Err(Finding::at(event, message));
            }
        }
    }
    Ok(())
}

fn is_final(trace: &Trace) -> Result<(), Finding> {
    let mut shelves = Shelves::default();
    for (event, at, seen) in seen(trace) {
        let changed = match &seen {
            Seen::Library(changes) => changes
                .iter()
                .filter_map(generation_of)
                .find(|id| shelves.generations.contains_key(id)),
            Seen::Put { artifact, body } => (shelves.bucket.get(artifact))
                .filter(|before| before != &body)
                .and_then(|_| shelves.artifacts.get(artifact).copied()),
            Seen::Deleted(artifacts) => {
                artifacts.iter().find_map(|artifact| shelves.artifacts.get(artifact).copied())
            }
            _ => None,
        };
        if let Some(id) = changed.filter(|id| shelves.generations.contains_key(id)) {
            return Err(Finding::at(event, format!("{id} is final, and something of it changes")));
        }
        shelves.learn(at, &seen);
    }
    Ok(())
}

fn tagged(trace: &Trace) -> Result<(), Finding> {
    let shelves = shelves(trace);
    let none = BTreeSet::new();
    for given in given(trace) {
        let asked = given.wanted["tags"].as_array().into_iter().flatten();
        let asked: BTreeSet<&str> = asked.filter_map(Json::as_str).collect();
        let has = shelves.tags.get(&*given.id).unwrap_or(&none);
        if shelves.generations.contains_key(&*given.id) && *has != asked {
            let message = format!("{} has the tags {has:?}, asked for were {asked:?}", given.id);
            return Err(Finding::missing(message));
        }
    }
    Ok(())
}

fn one_by_one(trace: &Trace) -> Result<(), Finding> {
    for (event, _, seen) in seen(trace) {
        let Seen::Library(changes) = seen else { continue };
        let of = |table: &str| changes.iter().filter(|change| &*change.table == table).count();
        if of("artifacts") > 1 {
            return Err(Finding::at(event, "several artifacts become visible at once"));
        }
        let status = |change: &&thunderhead_sim::sqlite::RowChange| {
            &*change.table == "generations"
                && change.after.is_some()
                && !["ready", "failed"].contains(&super::reading::after(change, "status"))
        };
        if changes.iter().find(status).is_some() {
            return Err(Finding::at(event, "a generation is in the library before it is over"));
        }
    }
    Ok(())
}
