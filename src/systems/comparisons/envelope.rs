//! What a probe saw: the facts about one environment that a comparison is made of.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thunderhead_sim::{Headers, SortedMap, hex};

/// The signals of one environment, as they are stored and compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalEnvelope {
    /// The status of the last answer.
    pub status: u16,
    /// The headers of the last answer, by name in lower case.
    pub headers: SortedMap<String, String>,
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

/// The headers of an answer that are kept, by name in lower case.
pub fn kept_headers(headers: &Headers) -> SortedMap<String, String> {
    let kept = headers.iter().take(HEADERS_MAX);
    kept.map(|(name, value)| (clipped(name).into(), clipped(value).into())).collect()
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
    fn headers_are_kept_by_their_names_in_lower_case() {
        let headers: Headers =
            [("Content-Type", " text/html "), ("Server", "a:b")].into_iter().collect();
        let kept = kept_headers(&headers);
        let found: Vec<(&str, &str)> = kept.iter().map(|(n, v)| (&**n, &**v)).collect();
        assert_eq!(found, [("content-type", "text/html"), ("server", "a:b")]);
    }

    #[test]
    fn what_a_hostile_site_sends_is_bounded() {
        let many = (0..1_000).map(|n| (format!("{n}{}", "h".repeat(1_000)), "é".repeat(1_000)));
        let kept = kept_headers(&many.collect());
        assert_eq!(kept.len(), HEADERS_MAX);
        assert!(kept.iter().all(|(name, value)| name.len().max(value.len()) <= HEADER_BYTES_MAX));
    }

    #[test]
    fn a_body_is_known_by_length_and_hash() {
        let facts = BodyFacts::of(b"");
        assert_eq!((facts.bytes, &*facts.sha256), (0, "e3b0c44298fc1c14"));
    }
}
