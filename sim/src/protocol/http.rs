//! HTTP requests and responses.

use std::fmt;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::values::body::Body;

/// An HTTP request, as far as the systems care.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Request {
    /// `GET`, `PUT`, …
    pub method: SmolStr,
    /// The path, beginning with `/`.
    pub path: SmolStr,
    /// The body; empty when there is none.
    pub body: Body,
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
        Request { method, path: path.into(), body: body.into() }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        if self.body.is_empty() {
            return Ok(());
        }
        f.write_str(" ")?;
        self.body.fmt(f)
    }
}

/// An HTTP response.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The body; empty when there is none.
    pub body: Body,
}

impl Response {
    /// A response with a status and a body.
    pub fn new(status: u16, body: impl Into<Body>) -> Response {
        Response { status, body: body.into() }
    }
}

impl fmt::Display for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        if self.body.is_empty() {
            return Ok(());
        }
        f.write_str(" ")?;
        self.body.fmt(f)
    }
}
