//! Which headers pass between a client and the system, and what the server adds to an answer.

use hyper::HeaderMap;
use hyper::header::{self, HeaderName, HeaderValue};
use thunderhead_sim::{Body, Headers, STREAM, WEB_SOCKET};

/// Headers of one connection, and those that HTTP derives from the message itself.
const OF_THE_CONNECTION: [&str; 12] = [
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    STREAM,
    WEB_SOCKET,
];

/// Headers that the server reads itself, and those with which browsers describe themselves. A history would repeat
/// them for every request, and the first of them is a secret.
const OF_THE_SERVER: [&str; 11] = [
    "cookie",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "dnt",
    "origin",
    "pragma",
    "priority",
    "referer",
    "upgrade-insecure-requests",
    "user-agent",
];

/// What may be stored by a client may be looked at only: pictures that are no pictures have no scripts here.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// The headers of a request as the system is told them.
pub fn told(headers: &HeaderMap) -> Headers {
    let named = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<&str> = named.flat_map(|names| names.split(',')).map(str::trim).collect();
    let passes = |name: &str| {
        !OF_THE_CONNECTION.contains(&name)
            && !OF_THE_SERVER.contains(&name)
            && !name.starts_with("sec-")
            && !named.iter().any(|other| other.eq_ignore_ascii_case(name))
    };
    let pairs = headers.iter().filter(|(name, _)| passes(name.as_str()));
    pairs.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect()
}

/// Whether a header of the system's goes to a host outside.
pub fn passes_out(name: &str) -> bool {
    name == "host" || !OF_THE_CONNECTION.contains(&name)
}

/// The headers of the answer of a host outside as the system is told them.
pub fn heard(headers: &HeaderMap) -> Headers {
    let pairs = headers.iter().filter(|(name, _)| !OF_THE_CONNECTION.contains(&name.as_str()));
    pairs.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect()
}

/// The headers of an answer of the system as a client is sent them.
pub fn sent(headers: &Headers, body: &Body) -> HeaderMap {
    let mut sent = HeaderMap::new();
    let kind = match body.at_hand().map(<[u8]>::first) {
        Some(Some(b'{' | b'[')) => "application/json",
        Some(_) => "text/plain; charset=utf-8",
        None => "application/octet-stream",
    };
    sent.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    sent.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    for (name, value) in headers.iter().filter(|(name, _)| !OF_THE_CONNECTION.contains(name)) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(value)) {
            sent.insert(name, value);
        }
    }
    if sent.contains_key(header::ETAG) {
        // A browser may keep it, and asks each time whether it is still the same.
        let private = HeaderValue::from_static("private, no-cache");
        sent.entry(header::CACHE_CONTROL).or_insert(private);
        sent.insert(header::VARY, HeaderValue::from_static("cookie"));
    }
    sent
}

/// What every answer has, whichever part of the server gives it.
pub fn add(headers: &mut HeaderMap) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn the_system_is_told_what_is_meant_for_it_and_no_secret() {
        let headers = map(&[
            ("content-type", "image/png"),
            ("if-none-match", "\"1\""),
            ("range", "bytes=0-1"),
            ("x-signature", "7"),
            ("cookie", "thunderhead=ann"),
            ("user-agent", "a browser"),
            ("sec-fetch-site", "none"),
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("host", "127.0.0.1"),
            ("content-length", "5"),
        ]);
        let told = told(&headers).to_string();
        let expected = r#"[content-type: "image/png", if-none-match: "\"1\"", range: "bytes=0-1", x-signature: "7"]"#;
        assert_eq!(told, expected);
    }

    #[test]
    fn an_answer_says_nothing_of_the_connection_and_may_be_kept_if_it_has_an_etag() {
        let given: Headers =
            [("transfer-encoding", "chunked"), ("content-length", "9")].into_iter().collect();
        let mut plain = sent(&given, &Body::from("{}"));
        add(&mut plain);
        assert_eq!(plain.get("content-type").unwrap(), "application/json");
        assert_eq!(plain.get("cache-control").unwrap(), "no-store");
        assert!(!plain.contains_key("transfer-encoding") && !plain.contains_key("content-length"));
        let given: Headers =
            [("etag", "\"1\""), ("content-type", "text/html")].into_iter().collect();
        let mut kept = sent(&given, &Body::from("<script>"));
        add(&mut kept);
        assert_eq!(kept.get("content-type").unwrap(), "text/html");
        assert_eq!(kept.get("cache-control").unwrap(), "private, no-cache");
        assert!(kept.get("content-security-policy").unwrap().to_str().unwrap().contains("sandbox"));
    }
}
