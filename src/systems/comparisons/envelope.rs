//! What a probe saw: the facts about one environment that a comparison is made of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thunderhead_sim::Body;

use crate::systems::ids::hex;

/// The signals of one environment, as they are stored and compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalEnvelope {
    /// The status of the last answer.
    pub status: u16,
    /// The headers of the last answer, by name in lower case.
    pub headers: BTreeMap<String, String>,
    /// The redirects on the way there.
    pub redirects: Vec<Redirect>,
    /// Where the way ended.
    pub routing: Routing,
    /// How long it took.
    pub timing: Timing,
    /// What the last answer carried.
    pub body: BodyFacts,
}

/// A redirect that a probe followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redirect {
    /// 301, 302, 303, 307 or 308.
    pub status: u16,
    /// Where to; without the host when that stays the same, so that environments can be compared.
    pub to: String,
}

/// Where a probe ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routing {
    /// The last URL in full.
    pub final_url: String,
    /// The last URL, without its host if that is the host that was asked.
    pub landing: String,
    /// Whether it is encrypted.
    pub secure: bool,
}

/// How long a probe took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// From the first request to the last answer, in milliseconds.
    pub total_ms: u64,
}

/// What there is to say about a body without keeping it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyFacts {
    /// How long it is.
    pub bytes: u64,
    /// The beginning of its SHA-256, in hexadecimal.
    pub sha256: String,
}

/// How much of an answer's head is kept: a result must fit into a step and into a row.
const HEADERS_MAX: usize = 64;
const HEADER_BYTES_MAX: usize = 256;

impl BodyFacts {
    /// The facts about these bytes.
    pub fn of(bytes: &[u8]) -> BodyFacts {
        let sha256 = hex(&Sha256::digest(bytes)[..8]);
        BodyFacts { bytes: bytes.len() as u64, sha256 }
    }
}

/// Takes an answer apart. The simulated network carries headers in front of the content, one
/// `name: value` a line, with an empty line after them; an answer may have none.
pub fn head_and_content(answer: &Body) -> (BTreeMap<String, String>, &[u8]) {
    let bytes = answer.bytes();
    let Some((head, rest)) = answer.text().and_then(|text| text.split_once("\n\n")) else {
        return (BTreeMap::new(), bytes);
    };
    let mut headers = BTreeMap::new();
    for line in head.lines() {
        let Some((name, value)) = line.split_once(':') else {
            return (BTreeMap::new(), bytes);
        };
        if headers.len() < HEADERS_MAX {
            headers.insert(clipped(name).to_ascii_lowercase(), clipped(value).into());
        }
    }
    (headers, rest.as_bytes())
}

fn clipped(text: &str) -> &str {
    let text = text.trim();
    let fits = |at: &usize| text.is_char_boundary(*at);
    let end = (0..=text.len().min(HEADER_BYTES_MAX)).rev().find(fits).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_its_headers_and_its_content() {
        let answer = Body::from("Content-Type: text/html\nServer: a:b\n\nhello\n\nworld");
        let (headers, content) = head_and_content(&answer);
        let found: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (&**n, &**v)).collect();
        assert_eq!(found, [("content-type", "text/html"), ("server", "a:b")]);
        assert_eq!(content, b"hello\n\nworld");
    }

    #[test]
    fn an_answer_without_headers_is_all_content() {
        for text in ["", "hello", "hello\nworld", "no header here\n\nhello"] {
            let answer = Body::from(text);
            assert_eq!(head_and_content(&answer), (BTreeMap::new(), text.as_bytes()), "{text:?}");
        }
        let bytes = Body::from(vec![0xff, b'\n', b'\n']);
        assert_eq!(head_and_content(&bytes).1.len(), 3);
    }

    #[test]
    fn what_a_hostile_site_sends_is_bounded() {
        let many: String = (0..1_000).map(|n| format!("h{n}: {}\n", "é".repeat(1_000))).collect();
        let answer = Body::from(format!("{many}\nbody"));
        let (headers, content) = head_and_content(&answer);
        assert_eq!((headers.len(), content), (HEADERS_MAX, &b"body"[..]));
        assert!(headers.values().all(|value| value.len() <= HEADER_BYTES_MAX));
    }

    #[test]
    fn a_body_is_known_by_length_and_hash() {
        let facts = BodyFacts::of(b"");
        assert_eq!((facts.bytes, &*facts.sha256), (0, "e3b0c44298fc1c14"));
    }
}
