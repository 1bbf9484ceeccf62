//! Hosts outside of the cloud that a Worker sends requests to. What they answer is described in `storm.http` or in
//! `storm.ts`; in a storm they are slow or refuse.

use std::sync::Arc;
use std::time::Duration;

use thunderhead_sim::{Body, Cloud, Env, Headers, Request, Response};

use crate::storm_ts::StormTs;

/// The name of the host that stands for all of them.
pub const INTERNET: &str = "internet";

/// The host that mail is sent to; `workers/prelude/email.js` has the same name.
const MAIL: &str = "send-email";

/// How long a slow answer takes.
const SLOW: Duration = Duration::from_secs(20);

/// An answer that `storm.http` describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The method, or `ANY`.
    method: String,
    /// Host and path; `*` is anything.
    address: String,
    status: u16,
    pub headers: Headers,
    pub body: Body,
}

impl Described {
    /// Reads `GET https://api.example.com/v1/* 200`. The status may be left out.
    pub fn parse(line: &str) -> Result<Described, String> {
        let wrong = || {
            format!(
                "`{line}` describes no answer; write `OUTSIDE GET https://api.example.com/* 200`"
            )
        };
        let mut words = line.split_whitespace();
        let method = words.next().ok_or_else(wrong)?;
        let (_, address) =
            words.next().and_then(|word| word.split_once("://")).ok_or_else(wrong)?;
        let status = words.next().map_or(Ok(200), str::parse);
        let status = status.ok().filter(|status| (200..600).contains(status)).ok_or_else(wrong)?;
        if words.next().is_some() || !method.chars().all(|c| c.is_ascii_uppercase()) {
            return Err(wrong());
        }
        let address = if address.contains('/') { address.into() } else { format!("{address}/*") };
        let (method, headers, body) = (method.into(), Headers::default(), Body::empty());
        Ok(Described { method, address, status, headers, body })
    }

    fn fits(&self, request: &Request) -> bool {
        let host = request.headers.get("host").unwrap_or_default();
        let path = if self.address.contains('?') { &*request.path } else { request.pathname() };
        (self.method == "ANY" || self.method == *request.method)
            && matches(&self.address, &format!("{host}{path}"))
    }

    fn response(&self) -> Response {
        let mut response = Response::new(self.status, self.body.clone());
        response.headers = self.headers.clone();
        response
    }
}

/// Whether a text is what a pattern says, in which `*` is anything.
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.is_empty()
}

/// What the hosts outside answer.
#[derive(Clone, Debug, Default)]
pub struct Outside {
    described: Arc<[Described]>,
    script: Option<Arc<StormTs>>,
}

impl Outside {
    /// The hosts of `storm.ts` answer for themselves; for others, the first description that fits.
    pub fn new(described: &[Described], script: Option<Arc<StormTs>>) -> Outside {
        Outside { described: described.into(), script }
    }

    /// Whether a request is answered as described. One that is not gets an empty document.
    pub fn describes(&self, request: &Request) -> bool {
        request.headers.get("host") == Some(MAIL)
            || self.script_for(request).is_some()
            || self.described.iter().any(|one| one.fits(request))
    }

    fn script_for(&self, request: &Request) -> Option<&StormTs> {
        let host = request.headers.get("host").unwrap_or_default();
        self.script.as_deref().filter(|script| script.answers_for(host))
    }

    fn answer(&self, request: &Request) -> Response {
        let described = self.described.iter().find(|described| described.fits(request));
        described.map_or_else(|| Response::json(&serde_json::json!({})), Described::response)
    }

    /// Adds the host that stands for all of them.
    pub fn mount(&self, cloud: &mut Cloud) {
        let outside = self.clone();
        let hosts = self.script.as_ref().map(|script| script.hosts());
        cloud.outside(INTERNET, move |env: Env, request: Request| {
            let hosts = outside.script_for(&request).and(hosts.clone());
            let response = outside.answer(&request);
            async move {
                let mood = env.mood(4);
                if mood == 1 {
                    env.sleep(SLOW).await;
                }
                match (hosts, mood) {
                    (Some(hosts), mood) => hosts.answer(&request, mood as usize),
                    (None, 2) => Ok(Response::new(503, "")),
                    (None, 3) => Ok(Response::new(429, "")),
                    (None, _) => Ok(response),
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_anything() {
        for (pattern, text, fits) in [
            ("a.com/*", "a.com/x/y", true),
            ("a.com/v1/*/items", "a.com/v1/7/items", true),
            ("a.com/v1/*/items", "a.com/v1/7/item", false),
            ("a.com/", "a.com/x", false),
            ("*.a.com/*", "b.a.com/", true),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn a_line_describes_method_address_and_status() {
        let described = Described::parse("POST https://mail.example.com/send 202").unwrap();
        let request =
            |method, path| Request::new(method, path, "").with_header("host", "mail.example.com");
        assert!(described.fits(&request("POST", "/send?now=1")));
        assert!(!described.fits(&request("GET", "/send")));
        assert_eq!(described.response().status, 202);
        for wrong in [
            "",
            "GET",
            "GET a.com",
            "GET https://a.com 99",
            "get https://a.com",
            "GET https://a.com 200 OK",
        ] {
            assert!(Described::parse(wrong).unwrap_err().contains("OUTSIDE GET"), "{wrong}");
        }
    }
}
