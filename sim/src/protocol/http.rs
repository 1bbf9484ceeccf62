//! HTTP requests and responses.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::protocol::headers::Headers;
use crate::values::body::{Body, NotJson};
use crate::values::percent;

/// The header of a response that brings an end of a WebSocket: its value is the number of the end. It stands for what
/// the runtime passes on beside the response.
pub const WEB_SOCKET: &str = "thunderhead-web-socket";

/// The header of a message whose body is streamed: its value is the number of the stream. Twice that is the number of
/// the end at which the parts arrive.
pub const STREAM: &str = "thunderhead-stream";

/// What the edge tells a Worker of the client's connection: `https` when that is encrypted.
const FORWARDED_PROTO: &str = "x-forwarded-proto";
/// How a whole address can begin.
const SCHEMES: [&str; 4] = ["https://", "wss://", "http://", "ws://"];

/// An HTTP request, as far as the systems care.
///
/// ```
/// use thunderhead_sim::Request;
///
/// let request = Request::new("GET", "/photos?of=the%20cat&page=2", "").with_header("Accept", "image/png");
/// assert_eq!(request.pathname(), "/photos");
/// assert_eq!(request.query("of").as_deref(), Some("the cat"));
/// assert_eq!(request.headers.get("accept"), Some("image/png"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Request {
    /// `GET`, `PUT`, …
    pub method: SmolStr,
    /// The path, beginning with `/`, and the query behind it.
    pub path: SmolStr,
    /// The body; empty when there is none.
    pub body: Body,
    /// The headers that the sender has set; none are added on the way.
    #[serde(default, skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
}

impl Request {
    /// A request with a body.
    pub fn new(method: &str, path: &str, body: impl Into<Body>) -> Request {
        let method = match method {
            // The usual ones need no copy of their own.
            "GET" => SmolStr::new_static("GET"),
            "POST" => SmolStr::new_static("POST"),
            "PUT" => SmolStr::new_static("PUT"),
            other => other.into(),
        };
        Request { method, path: path.into(), body: body.into(), headers: Headers::default() }
    }

    /// A request whose body is a value in JSON.
    pub fn with_json<T: Serialize + ?Sized>(method: &str, path: &str, value: &T) -> Request {
        let request = Request::new(method, path, Body::json(value));
        request.with_header("content-type", "application/json")
    }

    /// Sets a header of the request, in place of one of that name.
    pub fn with_header(mut self, name: &str, value: &str) -> Request {
        self.headers.set(name, value);
        self
    }

    /// Sends the request to a whole address, such as `https://shop.example/cat`: its host becomes a header, and so does
    /// that its connection is encrypted. None if it is no address.
    ///
    /// ```
    /// use thunderhead_sim::Request;
    ///
    /// let request = Request::new("GET", "", "").addressed("https://shop.example?page=2").unwrap();
    /// assert_eq!((&*request.path, request.headers.get("host")), ("/?page=2", Some("shop.example")));
    /// assert!(request.is_encrypted());
    /// ```
    pub fn addressed(mut self, address: &str) -> Option<Request> {
        let scheme = SCHEMES.into_iter().find(|scheme| address.starts_with(scheme))?;
        let rest = &address[scheme.len()..];
        let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let slash = if path.starts_with('/') { "" } else { "/" };
        self.path = format!("{slash}{path}").into();
        self.headers.set("host", host);
        if matches!(scheme, "https://" | "wss://") {
            self.headers.set(FORWARDED_PROTO, "https");
        }
        Some(self)
    }

    /// Whether the client's connection is encrypted, as far as the edge says.
    pub fn is_encrypted(&self) -> bool {
        self.headers.get(FORWARDED_PROTO) == Some("https")
    }

    /// The body, read as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, NotJson> {
        self.body.parse()
    }

    /// The path without the query.
    pub fn pathname(&self) -> &str {
        self.path.split_once('?').map_or(&*self.path, |(path, _)| path)
    }

    /// The first value of a query parameter, decoded.
    pub fn query(&self, name: &str) -> Option<String> {
        self.query_pairs().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The parameters of the query, decoded, in their order.
    pub fn query_pairs(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let query = self.path.split_once('?').map_or("", |(_, query)| query);
        let query = query.split_once('#').map_or(query, |(query, _)| query);
        query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (percent::decoded(name), percent::decoded(value))
        })
    }
}

