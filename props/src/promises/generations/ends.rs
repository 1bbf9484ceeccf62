//! How a generation ends: once, in time, counted right, with its tags, and for good.

use std::time::Duration;

use serde_json::Value as Json;
use thunderhead_sim::sqlite::RowChange;
use thunderhead_sim::{Body, SortedSet, Time};

use super::contents::Contents;
use super::facts::{Fact, Given, facts, generation_of, given};
use crate::history::named;
use crate::promise::{Finding, Promise};
use crate::promises::Reading;
use crate::promises::count;

pub static EVERY_REQUEST_ENDS: Promise = Promise::eventually_shared(
    "every request ends",
    "a client that was given an id finds its generation in the library, no later than 17 \
            minutes after its time is up or the calm has come",
    every_request_ends,
);

pub static COUNTED: Promise = Promise::always_shared(
    "a generation counts its artifacts",
    "when a generation is written it is ready with as many artifacts as there are, or failed \
            with none, and none comes later",
    counted,
);

pub static FINAL: Promise = Promise::always_shared(
    "final is final",
    "once a generation is written, no row of it or of its artifacts changes, and no bytes",
    is_final,
);

pub static TAGGED: Promise = Promise::eventually_shared(
    "tags are as asked",
    "a generation that is in the library has the tags that were asked for, and no others",
    tagged,
);

pub static ONE_BY_ONE: Promise = Promise::always_shared(
    "artifacts come one by one",
    "each artifact is written by itself, and a generation only when it is over",
    one_by_one,
);

/// How long a generation may take when its client does not say, by what it makes.
const IMAGE: Duration = Duration::from_secs(300);
const VIDEO: Duration = Duration::from_secs(600);
/// How much longer it may take: as long as a queue waits for a consumer that says nothing, if the alarm
/// of the object is lost too, and a little more.
const GRACE: Duration = Duration::from_secs(17 * 60);

/// When a generation that was given must be over, if there is no storm.
pub fn deadline(given: &Given) -> Time {
    given.at + timeout(&given.wanted)
}

/// How long a generation may take.
pub fn timeout(wanted: &Json) -> Duration {
    let model = wanted["model"].as_str().unwrap_or_default();
    let usual = if model.starts_with("video") { VIDEO } else { IMAGE };
    wanted["timeoutSeconds"].as_u64().map_or(usual, Duration::from_secs)
}

fn every_request_ends(trace: &Reading<'_>) -> Result<(), Finding> {
    let contents = Contents::at_the_end(trace);
    let calm = facts(trace).find(|(.., fact)| matches!(fact, Fact::Calm));
    let calm = calm.map_or(Time::ZERO, |(_, at, _)| at);
    for given in given(trace) {
        let Some(row) = contents.generations.get(&*given.id) else {
            let message = format!("{} is not in the library", given.id);
            return Err(Finding::missing(message).about(named(trace, &given.id)));
        };
        let latest = deadline(given).max(calm) + GRACE;
        if row.at > latest {
            let late = format!("{} is written at {}, after {latest}", given.id, row.at);
            return Err(Finding::missing(late).about(named(trace, &given.id)));
        }
    }
    Ok(())
}

fn counted(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    for (event, at, fact) in facts(trace) {
        contents.learn(at, &fact);
        let Fact::Library(changes) = fact else { continue };
        for id in changes.iter().filter_map(generation_of) {
            let Some(row) = contents.generations.get(id) else { continue };
            let there = contents.count_of(id);
            let right = if there > 0 { "ready" } else { "failed" };
            if row.output_count != there as i64 || row.status != right {
                let (status, said) = (row.status, row.output_count);
                let said = count(usize::try_from(said).unwrap_or_default(), "artifact");
                let message = format!("{id} is {status} with {said}; it has {there}");
                return Err(Finding::at(event, message));
            }
        }
    }
    Ok(())
}

