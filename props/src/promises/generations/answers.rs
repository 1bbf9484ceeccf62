//! What clients, subscribers and the provider are told.

use serde::Deserialize;
use thunderhead_sim::{Request, SortedMap, SortedSet};

use super::contents::Contents;
use super::facts::{Fact, Given, client_of, facts, given, json};
use crate::promise::{Finding, Promise};
use crate::promises::Reading;
use crate::promises::count;

pub static ONE_PER_KEY: Promise = Promise::always_shared(
    "one generation per key",
    "a request that a client repeats under the same key is given the same id",
    one_per_key,
);

pub static KNOWN: Promise = Promise::always_shared(
    "an id that was given is known",
    "no client is told that there is no generation of an id that it was given before",
    known,
);

pub static FORWARD: Promise = Promise::always_shared(
    "status only goes forward",
    "what was seen to be ready or failed, in an answer or in the library, stays so in answers",
    forward,
);

pub static STRANGERS: Promise = Promise::always_shared(
    "a stray webhook changes nothing",
    "a webhook for a generation that is not known or is over is told so, and stores nothing",
    strangers,
);

pub static TOLD: Promise = Promise::always_shared(
    "progress is true",
    "subscribers are told of no more artifacts than there are, and of the end when it is there",
    told,
);

fn one_per_key(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut ids: SortedMap<(Option<&str>, String), String> = SortedMap::new();
    for given in given(trace) {
        let Some(key) = given.wanted["idempotencyKey"].as_str() else { continue };
        let first = ids.entry((given.client, key.into())).or_insert_with(|| given.id.clone());
        if *first != given.id {
            let message = format!("the key {key} is given {} after {first}", given.id);
            return Err(Finding::at(given.event, message));
        }
    }
    Ok(())
}

/// The generation that a request asks about.
fn asks_about(request: &Request) -> Option<&str> {
    let get = &*request.method == "GET";
    request.path.strip_prefix("/generations/").filter(|_| get)
}

