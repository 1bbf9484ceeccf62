//! Pictures that members fetch.

use std::rc::Rc;

use thunderhead_sim::{Body, Request, Response, SortedMap};

use super::contents::{Contents, event_id};
use super::facts::{Fact, facts};
use crate::promise::{Finding, Promise};
use crate::promises::Reading;
use crate::promises::part::wrong_part;

pub static AS_HELD: Promise = Promise::always_shared(
    "a picture is as R2 holds it",
    "who fetches a picture gets the bytes, or the range of them, that R2 held under its ETag at some time since it was asked for; what is not modified is what they have, and what is not found was not there",
    as_held,
);

fn as_held(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    // The size of each event, and its bytes if somebody has read them all.
    let mut known: SortedMap<Rc<str>, (u64, Option<&Body>)> = SortedMap::new();
    let mut asked: SortedMap<u32, (&str, Option<usize>, &Request)> = SortedMap::new();
    for (at, fact) in facts(trace) {
        contents.step(&fact);
        match fact {
            Fact::Stored(object, event) => {
                known.entry(event).or_insert((object.size, None));
            }
            Fact::Read(object, event, body) => {
                known.insert(event, (object.size, Some(body)));
            }
            Fact::Asked(call, request) => {
                if let Some(key) = picture(request) {
                    let held = contents.held(key).len();
                    // Of a request that comes twice, either copy may be the one that is answered.
                    asked.entry(call).or_insert((key, held.checked_sub(1), request));
                }
            }
            Fact::Answered(call, response) => {
                let Some((key, since, request)) = asked.get(&call) else { continue };
                let held = contents.held(key).get(since.unwrap_or(0)..).unwrap_or_default();
                let absent = since.is_none() || held.contains(&None);
                let why = match response.status {
                    404 if !absent => Some("it was there".into()),
                    _ => wrong(key, request, response, held, &known),
                };
                if let Some(why) = why {
                    return Err(Finding::at(at, format!("{key}: {why}")));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The key of the picture that a request is for.
fn picture(request: &Request) -> Option<&str> {
    let path = request.pathname().trim_start_matches('/');
    let key = path.strip_prefix("thumbnails/").unwrap_or(path);
    (&*request.method == "GET" && key.contains('/') && !key.starts_with("operator/")).then_some(key)
}

/// What is wrong with an answer, by what the key has held while it was made.
fn wrong(
    key: &str,
    request: &Request,
    response: &Response,
    held: &[Option<Rc<str>>],
    known: &SortedMap<Rc<str>, (u64, Option<&Body>)>,
) -> Option<String> {
    match response.status {
        416 => held.iter().all(Option::is_none).then(|| "nothing was there to have a range".into()),
        200 | 206 | 304 => {
            let etag = response.headers.get("etag").unwrap_or_default();
            let event = event_id(key, etag.trim_matches('"'));
            if !held.iter().flatten().any(|other| **other == event) {
                return Some(format!("the ETag {etag} was not what it held"));
            }
            let (size, bytes) = known.get(&*event)?;
            match response.status {
                304 => {
                    let had = request.headers.get("if-none-match").unwrap_or_default();
                    let same = had == "*" || had.contains(etag);
                    (!same).then(|| "it is not what the client has".into())
                }
                206 => wrong_part(response, *size, *bytes),
                _ => {
                    let same = bytes.is_none_or(|bytes| *bytes == response.body);
                    let all = response.body.len() as u64 == *size;
                    (!same || !all).then(|| "these are other bytes".into())
                }
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::uploads::mutants::{Story, etag_of};

    const PLAIN: (&str, &str) = ("", "");

    fn is_rejected(story: &Story) -> bool {
        let (trace, last) = story.ended();
        let found = as_held(&Reading::of(&trace));
        assert!(found.as_ref().err().is_none_or(|finding| finding.event == Some(last)));
        found.is_err()
    }

    fn answer(status: u16, body: &str, of: &str) -> Response {
        Response::new(status, body).with_header("etag", &format!("\"{}\"", etag_of(of)))
    }

    #[test]
    fn bytes_or_an_etag_of_another_time_are_rejected() {
        let mut one = Story::default();
        one.stored("one", 1).read("one").stored("two", 2).read("two").asks_picture(PLAIN);
        assert!(!is_rejected(one.clone().gets(answer(200, "two", "two"))));
        assert!(is_rejected(one.clone().gets(answer(200, "one", "two"))), "other bytes");
        assert!(is_rejected(one.clone().gets(answer(200, "one", "one"))), "an old version");
        assert!(is_rejected(one.clone().gets(Response::new(404, ""))), "it is there");
        assert!(is_rejected(one.clone().gets(Response::new(200, "two"))), "no ETag");
        // It may be replaced while somebody asks.
        one.stored("three", 3).read("three");
        assert!(!is_rejected(one.clone().gets(answer(200, "two", "two"))));
        assert!(!is_rejected(one.clone().gets(answer(200, "three", "three"))));
        assert!(is_rejected(one.clone().gets(answer(200, "", "three"))), "not all bytes");
        assert!(!is_rejected(one.removed(4).gets(Response::new(404, ""))));
    }

    #[test]
    fn what_is_stored_while_somebody_asks_may_have_been_absent() {
        let mut none = Story::default();
        none.asks_picture(PLAIN).stored("one", 1);
        assert!(!is_rejected(none.clone().gets(Response::new(404, ""))));
        assert!(is_rejected(none.asks_picture(PLAIN).gets(Response::new(404, ""))));
    }

    #[test]
    fn the_answer_to_a_request_that_comes_twice_may_be_that_to_its_first_copy() {
        let mut twice = Story::default();
        twice.stored("one", 1).stored("two", 2).asks_picture(PLAIN).stored("three", 3);
        twice.asks_picture_again(PLAIN);
        assert!(!is_rejected(twice.clone().gets(answer(200, "two", "two"))));
        assert!(is_rejected(twice.gets(answer(200, "one", "one"))), "before either of them");
    }

    #[test]
    fn what_the_client_does_not_have_is_not_unmodified() {
        let mut one = Story::default();
        one.stored("one", 1);
        let had = |of: &str| format!("\"{}\"", etag_of(of));
        let mut same = one.clone();
        same.asks_picture(("if-none-match", &had("one")));
        assert!(!is_rejected(same.gets(answer(304, "", "one"))));
        let mut another = one.clone();
        another.asks_picture(("if-none-match", &had("two")));
        assert!(is_rejected(another.clone().gets(answer(304, "", "one"))));
        assert!(is_rejected(another.gets(answer(304, "", "two"))));
    }

    #[test]
    fn a_range_has_its_own_bytes_and_says_which() {
        let mut one = Story::default();
        one.stored("abcdef", 1).read("abcdef").asks_picture(("range", "bytes=1-2"));
        let part = |body: &str, range: &str| {
            answer(206, body, "abcdef").with_header("content-range", range)
        };
        assert!(!is_rejected(one.clone().gets(part("bc", "bytes 1-2/6"))));
        let bad = [("bcd", "bytes 1-2/6"), ("cd", "bytes 1-2/6"), ("bc", "bytes 1-2/7")];
        let more = [("bc", "bytes 5-6/6"), ("bc", "1-2"), ("", "bytes 2-1/6")];
        for (body, range) in bad.into_iter().chain(more) {
            assert!(is_rejected(one.clone().gets(part(body, range))), "{body} {range}");
        }
        let mut none = Story::default();
        none.asks_picture(("range", "bytes=1-2"));
        assert!(!is_rejected(one.gets(Response::new(416, ""))));
        assert!(is_rejected(none.gets(Response::new(416, ""))));
    }
}
