//! What the requests of a case say, made simpler: fewer names, shorter bodies, rounder times. How often a client tries
//! is left alone: one that gives up early is another client, and what it misses is no fault of the system.
//!
//! Nothing here knows what a request means. What it makes of one may be refused by the system; then the case no longer
//! fails, and the request stays as it was.

use serde_json::Value;

use crate::choices::tape::Deviation;
use crate::scenario::ClientRequest;
use crate::search::shrink::Case;
use crate::values::body::Body;
use crate::values::sorted_set::SortedSet;
use crate::values::time::Time;

/// A case with more requests is not told any better for simpler names, and each edit would take long.
const REQUESTS_MAX: usize = 16;
/// So many edits of bodies are tried at once: a large document has as many as it has parts.
const EDITS_MAX: usize = 200;
/// What times are rounded down to, in milliseconds.
const ROUND: [u64; 4] = [60_000, 1_000, 100, 10];

/// One way to make a request simpler.
#[derive(Clone, Debug)]
pub(super) enum Simpler {
    /// One word takes the place of another wherever that is: in requests, and in the names of hosts.
    Word { old: String, new: String },
    /// The path of this request becomes that of an earlier one.
    Path { request: usize, of: usize },
    /// The body of this request becomes another one.
    Body { request: usize, body: Body },
    /// A header is left out.
    Unset { request: usize, header: String },
    /// It is sent earlier, at a rounder time.
    At { request: usize, at: Time },
}

/// How much a reader of the requests has to take in: different words, letters, and last what is written. Of two texts
/// that are equally long, the one with the smaller numbers comes first.
pub(super) fn size(requests: &[ClientRequest]) -> (usize, usize, Vec<&[u8]>) {
    let written: Vec<&[u8]> = requests.iter().flat_map(texts).collect();
    let mut different = SortedSet::new();
    for text in &written {
        match std::str::from_utf8(text) {
            Ok(text) => different.extend(words(text).map(str::as_bytes)),
            Err(_) => drop(different.insert(*text)),
        }
    }
    (different.len(), written.iter().map(|text| text.len()).sum(), written)
}

/// Everything that a request says.
fn texts(request: &ClientRequest) -> impl Iterator<Item = &[u8]> {
    let asked = &request.request;
    let headers =
        asked.headers.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]);
    [request.from.as_bytes(), asked.path.as_bytes(), asked.body.bytes()].into_iter().chain(headers)
}

/// The parts of a text that name something.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_of_word(c)).filter(|word| !word.is_empty())
}

/// What stands between the words of a text.
fn between(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_of_word).filter(|between| !between.is_empty())
}

/// A dot, a hyphen and an underscore belong to a name.
fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || ".-_".contains(c)
}

/// The edits of a case that may make its requests simpler, those that say most first.
pub(super) fn edits(case: &Case) -> Vec<Simpler> {
    let requests = &case.scenario.requests;
    if requests.len() > REQUESTS_MAX {
        return Vec::new();
    }
    let mut edits = same_words(requests);
    for (request, one) in requests.iter().enumerate() {
        let asked = &one.request;
        for (of, other) in requests[..request].iter().enumerate() {
            if other.request.method == asked.method && other.to == one.to {
                edits.push(Simpler::Path { request, of });
                edits.push(Simpler::Body { request, body: other.request.body.clone() });
            }
        }
        let headers = asked.headers.iter();
        edits.extend(headers.map(|(name, _)| Simpler::Unset { request, header: name.into() }));
        let bodies = bodies(&asked.body).into_iter().take(EDITS_MAX);
        edits.extend(bodies.map(|body| Simpler::Body { request, body }));
        let at = one.at.as_ms();
        let rounder = ROUND.into_iter().map(|unit| at - at % unit).chain([at / 2]);
        let rounder = rounder.filter(|earlier| *earlier < at).map(Time::from_ms);
        edits.extend(rounder.map(|at| Simpler::At { request, at }));
    }
    edits
}

/// Numbers below this one: the least first, then half of it, so that few tries come near the least that is needed.
fn fewer(number: u32) -> impl Iterator<Item = u32> {
    [0, 1, number / 2, number.saturating_sub(1)].into_iter().filter(move |less| *less < number)
}

/// Words in the same place of two requests of a kind become the earlier one: two users become one. Texts are of a kind
/// if what stands between their words is the same; otherwise a path would lend its words to a cron trigger.
fn same_words(requests: &[ClientRequest]) -> Vec<Simpler> {
    let mut edits = Vec::new();
    let mut tried = SortedSet::new();
    for (at, one) in requests.iter().enumerate() {
        for other in &requests[..at] {
            let places = [
                (&*other.from, &*one.from),
                (&*other.request.path, &*one.request.path),
                (
                    other.request.body.text().unwrap_or_default(),
                    one.request.body.text().unwrap_or_default(),
                ),
            ];
            let alike = places.into_iter().filter(|(new, old)| between(new).eq(between(old)));
            for (new, old) in alike.flat_map(|(new, old)| words(new).zip(words(old))) {
                if new != old && tried.insert((new, old)) {
                    edits.push(Simpler::Word { old: old.into(), new: new.into() });
                }
            }
        }
    }
    edits
}