fn known(trace: &Reading<'_>) -> Result<(), Finding> {
    let given = given(trace);
    // A question that arrives twice is judged by what was so when it first came.
    let mut asked: SortedMap<u32, Option<&str>> = SortedMap::new();
    for (event, _, fact) in facts(trace) {
        match fact {
            Fact::Asked { call, request } => {
                let client = client_of(request);
                let its = |g: &Given| g.event < event && g.client == client;
                let before = |id: &&str| given.iter().any(|g| its(g) && g.id == *id);
                asked.entry(call).or_insert_with(|| asks_about(request).filter(before));
            }
            Fact::Answered { call, response } if response.status == 404 => {
                if let Some(Some(id)) = asked.get(&call) {
                    let message = format!("{id} was given, and now there is no such generation");
                    return Err(Finding::at(event, message));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// What an answer says of a generation, and nothing of the rest.
#[derive(Default, Deserialize)]
struct Status {
    status: String,
}

fn forward(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    // The final status of each generation that a client has seen, and what was known when a
    // question came.
    let mut ended: SortedMap<&str, String> = SortedMap::new();
    let mut asked: SortedMap<u32, (&str, Option<String>)> = SortedMap::new();
    for (event, at, fact) in facts(trace) {
        contents.learn(at, &fact);
        match fact {
            Fact::Asked { call, request } => {
                let Some(id) = asks_about(request) else { continue };
                let in_library = contents.generations.get(id).map(|row| row.status.to_string());
                // One that arrives twice is judged by what was known when it first came.
                let known = in_library.or_else(|| ended.get(id).cloned());
                asked.entry(call).or_insert((id, known));
            }
            Fact::Answered { call, response } if response.status == 200 => {
                let Some((id, known)) = asked.get(&call) else { continue };
                let Status { status } = response.body.read().unwrap_or_default();
                if known.as_ref().is_some_and(|known| *known != status) {
                    let known = known.as_deref().unwrap_or_default();
                    let message = format!("{id} was {known}, and is said to be {status}");
                    return Err(Finding::at(event, message));
                }
                if status != "active" {
                    ended.insert(id, status);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn strangers(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    let mut created = SortedSet::new();
    // A webhook that arrives twice is judged by what was so when it first came.
    let mut asked: SortedMap<u32, Option<(&str, &str)>> = SortedMap::new();
    for (event, at, fact) in facts(trace) {
        contents.learn(at, &fact);
        match fact {
            Fact::Created { generation, .. } => drop(created.insert(generation)),
            Fact::Stored { generation } if !created.contains(generation) => {
                let message = format!("{generation} stores something, and nobody has asked for it");
                return Err(Finding::at(event, message));
            }
            Fact::Asked { call, request } => {
                let id = request.path.strip_prefix("/webhook?generation_id=");
                let Some(id) = id else { continue };
                let over = contents.generations.contains_key(id).then_some((id, "over"));
                let unknown = || (!created.contains(id)).then_some((id, "unknown"));
                asked.entry(call).or_insert_with(|| over.or_else(unknown));
            }
            Fact::Answered { call, response } if response.status < 400 => {
                if let Some(Some((id, what))) = asked.get(&call) {
                    let message = format!("a webhook for {id}, which is {what}, is welcome");
                    return Err(Finding::at(event, message));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn told(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    for (event, at, fact) in facts(trace) {
        contents.learn(at, &fact);
        let Fact::Told { generation, message } = fact else { continue };
        let said = json(message);
        let ready = said["ready"].as_u64().unwrap_or_default() as usize;
        let there = contents.count_of(generation);
        if ready > there {
            let ready = count(ready, "artifact");
            let message = format!("{generation} tells of {ready}, and has {there}");
            return Err(Finding::at(event, message));
        }
        if said["standing"] == "settled" && !contents.generations.contains_key(generation) {
            return Err(Finding::at(event, format!("{generation} tells of its end too early")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::promises::generations::mutants::Story;

    #[test]
    fn a_key_that_is_given_two_ids_is_rejected() {
        let named = json!({ "idempotencyKey": "k" });
        let mut story = Story::given(&named);
        story.give(1, "g", &named).give(2, "h", &json!({ "idempotencyKey": "l" }));
        assert_eq!(one_per_key(&Reading::of(&story.give(3, "i", &json!({})).trace())), Ok(()));
        assert!(one_per_key(&Reading::of(&story.give(4, "h", &named).trace())).is_err());
    }

    #[test]
    fn an_id_that_was_given_and_is_not_found_is_rejected() {
        let mut story = Story::default();
        story.told(1, "g", 404, "").give(2, "g", &json!({})).told(3, "h", 404, "");
        assert_eq!(known(&Reading::of(&story.told(4, "g", 503, "").trace())), Ok(()));
        assert!(known(&Reading::of(&story.told(5, "g", 404, "").trace())).is_err());
    }

    #[test]
    fn a_status_that_goes_back_is_rejected() {
        let begun = || {
            let mut story = Story::given(&json!({}));
            story
                .told(1, "g", 200, "active")
                .told(2, "g", 200, "failed")
                .told(3, "g", 200, "failed");
            story
        };
        assert_eq!(forward(&Reading::of(&begun().told(4, "h", 200, "active").trace())), Ok(()));
        assert!(forward(&Reading::of(&begun().told(4, "g", 200, "active").trace())).is_err());
        assert!(forward(&Reading::of(&begun().told(4, "g", 200, "ready").trace())).is_err());
    }

    #[test]
    fn what_the_library_has_is_not_said_to_be_active() {
        let mut story = Story::given(&json!({}));
        let path = "/generations/g";
        // A question from before the end may be answered as it was.
        story.asked(1, "GET", path, &json!({})).written("g", "failed", 0);
        story.answered(1, 200, &json!({ "status": "active" }));
        assert_eq!(forward(&Reading::of(&story.trace())), Ok(()));
        assert!(forward(&Reading::of(&story.told(2, "g", 200, "active").trace())).is_err());
    }

    #[test]
    fn a_stray_webhook_that_is_welcome_is_rejected() {
        let mut story = Story::given(&json!({}));
        story.webhook(1, "g", 200).webhook(2, "nobody", 404).webhook(3, "nobody", 503);
        story.written("g", "failed", 0).webhook(4, "g", 410);
        assert_eq!(strangers(&Reading::of(&story.trace())), Ok(()));
        assert!(strangers(&Reading::of(&story.webhook(5, "g", 200).trace())).is_err());
        let mut story = Story::given(&json!({}));
        assert!(strangers(&Reading::of(&story.webhook(1, "nobody", 200).trace())).is_err());
    }

    #[test]
    fn what_arrives_twice_may_be_answered_as_the_first_was() {
        let mut story = Story::given(&json!({}));
        let (hook, get) = ("/webhook?generation_id=g", "/generations/g");
        story.asked(1, "POST", hook, &json!({})).asked(2, "GET", get, &json!({}));
        story.written("g", "failed", 0);
        story.asked(1, "POST", hook, &json!({})).asked(2, "GET", get, &json!({}));
        story.answered(1, 200, &json!({})).answered(2, 200, &json!({ "status": "active" }));
        assert_eq!(strangers(&Reading::of(&story.trace())), Ok(()));
        assert_eq!(forward(&Reading::of(&story.trace())), Ok(()));
        let mut story = Story::default();
        story.asked(1, "GET", get, &json!({})).give(2, "g", &json!({}));
        story.asked(1, "GET", get, &json!({})).answered(1, 404, &json!({}));
        assert_eq!(known(&Reading::of(&story.trace())), Ok(()));
    }

    #[test]
    fn a_stranger_that_stores_something_is_rejected() {
        let mut story = Story::given(&json!({}));
        assert_eq!(strangers(&Reading::of(&story.stored("g").trace())), Ok(()));
        assert!(strangers(&Reading::of(&story.stored("nobody").trace())).is_err());
    }

    #[test]
    fn progress_ahead_of_the_library_is_rejected() {
        let mut story = Story::given(&json!({}));
        story.pushed("g", &json!({ "ready": 0 })).made("a").pushed("g", &json!({ "ready": 1 }));
        assert_eq!(told(&Reading::of(&story.trace())), Ok(()));
        assert!(told(&Reading::of(&story.pushed("g", &json!({ "ready": 2 })).trace())).is_err());
        let mut story = Story::given(&json!({}));
        assert!(
            told(&Reading::of(&story.pushed("g", &json!({ "standing": "settled" })).trace()))
                .is_err()
        );
    }
}
