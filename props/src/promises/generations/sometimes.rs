//! What a search must have seen, or it proves little.

use serde::Deserialize;
use thunderhead_sim::{Body, SortedMap, SortedSet};

use super::contents::Contents;
use super::ends::deadline;
use super::facts::{Fact, facts, given, json};
use super::served::fetched;
use crate::history::served;
use crate::promise::Promise;
use crate::promises::Reading;

pub static SOME_FAIL: Promise = Promise::sometimes_shared(
    "some artifacts fail and others are made",
    "some generation is ready with fewer artifacts than were asked for",
    |trace| fewer(trace, |made| made > 0),
);

pub static ALL_FAIL: Promise =
    Promise::sometimes_shared("all artifacts fail", "some generation is failed", |trace| {
        fewer(trace, |made| made == 0)
    });

pub static TIMED_OUT: Promise = Promise::sometimes_shared(
    "time is up and what there is, is kept",
    "some generation ends because its time is up, with an artifact",
    timed_out,
);

pub static RETRIED: Promise = Promise::sometimes_shared(
    "a failed job is followed by another",
    "the provider takes on a second job for an artifact, and the artifact is made",
    retried,
);

pub static EXPIRED: Promise = Promise::sometimes_shared(
    "an address expires and the artifact is kept",
    "the provider refuses an old address, and the artifact is in the library all the same",
    expired,
);

pub static OVERTAKEN: Promise = Promise::sometimes_shared(
    "a webhook overtakes the answer",
    "a webhook is taken in before the request for its job is answered",
    overtaken,
);

pub static STRAY: Promise = Promise::sometimes_shared(
    "a stray webhook is told so",
    "webhooks come for a generation that is over and for one that never was",
    |trace| stray(trace, 404) || stray(trace, 410),
);

pub static LATE: Promise = Promise::sometimes_shared(
    "a webhook comes too late",
    "a webhook comes for a generation that is over",
    |trace| stray(trace, 410),
);

pub static RESUMED: Promise = Promise::sometimes_shared(
    "an object dies and goes on",
    "an object dies before its generation is over, and it ends with an artifact",
    resumed,
);

pub static SWEPT: Promise = Promise::sometimes_shared(
    "something is swept up",
    "what is in the bucket and came too late for the library is deleted",
    swept,
);

pub static REPEATED: Promise = Promise::sometimes_shared(
    "a request is repeated",
    "two requests under one key are given an id",
    repeated,
);

pub static SUBSCRIBED: Promise = Promise::sometimes_shared(
    "a subscriber hears of the end",
    "an object tells a connected client that its generation is over",
    subscribed,
);

pub static FETCHED: Promise = Promise::sometimes_shared(
    "an artifact is fetched whole, in part and not again",
    "the bytes of artifacts are answered with 200, 206 and 304",
    fetched_all_ways,
);

pub static TAGGED: Promise = Promise::sometimes_shared(
    "an artifact loses a tag",
    "a client removes a tag of an artifact, and is told so",
    untagged,
);

pub static BROWSED: Promise = Promise::sometimes_shared(
    "a second page is seen",
    "a client goes on from the cursor of a page, and finds something",
    browsed,
);

pub static REFUSED: Promise = Promise::sometimes_shared(
    "a client asks for what is another's",
    "an artifact is fetched by another client than its own, and not found",
    refused,
);

/// Whether some generation ends with fewer artifacts than asked for, and so many.
fn fewer(trace: &Reading<'_>, made: impl Fn(i64) -> bool) -> bool {
    let contents = Contents::at_the_end(trace);
    given(trace).iter().any(|given| {
        let asked = given.wanted["count"].as_i64().unwrap_or(1);
        let row = contents.generations.get(&*given.id);
        row.is_some_and(|row| row.output_count < asked && made(row.output_count))
    })
}

fn timed_out(trace: &Reading<'_>) -> bool {
    let contents = Contents::at_the_end(trace);
    given(trace).iter().any(|given| {
        let asked = given.wanted["count"].as_i64().unwrap_or(1);
        let row = contents.generations.get(&*given.id);
        // The answer comes a little after the clock was set.
        row.is_some_and(|row| {
            let late = row.at + std::time::Duration::from_secs(1) >= deadline(given);
            late && (1..asked).contains(&row.output_count)
        })
    })
}

fn retried(trace: &Reading<'_>) -> bool {
    let contents = Contents::at_the_end(trace);
    let mut tasks = SortedSet::new();
    facts(trace).any(|(.., fact)| match fact {
        Fact::Accepted(job) => {
            let made = contents.artifacts.contains_key(job.artifact);
            !tasks.insert(job.artifact) && made
        }
        _ => false,
    })
}

