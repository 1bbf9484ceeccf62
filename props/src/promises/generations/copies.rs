//! How results get into the bucket: one part after the other, all of one version, in uploads that come to an end.

use thunderhead_sim::{Body, EventKind, Response, SortedMap, SortedSet};

use super::contents::Contents;
use super::facts::{Fact, facts_of};
use crate::history::named;
use crate::promise::{Finding, Promise};
use crate::promises::Reading;

pub static IN_PARTS: Promise = Promise::always_shared(
    "an artifact comes in parts",
    "no answer of the provider has more bytes of an artifact than a part, so an object never has a whole film in memory",
    in_parts,
);

pub static NONE_LEFT_OPEN: Promise = Promise::eventually_shared(
    "no upload is left open",
    "in the end every upload whose id an object has learned is completed or aborted",
    none_left_open,
);

pub static SEVERAL_PARTS: Promise = Promise::sometimes_shared(
    "an artifact has several parts",
    "an upload of more than two parts is completed, and its artifact is in the library",
    several_parts,
);

pub static CHANGED: Promise = Promise::sometimes_shared(
    "a result changes while it is copied",
    "the provider does not have the version any more of which there are parts, and the artifact is in the library all the same",
    changed,
);

/// How many bytes a part has at most.
const PART_BYTES: usize = 64;

fn in_parts(trace: &Reading<'_>) -> Result<(), Finding> {
    for (event, fact) in facts_of(trace, |kind| matches!(kind, EventKind::End { .. })) {
        let Fact::Served { task, response } = fact else { continue };
        let length = response.body.len();
        if matches!(response.status, 200 | 206) && length > PART_BYTES {
            let message = format!("{length} bytes of {task} are sent at once");
            return Err(Finding::at(event, message));
        }
    }
    Ok(())
}

/// An upload whose id is lost on its way is R2's own to end, after seven days: no binding lists uploads. So is one
/// whose object dies in the turn in which it hears of it, because what that turn has written down is lost.
fn none_left_open(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut open: SortedMap<&str, (usize, &str)> = SortedMap::new();
    let heard =
        |kind: &EventKind| matches!(kind, EventKind::Effect { .. } | EventKind::Return { .. });
    for (event, fact) in facts_of(trace, heard) {
        match fact {
            Fact::Opened { artifact, upload } if !is_last_word(trace, event) => {
                open.insert(upload, (event, artifact));
            }
            Fact::Completed { upload, .. } | Fact::Aborted { upload } => {
                open.remove(upload);
            }
            _ => {}
        }
    }
    match open.into_values().next() {
        Some((event, artifact)) => {
            let message = format!("an upload of {artifact} is neither completed nor aborted");
            Err(Finding::missing(message).about(named(trace, artifact)).about([event]))
        }
        None => Ok(()),
    }
}

/// Whether the actor of an event dies before anything else is heard of it.
fn is_last_word(trace: &Reading<'_>, event: usize) -> bool {
    let events = trace.events();
    let next = events[event + 1..].iter().find(|next| next.actor == events[event].actor);
    next.is_some_and(|next| matches!(next.kind, EventKind::Crash { .. }))
}

fn several_parts(trace: &Reading<'_>) -> bool {
    let effects = facts_of(trace, |kind| matches!(kind, EventKind::Effect { .. }));
    let several = effects.filter_map(|(_, fact)| match fact {
        Fact::Completed { artifact, parts, .. } => (parts.len() > 2).then_some(artifact),
        _ => None,
    });
    is_some_shown(trace, &several.collect())
}

fn changed(trace: &Reading<'_>) -> bool {
    let mut artifacts = SortedMap::new();
    let mut changed = SortedSet::new();
    let told = |kind: &EventKind| matches!(kind, EventKind::Log { .. } | EventKind::End { .. });
    for (_, fact) in facts_of(trace, told) {
        match fact {
            Fact::Accepted(job) => drop(artifacts.insert(job.task, job.artifact)),
            Fact::Served { task, response } if response.status == 412 => {
                changed.extend(artifacts.get(task).copied());
            }
            _ => {}
        }
    }
    is_some_shown(trace, &changed)
}

/// Whether one of these artifacts is in the library in the end.
fn is_some_shown(trace: &Reading<'_>, artifacts: &SortedSet<&str>) -> bool {
    !artifacts.is_empty() && {
        let contents = Contents::at_the_end(trace);
        artifacts.iter().any(|artifact| contents.artifacts.contains_key(artifact))
    }
}

/// What the provider has handed out of one artifact.
#[derive(Debug, Default)]
pub struct Versions<'a>(SortedMap<&'a str, Version<'a>>);

