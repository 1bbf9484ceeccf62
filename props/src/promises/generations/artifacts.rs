//! What becomes of artifacts: each has its bytes, none is left over, none is paid for twice or lost.

use std::time::Duration;

use thunderhead_sim::{SortedMap, SortedSet, Time};

use super::contents::Contents;
use super::copies::Versions;
use super::ends::timeout;
use super::facts::{Fact, created, facts};
use crate::history::named;
use crate::promise::{Finding, Promise};
use crate::promises::Reading;
use crate::promises::count;

pub static HAS_ITS_BYTES: Promise = Promise::always_shared(
    "an artifact has its bytes",
    "whenever an artifact is in the library, the bucket has the bytes that the provider made, all of one version",
    has_its_bytes,
);

pub static NOTHING_LEFT_OVER: Promise = Promise::eventually_shared(
    "nothing is left over",
    "in the end every object in the bucket has its row, and every artifact its generation",
    nothing_left_over,
);

pub static PAID_ONCE: Promise = Promise::always_shared(
    "nothing is paid for twice",
    "the provider charges for an artifact once, and takes on three jobs for each at most",
    paid_once,
);

pub static KEPT: Promise = Promise::eventually_shared(
    "what was paid for is kept",
    "an artifact that was done is in the library if its generation ended before its time was up, or 20 minutes of \
            calm later",
    kept,
);

pub static TRIED: Promise = Promise::eventually_shared(
    "every artifact is tried",
    "a generation that ended before its time was up has had a job taken on for each artifact that was asked for",
    tried,
);

pub static APART: Promise = Promise::always_shared(
    "generations are apart",
    "an artifact belongs to the generation that its job was for, and only its object writes it",
    apart,
);

/// How many jobs the provider may be asked for on behalf of one artifact.
const ATTEMPTS_MAX: usize = 3;
/// How long it may take to fetch what is done: an object looks every five minutes or more often, unless
/// its alarm is lost, and then it is looked after as soon as a queue has stopped waiting for a consumer.
const FETCHED: Duration = Duration::from_secs(20 * 60);

fn has_its_bytes(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    let mut artifact_of: SortedMap<&str, &str> = SortedMap::new();
    let mut made: SortedMap<&str, Versions<'_>> = SortedMap::new();
    for (event, at, fact) in facts(trace) {
        contents.learn(at, &fact);
        let touched: Vec<&str> = match &fact {
            Fact::Accepted(job) => {
                artifact_of.insert(job.task, job.artifact);
                continue;
            }
            Fact::Served { task, response } => {
                let artifact = artifact_of.get(task).copied().unwrap_or_default();
                made.entry(artifact).or_default().learn(response);
                continue;
            }
            Fact::Library(changes) => {
                let artifacts = changes.iter().filter(|change| &*change.table == "artifacts");
                artifacts.map(|change| super::facts::after(change, "id")).collect()
            }
            Fact::Put { artifact, .. } | Fact::Completed { artifact, .. } => vec![artifact],
            Fact::Deleted(artifacts) => artifacts.ids().collect(),
            _ => continue,
        };
        for artifact in touched {
            if !contents.artifacts.contains_key(artifact) {
                continue;
            }
            let Some(bytes) = contents.bucket.get(artifact) else {
                let message = format!("{artifact} is in the library, and not in the bucket");
                return Err(Finding::at(event, message));
            };
            if !made.get(artifact).is_some_and(|made| made.contains(bytes)) {
                let message = format!("{artifact} has bytes that the provider did not make for it");
                return Err(Finding::at(event, message));
            }
        }
    }
    Ok(())
}

fn nothing_left_over(trace: &Reading<'_>) -> Result<(), Finding> {
    let contents = Contents::at_the_end(trace);
    for artifact in contents.bucket.keys() {
        if !contents.artifacts.contains_key(artifact) {
            let message = format!("{artifact} is in the bucket and has no row");
            return Err(Finding::missing(message).about(named(trace, artifact)));
        }
    }
    for (artifact, generation) in &contents.artifacts {
        if !contents.generations.contains_key(generation) {
            let message = format!("{artifact} has a row, and its generation {generation} has none");
            return Err(Finding::missing(message).about(named(trace, artifact)));
        }
    }
    Ok(())
}