fn expired(trace: &Reading<'_>) -> bool {
    let contents = Contents::at_the_end(trace);
    let mut artifacts = SortedMap::new();
    facts(trace).any(|(.., fact)| match fact {
        Fact::Accepted(job) => {
            artifacts.insert(job.task, job.artifact);
            false
        }
        Fact::Served { task, response } if response.status == 410 => {
            artifacts.get(task).is_some_and(|artifact| contents.artifacts.contains_key(artifact))
        }
        _ => false,
    })
}

fn overtaken(trace: &Reading<'_>) -> bool {
    let (mut open, mut asked) = (SortedMap::new(), SortedMap::new());
    facts(trace).any(|(.., fact)| match fact {
        Fact::Submitting { call, job } => {
            open.insert(call, task_of(job));
            false
        }
        Fact::Replied { call } => {
            open.remove(&call);
            false
        }
        Fact::Asked { call, request } if request.path.starts_with("/webhook") => {
            asked.insert(call, task_of(&request.body));
            false
        }
        Fact::Answered { call, response } if response.status == 200 => {
            asked.get(&call).is_some_and(|task| open.values().any(|open| open == task))
        }
        _ => false,
    })
}

/// The job that a request or a report is about.
fn task_of(body: &Body) -> String {
    #[derive(Default, Deserialize)]
    struct Job {
        #[serde(rename = "taskUUID")]
        task: String,
    }
    let job: Job = body.read().unwrap_or_default();
    job.task
}

fn stray(trace: &Reading<'_>, status: u16) -> bool {
    let mut asked = SortedSet::new();
    facts(trace).any(|(.., fact)| match fact {
        Fact::Asked { call, request } if request.path.starts_with("/webhook") => {
            asked.insert(call);
            false
        }
        Fact::Answered { call, response } => response.status == status && asked.contains(&call),
        _ => false,
    })
}

fn resumed(trace: &Reading<'_>) -> bool {
    let mut contents = Contents::default();
    let mut died = SortedSet::new();
    for (_, at, fact) in facts(trace) {
        contents.learn(at, &fact);
        if let Fact::Died { generation } = fact
            && !contents.generations.contains_key(generation)
        {
            died.insert(generation);
        }
    }
    let ready = |id: &&str| contents.generations.get(id).is_some_and(|row| row.status == "ready");
    died.iter().any(ready)
}

fn swept(trace: &Reading<'_>) -> bool {
    let mut contents = Contents::default();
    facts(trace).any(|(_, at, fact)| {
        let there = |artifact: &&str| contents.bucket.contains_key(artifact);
        let deleted =
            matches!(&fact, Fact::Deleted(artifacts) if artifacts.ids().any(|id| there(&id)));
        contents.learn(at, &fact);
        deleted
    })
}

fn repeated(trace: &Reading<'_>) -> bool {
    let mut keys = SortedSet::new();
    let given = given(trace);
    let mut named = given.iter().filter_map(|given| {
        let key = given.wanted["idempotencyKey"].as_str()?;
        Some((given.client, key))
    });
    named.any(|key| !keys.insert(key))
}

fn subscribed(trace: &Reading<'_>) -> bool {
    facts(trace).any(|(.., fact)| match fact {
        Fact::Told { message, .. } => json(message)["standing"] == "settled",
        _ => false,
    })
}

fn untagged(trace: &Reading<'_>) -> bool {
    served(trace, "web").any(|(_, request, response)| {
        &*request.method == "DELETE"
            && request.pathname().ends_with("/tags")
            && response.status == 204
    })
}

fn browsed(trace: &Reading<'_>) -> bool {
    served(trace, "web").any(|(_, request, response)| {
        let has_items = || {
            let page = json(&response.body);
            page["items"].as_array().is_some_and(|items| !items.is_empty())
        };
        request.query("cursor").is_some() && has_items()
    })
}

fn refused(trace: &Reading<'_>) -> bool {
    let contents = Contents::at_the_end(trace);
    served(trace, "web").any(|(_, request, response)| {
        let shown = fetched(request).is_some_and(|id| contents.artifacts.contains_key(id));
        shown && response.status == 404
    })
}