fn is_final(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    for (event, at, fact) in facts(trace) {
        let changed = match &fact {
            Fact::Library(changes) => {
                // Tags that are still to come are another promise's concern.
                let settled =
                    |change: &&RowChange| &*change.table != "tags" || change.before.is_some();
                let mut ids = changes.iter().filter(settled).filter_map(generation_of);
                ids.find(|id| contents.generations.contains_key(id))
            }
            Fact::Put { .. } | Fact::Completed { .. } => {
                let written = contents.written(&fact);
                let other = |(artifact, body): &(&str, Body)| {
                    contents.bucket.get(artifact).is_some_and(|before| before != body)
                };
                let other = written.filter(other);
                other.and_then(|(artifact, _)| contents.artifacts.get(artifact).copied())
            }
            Fact::Deleted(artifacts) => {
                artifacts.ids().find_map(|artifact| contents.artifacts.get(artifact).copied())
            }
            _ => None,
        };
        if let Some(id) = changed.filter(|id| contents.generations.contains_key(id)) {
            return Err(Finding::at(event, format!("{id} is final, and something of it changes")));
        }
        contents.learn(at, &fact);
    }
    Ok(())
}

fn tagged(trace: &Reading<'_>) -> Result<(), Finding> {
    let contents = Contents::at_the_end(trace);
    let none = SortedSet::new();
    for given in given(trace) {
        let asked = given.wanted["tags"].as_array().into_iter().flatten();
        let asked: SortedSet<&str> = asked.filter_map(Json::as_str).collect();
        let has = contents.tags.get(&*given.id).unwrap_or(&none);
        if contents.generations.contains_key(&*given.id) && *has != asked {
            let message = format!("{} has {}; {}", given.id, tags(has), asked_for(&asked));
            return Err(Finding::missing(message).about(named(trace, &given.id)));
        }
    }
    Ok(())
}

fn tags(tags: &SortedSet<&str>) -> String {
    match tags.len() {
        0 => "no tags".into(),
        1 => format!("the tag {}", listed(tags)),
        _ => format!("the tags {}", listed(tags)),
    }
}

fn asked_for(tags: &SortedSet<&str>) -> String {
    match tags.len() {
        0 => "none were asked for".into(),
        1 => format!("{} was asked for", listed(tags)),
        _ => format!("{} were asked for", listed(tags)),
    }
}

fn listed(tags: &SortedSet<&str>) -> String {
    let tags: Vec<&str> = tags.iter().copied().collect();
    tags.join(", ")
}

