//! Artifacts that clients fetch.

use thunderhead_sim::{Body, Request, Response, SortedMap};

use super::contents::Contents;
use super::facts::{Fact, client_of, facts};
use crate::promise::{Finding, Promise};
use crate::promises::Reading;
use crate::promises::part::wrong_part;

pub static AS_IT_IS: Promise = Promise::always_shared(
    "an artifact is served as it is",
    "who fetches an artifact gets the bytes that the bucket has, or a range of them, with their ETag, if and only if the library shows it and it is theirs; what is not modified is what the client has",
    as_it_is,
);

fn as_it_is(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    // A request that arrives twice is judged by what was so when it first came.
    let mut asked: SortedMap<u32, (&str, bool, &Request)> = SortedMap::new();
    for (event, at, fact) in facts(trace) {
        contents.learn(at, &fact);
        match fact {
            Fact::Asked { call, request } => {
                let Some(artifact) = fetched(request) else { continue };
                // What is another client's is not found.
                let own = contents.clients.get(artifact).copied() == client_of(request);
                let shown = contents.artifacts.contains_key(artifact) && own;
                asked.entry(call).or_insert((artifact, shown, request));
            }
            Fact::Answered { call, response } => {
                let Some((artifact, shown, request)) = asked.get(&call) else { continue };
                let why = match response.status {
                    404 => shown.then(|| "it is in the library".into()),
                    200 | 206 | 304 => wrong(&contents, artifact, request, response),
                    _ => None,
                };
                if let Some(why) = why {
                    return Err(Finding::at(event, format!("{artifact}: {why}")));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The artifact whose bytes a request is for.
pub fn fetched(request: &Request) -> Option<&str> {
    let get = &*request.method == "GET";
    request.pathname().strip_prefix("/artifacts/")?.strip_suffix("/bytes").filter(|_| get)
}

/// What is wrong with an answer that claims to have the artifact.
fn wrong(
    contents: &Contents<'_>,
    artifact: &str,
    request: &Request,
    response: &Response,
) -> Option<String> {
    if !contents.artifacts.contains_key(artifact) {
        return Some("it is not in the library".into());
    }
    let bytes: &Body = contents.bucket.get(artifact)?;
    let etag = response.headers.get("etag").unwrap_or_default();
    if contents.etags.get(artifact) != Some(&etag.trim_matches('"')) {
        return Some(format!("the ETag {etag} is not that of its bytes"));
    }
    match response.status {
        304 => {
            let had = request.headers.get("if-none-match").unwrap_or_default();
            let same = had == "*" || had.contains(etag);
            (!same).then(|| "it is not what the client has".into())
        }
        206 => wrong_part(response, bytes.len() as u64, Some(bytes)),
        _ => (*bytes != response.body).then(|| "these are other bytes".into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::promises::generations::mutants::{Story, etag_of};

    const PLAIN: (&str, &str) = ("", "");

    fn answer(status: u16, body: &str, etag: &str) -> Response {
        Response::new(status, body).with_header("etag", &format!("\"{etag}\""))
    }

    /// Whether a client that asks for `abc`, with this header, must not get this answer.
    fn is_rejected(header: (&str, &str), response: Response) -> bool {
        let mut story = Story::given(&json!({}));
        let found =
            as_it_is(&Reading::of(&story.made("abc").fetches(1, "abc", header, response).trace()));
        found.is_err()
    }

    #[test]
    fn other_bytes_and_another_etag_are_rejected() {
        let etag = etag_of("abc");
        assert!(!is_rejected(PLAIN, answer(200, "abc", &etag)));
        assert!(is_rejected(PLAIN, answer(200, "abd", &etag)));
        assert!(is_rejected(PLAIN, answer(200, "abc", "another")));
        assert!(is_rejected(PLAIN, Response::new(200, "abc")));
        assert!(is_rejected(PLAIN, Response::new(404, "")));
        assert!(!is_rejected(PLAIN, Response::new(503, "")));
    }

    #[test]
    fn what_the_client_does_not_have_is_not_unmodified() {
        let etag = etag_of("abc");
        let had = ("if-none-match", &*format!("\"{etag}\""));
        assert!(!is_rejected(had, answer(304, "", &etag)));
        assert!(is_rejected(("if-none-match", "\"x\""), answer(304, "", &etag)));
        assert!(is_rejected(PLAIN, answer(304, "", &etag)));
    }

    #[test]
    fn a_part_has_its_own_bytes() {
        let part = |body: &str, range: &str| {
            answer(206, body, &etag_of("abc")).with_header("content-range", range)
        };
        let range = ("range", "bytes=1-");
        assert!(!is_rejected(range, part("bc", "bytes 1-2/3")));
        assert!(is_rejected(range, part("ab", "bytes 1-2/3")));
        assert!(is_rejected(range, part("bc", "bytes 1-2/4")));
    }

    #[test]
    fn what_the_library_does_not_show_is_not_served() {
        let mut story = Story::given(&json!({}));
        story.put("abc", "abc");
        let mut absent = story.clone();
        absent.fetches(1, "abc", PLAIN, Response::new(404, ""));
        assert_eq!(as_it_is(&Reading::of(&absent.trace())), Ok(()));
        story.fetches(1, "abc", PLAIN, answer(200, "abc", &etag_of("abc")));
        assert!(as_it_is(&Reading::of(&story.trace())).is_err());
    }
}
