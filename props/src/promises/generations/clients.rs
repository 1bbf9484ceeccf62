//! Who sees and pays for what.

use serde_json::Value as Json;
use thunderhead_sim::{Request, Response, SortedMap};

use super::contents::Contents;
use super::facts::{Fact, client_of, facts, given, is_asked, json};
use crate::promise::{Finding, Promise};
use crate::promises::Reading;

pub static OWN_ALONE: Promise = Promise::always_shared(
    "a client sees its own alone",
    "who has no key is answered with 401, an id is given to one client, and nobody else sees or changes anything of it",
    own_alone,
);

pub static PAYS_FOR_ITS_OWN: Promise = Promise::always_shared(
    "a client pays for its own alone",
    "what a client is told to have spent is the cost of its own generations at some time since it asked",
    pays_for_its_own,
);

fn own_alone(trace: &Reading<'_>) -> Result<(), Finding> {
    // Whose each generation is.
    let mut owners: SortedMap<String, Option<&str>> = SortedMap::new();
    for given in given(trace) {
        let first = *owners.entry(given.id.clone()).or_insert(given.client);
        if first != given.client {
            let message = format!("{} is given to a second client", given.id);
            return Err(Finding::at(given.event, message));
        }
    }
    let mut contents = Contents::default();
    let mut asked: SortedMap<u32, &Request> = SortedMap::new();
    for (event, at, fact) in facts(trace) {
        contents.learn(at, &fact);
        match fact {
            Fact::Asked { call, request } if request.pathname() != "/webhook" => {
                asked.insert(call, request);
            }
            Fact::Answered { call, response } => {
                let Some(request) = asked.get(&call) else { continue };
                if let Some(why) = wrong(request, response, &owners, &contents) {
                    return Err(Finding::at(event, why));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// What is wrong with an answer.
fn wrong(
    request: &Request,
    response: &Response,
    owners: &SortedMap<String, Option<&'static str>>,
    contents: &Contents<'_>,
) -> Option<String> {
    let client = client_of(request);
    if client.is_none() {
        let refused = response.status == 401;
        return (!refused).then(|| format!("a stranger is answered with {}", response.status));
    }
    if !matches!(response.status, 200..=399) {
        return None;
    }
    let foreign = |id: &str| {
        let generation = contents.artifacts.get(id).copied().unwrap_or(id);
        owners.get(generation).is_some_and(|owner| *owner != client)
    };
    // An answer is about the id in the path, or it is a page.
    if let Some(id) = request.pathname().split('/').nth(2) {
        return foreign(id).then(|| format!("{id} is shown to another client"));
    }
    let body = json(&response.body);
    let items = body["items"].as_array().into_iter().flatten();
    let mut shown = items.filter_map(|item: &Json| item["id"].as_str());
    shown.find(|id| foreign(id)).map(|id| format!("{id} is on a page of another client"))
}

fn pays_for_its_own(trace: &Reading<'_>) -> Result<(), Finding> {
    let bill = |request: &Request| request.pathname() == "/costs";
    if !is_asked(trace, bill) {
        return Ok(());
    }
    let mut contents = Contents::default();
    let mut asked: SortedMap<u32, (&str, i64)> = SortedMap::new();
    for (event, at, fact) in facts(trace) {
        contents.learn(at, &fact);
        let spent = |client: &str| -> i64 {
            let own = |id: &str| contents.clients.get(id) == Some(&client);
            contents.generations.iter().filter(|(id, _)| own(id)).map(|(_, row)| row.cost).sum()
        };
        match fact {
            Fact::Asked { call, request } if bill(request) => {
                if let Some(client) = client_of(request) {
                    asked.entry(call).or_insert_with(|| (client, spent(client)));
                }
            }
            Fact::Answered { call, response } if response.status == 200 => {
                let Some((client, least)) = asked.get(&call) else { continue };
                let told = json(&response.body)["cost"].as_i64().unwrap_or_default();
                let most = spent(client);
                if !(*least..=most).contains(&told) {
                    let message = format!("{client} has spent {most}, and is told {told}");
                    return Err(Finding::at(event, message));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use thunderhead_sim::sqlite::Value;

    use super::*;
    use crate::promises::generations::mutants::{Story, row_artifact, row_generation};

    /// Generation `g` and its artifact `a` are ann's.
    fn anns() -> Story {
        let mut story = Story::default();
        story.asked_by("ann", 0, "POST", "/generations").answered(0, 201, &json!({ "id": "g" }));
        story.library(&[row_artifact("a", "g")]);
        story
    }

    fn answered(client: &str, path: &str, status: u16, body: &Json) -> Result<(), Finding> {
        own_alone(&Reading::of(
            &anns().asked_by(client, 1, "GET", path).answered(1, status, body).trace(),
        ))
    }

    #[test]
    fn what_another_client_sees_is_rejected() {
        let page = json!({ "items": [{ "id": "a" }] });
        for (path, body) in [
            ("/generations/g", &Json::Null),
            ("/artifacts/a", &Json::Null),
            ("/artifacts/a/bytes", &Json::Null),
            ("/artifacts", &page),
        ] {
            assert_eq!(answered("ann", path, 200, body), Ok(()), "{path}");
            assert!(answered("ben", path, 200, body).is_err(), "{path}");
            assert_eq!(answered("ben", path, 404, &Json::Null), Ok(()), "{path}");
        }
    }

    #[test]
    fn a_stranger_who_is_answered_is_rejected() {
        assert_eq!(answered("eve", "/generations/g", 401, &Json::Null), Ok(()));
        assert!(answered("eve", "/generations/g", 404, &Json::Null).is_err());
        let mut story = anns();
        story.asked(1, "POST", "/generations", &json!({})).answered(1, 201, &json!({ "id": "h" }));
        assert!(own_alone(&Reading::of(&story.trace())).is_err());
    }

    #[test]
    fn an_id_that_two_clients_are_given_is_rejected() {
        let mut story = anns();
        story.asked_by("ben", 1, "POST", "/generations").answered(1, 201, &json!({ "id": "h" }));
        assert_eq!(own_alone(&Reading::of(&story.trace())), Ok(()));
        story.asked_by("ben", 2, "POST", "/generations").answered(2, 201, &json!({ "id": "g" }));
        assert!(own_alone(&Reading::of(&story.trace())).is_err());
    }

    #[test]
    fn a_bill_with_what_another_has_spent_is_rejected() {
        let mut row = row_generation("g", "ready", 1);
        row.after.as_mut().expect("inserted").push(("cost".into(), Value::Integer(30)));
        let billed = |client: &str, told: i64| {
            let mut story = Story::default();
            story.library(&[row.clone()]).asked_by(client, 1, "GET", "/costs");
            pays_for_its_own(&Reading::of(
                &story.answered(1, 200, &json!({ "cost": told })).trace(),
            ))
        };
        assert_eq!(billed("ann", 30), Ok(()));
        assert_eq!(billed("ben", 0), Ok(()));
        assert!(billed("ann", 0).is_err() && billed("ben", 30).is_err());
    }
}