fn fetched_all_ways(trace: &Reading<'_>) -> bool {
    let answers = served(trace, "web").filter(|(_, request, _)| fetched(request).is_some());
    let statuses: SortedSet<u16> = answers.map(|(.., response)| response.status).collect();
    [200, 206, 304].iter().all(|status| statuses.contains(status))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};
    use thunderhead_sim::{Response, Trace};

    use super::*;
    use crate::promises::generations::mutants::Story;

    fn two() -> Json {
        json!({ "model": "image-1", "count": 2, "timeoutSeconds": 10 })
    }

    #[test]
    fn ends_with_fewer_artifacts_are_seen() {
        let ends = |made: i64| {
            let mut story = Story::given(&two());
            let status = if made > 0 { "ready" } else { "failed" };
            story.written("g", status, made).trace()
        };
        let some = |trace: &Trace| fewer(&Reading::of(trace), |made| made > 0);
        assert!(some(&ends(1)) && !some(&ends(2)) && !some(&ends(0)));
        let none = |trace: &Trace| fewer(&Reading::of(trace), |made| made == 0);
        assert!(none(&ends(0)) && !none(&ends(1)));
    }

    #[test]
    fn an_end_because_time_is_up_is_seen() {
        let ends = |seconds, made| {
            let mut story = Story::given(&two());
            story.waits(seconds).written("g", "ready", made).trace()
        };
        assert!(timed_out(&Reading::of(&ends(10, 1))));
        assert!(!timed_out(&Reading::of(&ends(5, 1))) && !timed_out(&Reading::of(&ends(10, 2))));
    }

    #[test]
    fn another_job_and_an_old_address_are_seen() {
        let mut story = Story::given(&two());
        story.made("a");
        assert!(!retried(&Reading::of(&story.trace())) && !expired(&Reading::of(&story.trace())));
        assert!(retried(&Reading::of(&story.accepted("a-2", "a", "g").trace())));
        assert!(expired(&Reading::of(&story.served("a-1", 410, "").trace())));
    }

    #[test]
    fn a_webhook_that_overtakes_is_seen() {
        let mut story = Story::given(&two());
        story.submits(7, "a-1").hears(7).webhook(8, "g", 200);
        assert!(!overtaken(&Reading::of(&story.trace())));
        assert!(overtaken(&Reading::of(&story.submits(9, "a-1").webhook(10, "g", 200).trace())));
    }

    #[test]
    fn stray_webhooks_are_seen_by_their_answers() {
        let mut story = Story::given(&two());
        story.webhook(1, "g", 200).told(2, "h", 404, "");
        assert!(!stray(&Reading::of(&story.trace()), 404));
        assert!(stray(&Reading::of(&story.webhook(3, "h", 404).trace()), 404));
        assert!(
            !stray(&Reading::of(&story.trace()), 410)
                && stray(&Reading::of(&story.webhook(4, "g", 410).trace()), 410)
        );
    }

    #[test]
    fn an_artifact_that_is_fetched_in_every_way_is_seen() {
        let mut story = Story::given(&two());
        assert!(!refused(&Reading::of(&story.made("a").trace())));
        for (call, status) in [(1, 200), (2, 404), (3, 206)] {
            story.fetches(call, "a", ("", ""), Response::new(status, ""));
        }
        assert!(
            !fetched_all_ways(&Reading::of(&story.trace()))
                && refused(&Reading::of(&story.trace()))
        );
        assert!(fetched_all_ways(&Reading::of(
            &story.fetches(4, "a", ("", ""), Response::new(304, "")).trace()
        )));
    }

    #[test]
    fn tags_that_are_removed_and_second_pages_are_seen() {
        let mut story = Story::given(&two());
        story.asked(1, "DELETE", "/artifacts/a/tags?tag=t", &json!({})).answered(
            1,
            404,
            &json!({}),
        );
        story.asked(2, "GET", "/artifacts", &json!({})).answered(2, 200, &json!({ "items": [1] }));
        story.asked(3, "GET", "/artifacts?cursor=a", &json!({})).answered(
            3,
            200,
            &json!({ "items": [] }),
        );
        assert!(!untagged(&Reading::of(&story.trace())) && !browsed(&Reading::of(&story.trace())));
        story.asked(4, "DELETE", "/artifacts/a/tags?tag=t", &json!({})).answered(
            4,
            204,
            &json!({}),
        );
        story.asked(5, "GET", "/artifacts?cursor=a", &json!({})).answered(
            5,
            200,
            &json!({ "items": [1] }),
        );
        assert!(untagged(&Reading::of(&story.trace())) && browsed(&Reading::of(&story.trace())));
    }

    #[test]
    fn a_death_before_the_end_is_seen() {
        let mut story = Story::given(&two());
        story.written("g", "ready", 1).died("g");
        assert!(!resumed(&Reading::of(&story.trace())));
        let mut story = Story::given(&two());
        assert!(resumed(&Reading::of(&story.died("g").written("g", "ready", 1).trace())));
    }

    #[test]
    fn sweeping_repeating_and_telling_are_seen() {
        let named = json!({ "idempotencyKey": "k" });
        let mut story = Story::given(&named);
        story.deleted("a").give(1, "h", &json!({ "idempotencyKey": "l" }));
        story.pushed("g", &json!({ "standing": "active" }));
        let trace = story.trace();
        assert!(
            !swept(&Reading::of(&trace))
                && !repeated(&Reading::of(&trace))
                && !subscribed(&Reading::of(&trace))
        );
        story.put("a", "a").deleted("a").give(2, "g", &named);
        let trace = story.pushed("g", &json!({ "standing": "settled" })).trace();
        assert!(
            swept(&Reading::of(&trace))
                && repeated(&Reading::of(&trace))
                && subscribed(&Reading::of(&trace))
        );
    }
}