/// The parts of one version that were handed out, by where they begin.
#[derive(Debug, Default)]
struct Version<'a> {
    size: usize,
    parts: SortedMap<usize, &'a Body>,
}

impl<'a> Versions<'a> {
    /// Learns from an answer: all bytes of a version, or some.
    pub fn learn(&mut self, response: &'a Response) {
        let header = |name| response.headers.get(name).unwrap_or_default();
        let part = match response.status {
            200 => Some((0, response.body.len())),
            206 => range(header("content-range")),
            _ => None,
        };
        let Some((first, size)) = part else { return };
        let version = self.0.entry(header("etag")).or_default();
        version.size = size;
        version.parts.insert(first, &response.body);
    }

    /// Whether these are all bytes of one version.
    pub fn contains(&self, bytes: &Body) -> bool {
        self.0.values().any(|version| version.is(bytes.bytes()))
    }
}

impl Version<'_> {
    fn is(&self, bytes: &[u8]) -> bool {
        let mut rest = bytes;
        for (first, part) in &self.parts {
            if *first != bytes.len() - rest.len() || !rest.starts_with(part.bytes()) {
                return false;
            }
            rest = &rest[part.len()..];
        }
        rest.is_empty() && bytes.len() == self.size
    }
}

/// Where the bytes of `bytes FIRST-LAST/SIZE` begin, and how many there are of the whole.
fn range(header: &str) -> Option<(usize, usize)> {
    let (range, size) = header.strip_prefix("bytes ")?.split_once('/')?;
    let (first, _) = range.split_once('-')?;
    Some((first.parse().ok()?, size.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use thunderhead_sim::Trace;

    use super::*;
    use crate::promise::Check;
    use crate::promises::generations::artifacts::HAS_ITS_BYTES;
    use crate::promises::generations::mutants::{Story, row_artifact};

    fn story() -> Story {
        let mut story = Story::given(&json!({ "model": "video-1" }));
        story.accepted("a-1", "a", "g");
        story
    }

    fn has_its_bytes(trace: &Trace) -> Result<(), Finding> {
        match &HAS_ITS_BYTES.check {
            Check::Always(judge) => judge.of(trace),
            _ => unreachable!("it is judged at all times"),
        }
    }

    #[test]
    fn more_than_a_part_at_once_is_rejected() {
        let (part, more) = ("x".repeat(PART_BYTES), "x".repeat(PART_BYTES + 1));
        assert_eq!(in_parts(&Reading::of(&story().served("a-1", 200, &part).trace())), Ok(()));
        assert_eq!(in_parts(&Reading::of(&story().served("a-1", 404, &more).trace())), Ok(()));
        for status in [200, 206] {
            assert!(in_parts(&Reading::of(&story().served("a-1", status, &more).trace())).is_err());
        }
    }

    /// A film of two parts, with these versions in the provider's answers, written to the bucket and shown.
    fn film(versions: [&str; 2]) -> Story {
        let mut story = story();
        story.served_part("a-1", "0-1/3", versions[0], "ab").opened("a", "u").part("u", 1, "ab");
        story.served_part("a-1", "2-2/3", versions[1], "c").part("u", 2, "c");
        story
    }

    #[test]
    fn parts_of_one_version_are_its_bytes_and_parts_of_two_are_not() {
        let judged = |versions, parts: &[i64]| {
            let mut story = film(versions);
            has_its_bytes(
                &story.completed("a", "u", parts).library(&[row_artifact("a", "g")]).trace(),
            )
        };
        assert_eq!(judged(["v1", "v1"], &[1, 2]), Ok(()));
        assert!(judged(["v1", "v2"], &[1, 2]).is_err(), "two versions");
        assert!(judged(["v1", "v1"], &[1]).is_err(), "a part is missing");
        assert!(judged(["v1", "v1"], &[2]).is_err(), "a part is missing");
    }

    #[test]
    fn an_upload_that_is_left_open_is_rejected_unless_its_id_was_lost() {
        assert_eq!(
            none_left_open(&Reading::of(&film(["v1", "v1"]).completed("a", "u", &[1, 2]).trace())),
            Ok(())
        );
        assert_eq!(none_left_open(&Reading::of(&film(["v1", "v1"]).aborted("u").trace())), Ok(()));
        let found =
            none_left_open(&Reading::of(&film(["v1", "v1"]).aborted("other").trace())).unwrap_err();
        assert_eq!(found.message, "an upload of a is neither completed nor aborted");
        let mut story = story();
        assert!(
            none_left_open(&Reading::of(&story.opened("a", "u").stored("g").died("g").trace()))
                .is_err()
        );
        let mut story = self::story();
        assert_eq!(none_left_open(&Reading::of(&story.opened("a", "u").died("g").trace())), Ok(()));
    }
}