/// A request without headers hashes as it did before there were any: recorded hashes stay good.
impl Hash for Request {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.method, &self.path, &self.body).hash(state);
        if !self.headers.is_empty() {
            self.headers.hash(state);
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        describe(f, &self.headers, &self.body)
    }
}

/// An HTTP response.
///
/// ```
/// use thunderhead_sim::Response;
///
/// let response = Response::json(&["cat", "dog"]).with_status(201);
/// assert_eq!(response.to_string(), r#"201 [content-type: "application/json"] "[\"cat\",\"dog\"]""#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The body; empty when there is none.
    pub body: Body,
    /// The headers that the handler has set.
    #[serde(default, skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
}

impl Response {
    /// A response with a status and a body.
    pub fn new(status: u16, body: impl Into<Body>) -> Response {
        Response { status, body: body.into(), headers: Headers::default() }
    }

    /// A value in JSON, with status 200.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Response {
        Response::new(200, Body::json(value)).with_header("content-type", "application/json")
    }

    /// Replaces the status, as that of an answer in JSON.
    pub fn with_status(mut self, status: u16) -> Response {
        self.status = status;
        self
    }

    /// Sets a header of the response, in place of one of that name.
    pub fn with_header(mut self, name: &str, value: &str) -> Response {
        self.headers.set(name, value);
        self
    }

    /// The body, read as JSON.
    pub fn read_json<T: DeserializeOwned>(&self) -> Result<T, NotJson> {
        self.body.parse()
    }

    /// Whether the status is between 200 and 299.
    pub fn is_ok(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// As for a request.
impl Hash for Response {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.status, &self.body).hash(state);
        if !self.headers.is_empty() {
            self.headers.hash(state);
        }
    }
}

impl fmt::Display for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        describe(f, &self.headers, &self.body)
    }
}

/// Headers and body, as far as there are any.
fn describe(f: &mut fmt::Formatter<'_>, headers: &Headers, body: &Body) -> fmt::Result {
    if !headers.is_empty() {
        f.write_str(" ")?;
        fmt::Display::fmt(headers, f)?;
    }
    if body.is_empty() {
        return Ok(());
    }
    f.write_str(" ")?;
    fmt::Display::fmt(body, f)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::hash::StableHasher;

    #[test]
    fn without_headers_a_request_hashes_and_reads_as_it_did_before_there_were_any() {
        let request = Request::new("PUT", "/cat", "meow");
        assert_eq!(
            StableHasher::of(&request),
            StableHasher::of(&("PUT", "/cat", Body::from("meow")))
        );
        let json = r#"{"method":"PUT","path":"/cat","body":"meow"}"#;
        assert_eq!(serde_json::to_string(&request).unwrap(), json);
        assert_eq!(serde_json::from_str::<Request>(json).unwrap(), request);
        let response = Response::new(200, "meow");
        assert_eq!(StableHasher::of(&response), StableHasher::of(&(200u16, Body::from("meow"))));
        assert_eq!(serde_json::to_string(&response).unwrap(), r#"{"status":200,"body":"meow"}"#);
    }

    #[test]
    fn headers_are_part_of_the_hash_and_of_the_json() {
        let request = Request::new("PUT", "/cat", "meow").with_header("A", "1");
        assert_ne!(
            StableHasher::of(&request),
            StableHasher::of(&Request::new("PUT", "/cat", "meow"))
        );
        let json = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<Request>(&json).unwrap(), request);
    }

    #[test]
    fn a_query_is_decoded_and_its_first_value_counts() {
        let request = Request::new("GET", "/a?x=1&y=a+b%26c&x=2&flag&=", "");
        assert_eq!(request.query("x").as_deref(), Some("1"));
        assert_eq!(request.query("y").as_deref(), Some("a b&c"));
        assert_eq!(request.query("flag").as_deref(), Some(""));
        assert_eq!(request.query("z"), None);
        assert_eq!(Request::new("GET", "/a", "").query_pairs().count(), 0);
    }
}
