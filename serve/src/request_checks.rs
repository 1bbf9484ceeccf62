//! What is refused before anybody looks at it: requests from other sites, bodies that are too large or compressed.

use std::net::SocketAddr;

use hyper::{HeaderMap, Method, Request, StatusCode, header};

/// The most bytes of a body.
pub const BODY_MOST: u64 = 32 << 20;
/// The most pictures that wait to be looked at.
const CLASSIFYING_MOST: u64 = 1_024;
/// The most characters of a path with its query.
const PATH_MOST: usize = 2_048;

/// Why a request is refused: the status, and a sentence for its sender.
pub type Refused = (StatusCode, &'static str);

/// Looks at the head of a request.
pub fn check<B>(request: &Request<B>, listen: SocketAddr) -> Result<(), Refused> {
    let headers = request.headers();
    if request.uri().path_and_query().is_none_or(|path| path.as_str().len() > PATH_MOST) {
        return Err((StatusCode::URI_TOO_LONG, "the path is too long"));
    }
    let is_way = |part: &str| matches!(&*part.to_ascii_lowercase().replace("%2e", "."), "." | "..");
    if request.uri().path().split('/').any(is_way) {
        return Err((StatusCode::BAD_REQUEST, "a path has no `.` and no `..`"));
    }
    if listen.ip().is_loopback() && !is_named_loopback(request) {
        // A page of another site can have a name of its own lead here.
        return Err((
            StatusCode::MISDIRECTED_REQUEST,
            "this server answers to loopback names alone",
        ));
    }
    // A browser lets a page of any site open a WebSocket, with the cookies of this one.
    let changes = !is_safe(request.method()) || headers.contains_key(header::UPGRADE);
    if changes && is_cross_site(headers) {
        return Err((StatusCode::FORBIDDEN, "this request comes from another site"));
    }
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err((
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "send the body as it is, without Content-Encoding",
        ));
    }
    match length(headers) {
        Some(length) if length > BODY_MOST => Err((StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE)),
        _ => Ok(()),
    }
}

/// Refuses what could bring more pictures while too many wait to be looked at.
pub fn check_room(method: &Method, classifying: u64) -> Result<(), Refused> {
    if classifying >= CLASSIFYING_MOST && matches!(*method, Method::PUT | Method::POST) {
        let why = "too many pictures wait to be looked at; try again";
        return Err((StatusCode::SERVICE_UNAVAILABLE, why));
    }
    Ok(())
}

pub const TOO_LARGE: &str = "a body has at most 32 MiB";

/// How many bytes the body has, if the request says so.
pub fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

fn is_named_loopback<B>(request: &Request<B>) -> bool {
    // HTTP/2 has the name in the address of the request.
    let named = request.uri().authority().map(|authority| authority.as_str());
    let named = named.or_else(|| request.headers().get(header::HOST)?.to_str().ok());
    let Some(named) = named else { return false };
    let name = match named.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => named,
    };
    let ip = name.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    name == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
}

/// Whether a browser says that another site has made it send this. Programs that are no browsers say nothing.
fn is_cross_site(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value: &header::HeaderValue| value.to_str().ok());
    if let Some(site) = text(header::HeaderName::from_static("sec-fetch-site")) {
        return !matches!(site, "same-origin" | "none");
    }
    let Some(origin) = text(header::ORIGIN) else { return false };
    let from = origin.split_once("://").map(|(_, from)| from);
    from.is_none() || from != text(header::HOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a request with these headers is answered before anybody looks at it; 0 when it is let in.
    fn status(method: &str, uri: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let listen = "127.0.0.1:80".parse().unwrap();
        check(&request.body(()).unwrap(), listen).err().map_or(0, |(status, _)| status.as_u16())
    }

    #[test]
    fn while_too_many_pictures_wait_everything_is_taken_but_more_of_them() {
        assert!(check_room(&Method::PUT, CLASSIFYING_MOST - 1).is_ok());
        for (method, taken) in [("PUT", false), ("POST", false), ("GET", true), ("DELETE", true)] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            assert_eq!(check_room(&method, CLASSIFYING_MOST).is_ok(), taken, "{method}");
        }
    }

    #[test]
    fn hostile_heads_are_refused_and_honest_ones_are_not() {
        let host = ("host", "127.0.0.1:80");
        let long = format!("/{}", "a".repeat(3_000));
        for (method, uri, headers, expected) in [
            ("PUT", "/acme/cat", vec![host], 0),
            ("PUT", "/acme/cat", vec![("host", "localhost")], 0),
            ("PUT", "/acme/cat", vec![("host", "[::1]:8080")], 0),
            ("PUT", "/acme/cat", vec![host, ("origin", "http://127.0.0.1:80")], 0),
            ("PUT", "/acme/cat", vec![host, ("sec-fetch-site", "same-origin")], 0),
            ("PUT", "/acme/cat", vec![host, ("origin", "http://evil.example")], 403),
            ("PUT", "/acme/cat", vec![host, ("origin", "null")], 403),
            ("DELETE", "/acme/cat", vec![host, ("sec-fetch-site", "cross-site")], 403),
            ("PUT", "/acme/cat", vec![host, ("sec-fetch-site", "same-site")], 403),
            ("GET", "/acme", vec![host, ("sec-fetch-site", "cross-site")], 0),
            ("GET", "/agents/organization/acme", vec![host, ("upgrade", "websocket")], 0),
            (
                "GET",
                "/agents/organization/acme",
                vec![host, ("upgrade", "websocket"), ("origin", "http://evil.example")],
                403,
            ),
            ("GET", "/acme", vec![("host", "evil.example")], 421),
            ("GET", "/acme", vec![("host", "127.0.0.1.evil.example")], 421),
            ("GET", "/acme", vec![], 421),
            ("PUT", "/acme/cat", vec![host, ("content-encoding", "gzip")], 415),
            ("PUT", "/acme/cat", vec![host, ("content-length", "33554433")], 413),
            ("PUT", "/acme/cat", vec![host, ("content-length", "33554432")], 0),
            ("GET", &long, vec![host], 414),
            ("DELETE", "/acme/../other/cat", vec![host], 400),
            ("GET", "/acme/%2E%2e/other", vec![host], 400),
            ("GET", "/acme/..cat", vec![host], 0),
        ] {
            assert_eq!(status(method, uri, &headers), expected, "{method} {uri:.20} {headers:?}");
        }
    }
}