fn one_by_one(trace: &Reading<'_>) -> Result<(), Finding> {
    for (event, _, fact) in facts(trace) {
        let Fact::Library(changes) = fact else { continue };
        let of = |table: &str| changes.iter().filter(|change| &*change.table == table).count();
        if of("artifacts") > 1 {
            return Err(Finding::at(event, "several artifacts become visible at once"));
        }
        let status = |change: &&RowChange| {
            &*change.table == "generations"
                && change.after.is_some()
                && !["ready", "failed"].contains(&super::facts::after(change, "status"))
        };
        if changes.iter().find(status).is_some() {
            return Err(Finding::at(event, "a generation is in the library before it is over"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::promises::generations::mutants::{
        Story, gone, row_artifact, row_generation, row_tag,
    };

    /// One artifact was asked for and made, and the generation is over.
    fn over() -> Story {
        let mut story = Story::given(&json!({ "model": "image-1", "tags": ["cats"] }));
        story.made("a").library(&[row_generation("g", "ready", 1), row_tag("cats", "g")]);
        story
    }

    #[test]
    fn an_ordinary_end_is_allowed() {
        let trace = over().calm().trace();
        for check in [every_request_ends, counted, is_final, tagged, one_by_one] {
            assert_eq!(check(&Reading::of(&trace)), Ok(()));
        }
    }

    #[test]
    fn tags_that_differ_are_told_in_words() {
        let mut story = Story::given(&json!({ "model": "image-1", "tags": ["cats"] }));
        story.made("a").library(&[row_generation("g", "ready", 1)]);
        let message = |story: &Story| tagged(&Reading::of(&story.trace())).unwrap_err().message;
        assert_eq!(message(&story), "g has no tags; cats was asked for");
        story.library(&[row_tag("dogs", "g"), row_tag("eels", "g")]);
        assert_eq!(message(&story), "g has the tags dogs, eels; cats was asked for");
    }

    #[test]
    fn a_request_that_never_ends_is_rejected() {
        let story = Story::given(&json!({ "model": "image-1" }));
        let finding = every_request_ends(&Reading::of(&story.trace())).unwrap_err();
        assert_eq!(finding.message, "g is not in the library");
    }

    #[test]
    fn an_end_is_in_time_within_the_grace_after_the_timeout_or_the_calm() {
        let ends = |model: &str, seconds: u64, calm_first: bool| {
            let mut story = Story::given(&json!({ "model": model }));
            if calm_first {
                story.calm();
            }
            story.waits(seconds);
            if !calm_first {
                story.calm();
            }
            every_request_ends(&Reading::of(&story.written("g", "failed", 0).trace())).is_ok()
        };
        let grace = GRACE.as_secs();
        assert!(ends("image-1", 299 + grace, true) && !ends("image-1", 301 + grace, true));
        assert!(ends("video-1", 599 + grace, true) && !ends("video-1", 601 + grace, true));
        assert!(ends("image-1", 3_000, false));
    }

    #[test]
    fn a_wrong_count_or_status_is_rejected() {
        for (status, count) in [("ready", 2), ("ready", 0), ("failed", 1), ("failed", 0)] {
            let mut story = Story::given(&json!({}));
            story.made("a").written("g", status, count);
            assert!(counted(&Reading::of(&story.trace())).is_err(), "{status} {count}");
        }
        let mut story = Story::given(&json!({}));
        assert!(counted(&Reading::of(&story.written("g", "ready", 0).trace())).is_err());
    }

    #[test]
    fn an_artifact_that_comes_after_the_end_is_rejected() {
        let mut story = over();
        story.library(&[row_artifact("b", "g")]);
        assert!(
            counted(&Reading::of(&story.trace())).is_err()
                && is_final(&Reading::of(&story.trace())).is_err()
        );
    }

    #[test]
    fn whatever_changes_after_the_end_is_rejected() {
        let late: [fn(&mut Story) -> &mut Story; 5] = [
            |story| story.library(&[gone(row_generation("g", "ready", 1))]),
            |story| story.library(&[gone(row_artifact("a", "g"))]),
            |story| story.library(&[gone(row_tag("cats", "g"))]),
            |story| story.put("a", "other bytes"),
            |story| story.deleted("a"),
        ];
        for (n, change) in late.into_iter().enumerate() {
            let mut story = over();
            change(&mut story);
            assert!(is_final(&Reading::of(&story.trace())).is_err(), "change {n}");
        }
    }

    #[test]
    fn the_same_bytes_again_and_what_is_not_in_the_library_may_change_after_the_end() {
        let mut story = over();
        story.put("a", "a").put("b", "b").deleted("b").library(&[row_artifact("c", "other")]);
        assert_eq!(is_final(&Reading::of(&story.trace())), Ok(()));
    }

    #[test]
    fn tags_too_many_or_too_few_are_rejected() {
        for tags in [&[][..], &["rain"], &["cats", "rain"]] {
            let mut story = Story::given(&json!({ "tags": ["cats"] }));
            story.written("g", "failed", 0);
            let rows: Vec<RowChange> = tags.iter().map(|tag| row_tag(tag, "g")).collect();
            assert!(tagged(&Reading::of(&story.library(&rows).trace())).is_err(), "{tags:?}");
        }
    }

    #[test]
    fn two_artifacts_at_once_and_a_pending_generation_are_rejected() {
        let mut story = Story::given(&json!({}));
        story.library(&[row_artifact("a", "g"), row_artifact("b", "g")]);
        assert!(one_by_one(&Reading::of(&story.trace())).is_err());
        let mut story = Story::given(&json!({}));
        assert!(one_by_one(&Reading::of(&story.written("g", "pending", 0).trace())).is_err());
    }
}