fn paid_once(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut created = created(trace);
    let mut counts: SortedMap<&str, u64> = SortedMap::new();
    let mut jobs: SortedMap<&str, usize> = SortedMap::new();
    let mut charged = SortedSet::new();
    for (event, _, fact) in facts(trace) {
        match fact {
            Fact::Created { generation, .. } => {
                let asked = created.next().expect("every request that was told of is there");
                counts.insert(generation, asked["count"].as_u64().unwrap_or_default());
            }
            Fact::Accepted(job) => {
                let jobs = jobs.entry(job.generation).or_default();
                *jobs += 1;
                let artifacts = counts.get(job.generation).copied().unwrap_or_default() as usize;
                if *jobs > artifacts * ATTEMPTS_MAX {
                    let (jobs, artifacts) = (count(*jobs, "job"), count(artifacts, "artifact"));
                    let message = format!("{jobs} for {artifacts} of {}", job.generation);
                    return Err(Finding::at(event, message));
                }
            }
            Fact::Charged(job, _) if !charged.insert(job.artifact) => {
                return Err(Finding::at(event, format!("{} is paid for twice", job.artifact)));
            }
            _ => {}
        }
    }
    Ok(())
}

fn kept(trace: &Reading<'_>) -> Result<(), Finding> {
    let contents = Contents::at_the_end(trace);
    let mut calm = Time::ZERO;
    let mut charged = Vec::new();
    // When the time of each generation is up. One that ends before has heard of all its jobs.
    let mut deadlines: SortedMap<&str, Time> = SortedMap::new();
    let mut created = created(trace);
    for (event, at, fact) in facts(trace) {
        match fact {
            Fact::Created { generation, .. } => {
                let asked = created.next().expect("every request that was told of is there");
                deadlines.entry(generation).or_insert_with(|| at + timeout(asked));
            }
            Fact::Charged(job, _) => charged.push((event, at, job)),
            Fact::Calm => calm = at,
            _ => {}
        }
    }
    for (event, at, job) in charged {
        let Some(generation) = contents.generations.get(job.generation) else { continue };
        let early = deadlines.get(job.generation).is_some_and(|up| generation.at < *up);
        let in_time = early || generation.at > at.max(calm) + FETCHED;
        if in_time && !contents.artifacts.contains_key(job.artifact) {
            let message = format!("{} was done at {at} and is in no library", job.artifact);
            return Err(Finding::missing(message).about([event]));
        }
    }
    Ok(())
}

fn tried(trace: &Reading<'_>) -> Result<(), Finding> {
    let contents = Contents::at_the_end(trace);
    let mut created = created(trace);
    let mut asked: SortedMap<&str, (Time, usize)> = SortedMap::new();
    let mut taken: SortedMap<&str, SortedSet<&str>> = SortedMap::new();
    for (_, at, fact) in facts(trace) {
        match fact {
            Fact::Created { generation, .. } => {
                let args = created.next().expect("every request that was told of is there");
                let count = args["count"].as_u64().unwrap_or_default() as usize;
                asked.entry(generation).or_insert_with(|| (at + timeout(args), count));
            }
            Fact::Accepted(job) => {
                taken.entry(job.generation).or_default().insert(job.artifact);
            }
            _ => {}
        }
    }
    for (id, (up, count)) in asked {
        let ended = contents.generations.get(id).is_some_and(|row| row.at < up);
        let taken = taken.get(id).map_or(0, SortedSet::len);
        if ended && taken < count {
            let message = format!("{id} is over, and jobs were taken on for {taken} of {count}");
            return Err(Finding::missing(message));
        }
    }
    Ok(())
}