/// Simpler bodies. A document in JSON loses a member or an item, or a number in it gets smaller; any other text is cut.
fn bodies(body: &Body) -> Vec<Body> {
    // Bytes with a name are told by it, and others mean nothing to a reader: another request may have shorter ones.
    let Some(text) = body.text().filter(|text| !text.is_empty() && body.source().is_none()) else {
        return Vec::new();
    };
    match serde_json::from_str::<Value>(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => {
            values(&value).into_iter().map(|value| Body::from(value.to_string())).collect()
        }
        _ => {
            let first = text.split_whitespace().next().unwrap_or_default();
            vec![Body::empty(), Body::from(first.to_string())]
        }
    }
}

/// The values that are one step simpler.
fn values(value: &Value) -> Vec<Value> {
    match value {
        Value::Object(members) => {
            let mut simpler = Vec::new();
            for name in members.keys() {
                let mut less = members.clone();
                less.remove(name);
                simpler.push(Value::Object(less));
            }
            for (name, member) in members {
                for member in values(member) {
                    let mut other = members.clone();
                    other.insert(name.clone(), member);
                    simpler.push(Value::Object(other));
                }
            }
            simpler
        }
        Value::Array(items) => {
            let without = (0..items.len()).rev().map(|at| {
                let mut less = items.clone();
                less.remove(at);
                Value::Array(less)
            });
            let within = items.iter().enumerate().flat_map(|(at, item)| {
                values(item).into_iter().map(move |item| {
                    let mut other = items.clone();
                    other[at] = item;
                    Value::Array(other)
                })
            });
            without.chain(within).collect()
        }
        Value::Number(number) => {
            match number.as_u64().and_then(|number| u32::try_from(number).ok()) {
                // None at all is another matter than a few.
                Some(number) => fewer(number).filter(|less| *less > 0).map(Value::from).collect(),
                None => Vec::new(),
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => Vec::new(),
    }
}

impl Simpler {
    pub(super) fn apply(&self, case: &mut Case) {
        let requests = &mut case.scenario.requests;
        match self {
            Simpler::Word { old, new } => {
                for one in requests {
                    // The clients of requests with names tell equal ones apart.
                    if one.name.is_none() {
                        one.from = replaced(&one.from, old, new).into();
                    }
                    one.request.path = replaced(&one.request.path, old, new).into();
                    let body = &one.request.body;
                    if let Some(text) = body.text().filter(|_| body.source().is_none()) {
                        one.request.body = Body::from(replaced(text, old, new));
                    }
                }
                // What is named after a word, such as an object, has its turns under the new name.
                for Deviation { site, .. } in &mut case.tape.0 {
                    site.host = replaced(&site.host, old, new).into();
                }
            }
            Simpler::Path { request, of } => {
                requests[*request].request.path = requests[*of].request.path.clone();
            }
            Simpler::Body { request, body } => requests[*request].request.body = body.clone(),
            Simpler::Unset { request, header } => {
                requests[*request].request.headers.delete(header);
            }
            Simpler::At { request, at } => requests[*request].at = *at,
        }
    }
}

/// The text with one word in place of another.
fn replaced(text: &str, old: &str, new: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    for word in words(text) {
        let Some(at) = rest.find(word) else { break };
        out += &rest[..at];
        out += if word == old { new } else { word };
        rest = &rest[at + word.len()..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of(requests: &[(&str, &str, &str)]) -> Vec<(String, String)> {
        let sent = |(method, path, body): &(&str, &str, &str)| {
            ClientRequest::new(Time::ZERO, method, path, *body)
        };
        let requests: Vec<ClientRequest> = requests.iter().map(sent).collect();
        let words = same_words(&requests).into_iter().map(|edit| match edit {
            Simpler::Word { old, new } => (old, new),
            other => panic!("{other:?}"),
        });
        words.collect()
    }

    fn word(old: &str, new: &str) -> (String, String) {
        (old.into(), new.into())
    }

    #[test]
    fn two_users_become_one_in_paths_and_bodies_of_a_kind() {
        let users =
            [("PUT", "/users/ann", "{\"tea\": 1}"), ("DELETE", "/users/bob", "{\"cup\": 2}")];
        assert_eq!(words_of(&users), [word("bob", "ann"), word("cup", "tea"), word("2", "1")]);
    }

    #[test]
    fn a_path_lends_no_word_to_another_kind_of_path() {
        let trigger = [("PUT", "/p1", ""), ("SCHEDULED", "/0+8+*+*+*", "")];
        assert!(words_of(&trigger).is_empty());
        let queries = [("POST", "/ann?amount=100", ""), ("POST", "/ann?to=bob&amount=30", "")];
        assert!(words_of(&queries).is_empty());
        let bodies = [("POST", "/", "{\"amount\": 42}"), ("POST", "/", "{\"by\": \"ann\"}")];
        assert!(words_of(&bodies).is_empty());
    }
}
