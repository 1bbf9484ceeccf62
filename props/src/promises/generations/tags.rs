//! The tags of artifacts.

use thunderhead_sim::{Request, SortedMap, SortedSet};

use super::contents::Contents;
use super::facts::{Fact, after, before, client_of, facts, json};
use crate::promise::{Finding, Promise};
use crate::promises::Reading;

pub static AS_SET: Promise = Promise::always_shared(
    "tags of an artifact are as set",
    "the tags of an artifact change only as somebody has asked, all at once, and a client that is told so finds them changed",
    as_set,
);

type Tags = SortedSet<String>;

/// A change of the tags of an artifact that was asked for.
struct Change<'a> {
    artifact: &'a str,
    what: What,
    /// Whether the artifact was in the library when it was asked for.
    shown: bool,
    /// Whether the tags have been as they should be since it was asked for.
    met: bool,
}

enum What {
    Replace(Tags),
    Add(String),
    Remove(String),
}

impl What {
    fn of(&self, tags: &Tags) -> Tags {
        let mut tags = tags.clone();
        match self {
            What::Replace(by) => tags.clone_from(by),
            What::Add(tag) => drop(tags.insert(tag.clone())),
            What::Remove(tag) => drop(tags.remove(tag)),
        }
        tags
    }
}

impl<'a> Change<'a> {
    fn read(request: &'a Request, contents: &Contents<'_>) -> Option<Change<'a>> {
        let path = request.pathname();
        let artifact = path.strip_prefix("/artifacts/")?.strip_suffix("/tags")?;
        let what = match (&*request.method, request.query("tag")) {
            ("PUT", Some(tag)) => What::Add(tag),
            ("DELETE", Some(tag)) => What::Remove(tag),
            ("PUT", None) => What::Replace(serde_json::from_value(json(&request.body)).ok()?),
            _ => return None,
        };
        let own = contents.clients.get(artifact).copied() == client_of(request);
        let shown = contents.artifacts.contains_key(artifact) && own;
        let met = what.of(&tags(contents, artifact)) == tags(contents, artifact);
        Some(Change { artifact, what, shown, met })
    }
}

fn tags(contents: &Contents<'_>, artifact: &str) -> Tags {
    let tags = contents.tags.get(artifact).into_iter().flatten();
    tags.map(ToString::to_string).collect()
}

fn as_set(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    // A request that arrives twice is judged by what was so when it first came.
    let mut asked: SortedMap<u32, Change<'_>> = SortedMap::new();
    for (event, at, fact) in facts(trace) {
        let touched = touched(&contents, &fact);
        let were: Vec<Tags> = touched.iter().map(|artifact| tags(&contents, artifact)).collect();
        contents.learn(at, &fact);
        for (artifact, was) in touched.iter().zip(&were) {
            let now = tags(&contents, artifact);
            let asked_for =
                |change: &Change<'_>| change.artifact == *artifact && change.what.of(was) == now;
            if now != *was && !asked.values().any(asked_for) {
                let message =
                    format!("{artifact} has the tags {now:?}, which nobody has asked for");
                return Err(Finding::at(event, message));
            }
            for change in asked.values_mut().filter(|change| change.artifact == *artifact) {
                change.met |= change.what.of(&now) == now;
            }
        }
        match fact {
            Fact::Asked { call, request } => {
                if let Some(change) = Change::read(request, &contents) {
                    asked.entry(call).or_insert(change);
                }
            }
            Fact::Answered { call, response } => {
                let Some(change) = asked.get(&call) else { continue };
                let why = match response.status {
                    204 if !change.met => "is said to have other tags than it has",
                    404 if change.shown => "is in the library, and is said not to be",
                    _ => continue,
                };
                return Err(Finding::at(event, format!("{} {why}", change.artifact)));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The artifacts whose tags a transaction touches.
fn touched<'a>(contents: &Contents<'_>, fact: &Fact<'a>) -> SortedSet<&'a str> {
    let Fact::Library(changes) = fact else { return SortedSet::new() };
    let tags = changes.iter().filter(|change| &*change.table == "tags");
    let targets = tags.map(|change| match after(change, "target_id") {
        "" => before(change, "target_id"),
        now => now,
    });
    targets.filter(|target| contents.artifacts.contains_key(target)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::promises::generations::mutants::{Story, gone, row_tag};

    /// Artifact `a` has the tags `one` and `two`, as somebody has asked.
    fn tagged() -> Story {
        let mut story = Story::given(&json!({}));
        story.made("a").asked(1, "PUT", "/artifacts/a/tags", &json!(["one", "two"]));
        story.library(&[row_tag("one", "a"), row_tag("two", "a")]).answered(1, 204, &Json::Null);
        story
    }

    #[test]
    fn a_change_that_nobody_has_asked_for_is_rejected() {
        assert_eq!(as_set(&Reading::of(&tagged().trace())), Ok(()));
        assert!(as_set(&Reading::of(&tagged().library(&[row_tag("three", "a")]).trace())).is_err());
        let mut add = tagged();
        add.asked(2, "PUT", "/artifacts/a/tags?tag=three", &Json::Null);
        assert_eq!(as_set(&Reading::of(&add.library(&[row_tag("three", "a")]).trace())), Ok(()));
        let mut remove = tagged();
        remove.asked(2, "DELETE", "/artifacts/a/tags?tag=two", &Json::Null);
        assert_eq!(
            as_set(&Reading::of(&remove.library(&[gone(row_tag("two", "a"))]).trace())),
            Ok(())
        );
        assert!(
            as_set(&Reading::of(&remove.library(&[gone(row_tag("one", "a"))]).trace())).is_err()
        );
    }

    #[test]
    fn tags_that_are_replaced_in_two_steps_are_rejected() {
        let (one, two) = (gone(row_tag("one", "a")), gone(row_tag("two", "a")));
        let replaced = |steps: &[&[_]]| {
            let mut story = tagged();
            story.asked(2, "PUT", "/artifacts/a/tags", &json!(["three"]));
            for step in steps {
                story.library(step);
            }
            as_set(&Reading::of(&story.answered(2, 204, &Json::Null).trace()))
        };
        let three = row_tag("three", "a");
        assert_eq!(replaced(&[&[one.clone(), two.clone(), three.clone()]]), Ok(()));
        assert!(replaced(&[&[one, two], &[three]]).is_err());
    }

    #[test]
    fn an_answer_before_the_change_is_rejected() {
        let mut story = tagged();
        story.asked(2, "DELETE", "/artifacts/a/tags?tag=two", &Json::Null);
        assert!(as_set(&Reading::of(&story.answered(2, 204, &Json::Null).trace())).is_err());
        let mut story = tagged();
        story.asked(2, "DELETE", "/artifacts/a/tags?tag=three", &Json::Null);
        assert_eq!(as_set(&Reading::of(&story.answered(2, 204, &Json::Null).trace())), Ok(()));
        assert_eq!(as_set(&Reading::of(&story.answered(2, 503, &Json::Null).trace())), Ok(()));
    }

    #[test]
    fn an_artifact_that_is_there_is_found() {
        let told = |artifact: &str| {
            let mut story = tagged();
            story.asked_by("ann", 2, "PUT", &format!("/artifacts/{artifact}/tags?tag=x"));
            as_set(&Reading::of(&story.answered(2, 404, &Json::Null).trace()))
        };
        assert!(told("a").is_err());
        assert_eq!(told("b"), Ok(()));
    }
}