fn apart(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut owner: SortedMap<&str, &str> = SortedMap::new();
    for (event, _, fact) in facts(trace) {
        let claims: Vec<(&str, &str)> = match &fact {
            Fact::Accepted(job) => vec![(job.artifact, job.generation)],
            Fact::Putting { generation, artifact } => vec![(artifact, generation)],
            Fact::Library(changes) => {
                let artifacts = changes.iter().filter(|change| &*change.table == "artifacts");
                let text = super::facts::after;
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::promises::generations::mutants::{Story, row_artifact};

    fn story() -> Story {
        Story::given(&json!({ "model": "image-1" }))
    }

    #[test]
    fn an_artifact_made_as_it_should_be_is_allowed() {
        let mut story = story();
        let trace = story.made("a").written("g", "ready", 1).trace();
        for check in [has_its_bytes, nothing_left_over, paid_once, kept, apart] {
            assert_eq!(check(&Reading::of(&trace)), Ok(()));
        }
    }

    #[test]
    fn an_artifact_without_its_bytes_is_rejected() {
        let bare = |tell: fn(&mut Story) -> &mut Story| {
            let mut story = story();
            story.accepted("a-1", "a", "g");
            tell(&mut story);
            has_its_bytes(&Reading::of(&story.library(&[row_artifact("a", "g")]).trace()))
        };
        assert!(bare(|story| story).unwrap_err().message.contains("not in the bucket"));
        assert!(bare(|story| story.put("a", "a")).is_err(), "never served");
        let other: fn(&mut Story) -> &mut Story =
            |story| story.served("a-1", 200, "x").put("a", "a");
        assert!(bare(other).unwrap_err().message.contains("did not make"));
        let refused: fn(&mut Story) -> &mut Story =
            |story| story.served("a-1", 410, "a").put("a", "a");
        assert!(bare(refused).is_err(), "not a result");
        assert_eq!(bare(|story| story.served("a-1", 200, "a").put("a", "a")), Ok(()));
    }

    #[test]
    fn an_artifact_that_loses_its_bytes_is_rejected() {
        assert!(has_its_bytes(&Reading::of(&story().made("a").deleted("a").trace())).is_err());
        assert!(has_its_bytes(&Reading::of(&story().made("a").put("a", "other").trace())).is_err());
    }

    #[test]
    fn an_object_without_a_row_and_a_row_without_a_generation_are_rejected() {
        let trace = story().written("g", "failed", 0).put("b", "b").trace();
        assert!(
            nothing_left_over(&Reading::of(&trace))
                .unwrap_err()
                .message
                .contains("b is in the bucket")
        );
        let trace = story().made("a").trace();
        assert!(
            nothing_left_over(&Reading::of(&trace))
                .unwrap_err()
                .message
                .contains("its generation g")
        );
    }

    #[test]
    fn an_artifact_that_is_paid_for_twice_is_rejected() {
        let mut story = story();
        story.accepted("a-1", "a", "g").charged("a-1", "a").accepted("a-2", "a", "g");
        assert_eq!(paid_once(&Reading::of(&story.trace())), Ok(()));
        assert!(paid_once(&Reading::of(&story.charged("a-2", "a").trace())).is_err());
    }

    #[test]
    fn more_jobs_than_three_for_each_artifact_are_rejected() {
        let mut story = story();
        story.accepted("a-1", "a", "g").accepted("a-2", "a", "g").accepted("a-3", "a", "g");
        assert_eq!(paid_once(&Reading::of(&story.trace())), Ok(()));
        assert!(paid_once(&Reading::of(&story.accepted("a-4", "a", "g").trace())).is_err());
    }

    #[test]
    fn an_artifact_that_was_done_long_before_the_end_and_is_lost_is_rejected() {
        let lost = |waits: u64| {
            let mut story = story();
            story.accepted("a-1", "a", "g").charged("a-1", "a").calm().waits(waits);
            kept(&Reading::of(&story.written("g", "failed", 0).trace()))
        };
        assert_eq!(lost(FETCHED.as_secs() - 1), Ok(()));
        assert!(lost(FETCHED.as_secs() + 1).is_err());
        assert!(lost(299).is_err(), "its time was not up");
    }

    #[test]
    fn a_generation_that_is_over_too_soon_for_an_artifact_to_be_tried_is_rejected() {
        let mut story = story();
        assert_eq!(tried(&Reading::of(&story.trace())), Ok(()));
        let message =
            tried(&Reading::of(&story.written("g", "failed", 0).trace())).unwrap_err().message;
        assert_eq!(message, "g is over, and jobs were taken on for 0 of 1");
        assert_eq!(tried(&Reading::of(&story.accepted("a-1", "a", "g").trace())), Ok(()));
    }

    #[test]
    fn a_generation_that_touches_another_is_rejected() {
        let mut wrong = story();
        assert!(
            apart(&Reading::of(&wrong.made("a").library(&[row_artifact("a", "h")]).trace()))
                .is_err()
        );
        assert!(apart(&Reading::of(&story().made("a").putting("h", "a").trace())).is_err());
        assert!(apart(&Reading::of(&story().made("a").accepted("a-2", "a", "h").trace())).is_err());
    }
}
