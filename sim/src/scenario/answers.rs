//! Requests that use the answers to others. In a path, a header or a body, `{{order.response.body.id}}` stands for the
//! member `id` in the answer to the request that is named `order`.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::protocol::http::{Request, Response};
use crate::scenario::{ClientRequest, limits};
use crate::values::body::Body;
use crate::values::sorted_map::SortedMap;

/// How many references of a request are filled in. Each reads an answer, and puts up to 8 kB in its place.
const REFERENCES_MAX: usize = 100;

/// A part of the answer to a request with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference<'a> {
    /// The name of that request.
    pub name: &'a str,
    part: Part<'a>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part<'a> {
    /// The whole body, or the member at the end of a path through a document in JSON.
    Body(Vec<&'a str>),
    Header(&'a str),
}

/// What makes a request with references to one that can be sent is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfilled {
    /// The answer to the request with this name has not come.
    Awaited(String),
    /// The answer has come, and this is not in it.
    Missing(String),
}

impl fmt::Display for Unfilled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfilled::Awaited(name) => write!(f, "there is no answer to `{name}`"),
            Unfilled::Missing(part) => {
                write!(f, "the answer has nothing that could be put in the place of `{part}`")
            }
        }
    }
}

impl<'a> Reference<'a> {
    /// Reads what stands between `{{` and `}}`; none if that is something else.
    ///
    /// A path has the form of `body.items[0].id`, with `$.` before it if one likes; `body` and `body.*` are the whole
    /// body, and `headers.location` is a header.
    pub fn parse(text: &'a str) -> Option<Reference<'a>> {
        let (name, part) = text.trim().split_once(".response.")?;
        let part = match part.split_once('.').unwrap_or((part, "")) {
            ("headers", header) if !header.is_empty() => Part::Header(header),
            ("body", path) => Part::Body(steps(path)),
            // As in `body[0].id`.
            _ if part.starts_with("body[") => Part::Body(steps(&part["body".len()..])),
            _ => return None,
        };
        is_name(name).then_some(Reference { name, part })
    }

    /// What it stands for in an answer.
    fn value(&self, answer: &Response) -> Option<String> {
        let steps = match &self.part {
            Part::Header(header) => return answer.headers.get(header).map(str::to_string),
            Part::Body(steps) if steps.is_empty() => return answer.body.text().map(str::to_string),
            Part::Body(steps) => steps,
        };
        let document: &RawValue = answer.body.read().ok()?;
        let found = steps.iter().try_fold(document, |value, step| member(value, step))?;
        // As it is written: a body may be signed.
        match found.get() {
            "null" => None,
            text if text.starts_with('"') => serde_json::from_str(text).ok(),
            text => Some(text.to_string()),
        }
    }
}

/// The item or the member of a document, which is parsed no further.
fn member<'a>(value: &'a RawValue, step: &str) -> Option<&'a RawValue> {
    let text = value.get();
    if text.starts_with('[') {
        let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        return items.get(step.parse::<usize>().ok()?).copied();
    }
    let members: SortedMap<String, &RawValue> = serde_json::from_str(text).ok()?;
    members.get(step).copied()
}

/// Whether a request can have this name: letters, digits, `_` and `-`.
pub fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !text.is_empty() && limits::NAME.allows(text.len()) && text.chars().all(plain)
}

/// The members and indexes of a path, without what stands for the whole document.
fn steps(path: &str) -> Vec<&str> {
    let steps = path.split(['.', '[', ']', '"', '\'']);
    steps.filter(|step| !matches!(*step, "" | "$" | "*")).collect()
}

/// The answers that requests with names have had.
#[derive(Clone, Debug, Default)]
pub struct Answers(SortedMap<Arc<str>, Option<Response>>);

impl Answers {
    /// None has come to any of these requests.
    pub fn to(requests: &[ClientRequest]) -> Answers {
        Answers(requests.iter().filter_map(|sent| Some((sent.name.clone()?, None))).collect())
    }

    /// An answer has come to this request. Only the first is used: its client has stopped trying then. Returns whether
    /// it is of use.
    pub fn came(&mut self, sent: &ClientRequest, response: &Response) -> bool {
        match sent.name.as_ref().and_then(|name| self.0.get_mut(name)) {
            Some(answer @ None) => {
                *answer = Some(response.clone());
                true
            }
            _ => false,
        }
    }

    /// Whether this request has a name and an answer.
    pub fn has_come(&self, sent: &ClientRequest) -> bool {
        sent.name.as_ref().is_some_and(|name| self.0.get(name).is_some_and(Option::is_some))
    }

    /// The request with everything in it that it takes from answers.
    pub fn filled<'a>(&self, request: &'a Request) -> Result<Cow<'a, Request>, Unfilled> {
        if self.0.is_empty() {
            return Ok(Cow::Borrowed(request));
        }
        let mut references = 0;
        let filled = replaced(request, &mut |place, text, reference| {
            references += 1;
            let Some(answer) = self.0.get(reference.name) else { return Ok(None) };
            let Some(answer) = answer else { return Err(Unfilled::Awaited(reference.name.into())) };
            let fits = |value: &String| {
                let can_be_there = place == Place::Body || !value.contains(char::is_control);
                can_be_there && limits::NAME.allows(value.len()) && references <= REFERENCES_MAX
            };
            let value = reference.value(answer).filter(fits);
            value.map(Some).ok_or_else(|| Unfilled::Missing(format!("{{{{{text}}}}}")))
        })?;
        addressed(filled).ok_or_else(|| Unfilled::Missing(request.path.to_string()))
    }
}

/// The request with its address taken apart, if an answer brought a whole one; none if what it brought is no address.
fn addressed(request: Cow<'_, Request>) -> Option<Cow<'_, Request>> {
    if request.path.starts_with('/') {
        return Some(request);
    }
    let address = request.path.clone();
    request.into_owned().addressed(&address).map(Cow::Owned)
}

/// The request with its references to other names: `name` gives the new name in place of an old one.
pub fn renamed(request: &Request, name: impl Fn(&str) -> Option<String>) -> Cow<'_, Request> {
    let renamed = replaced(request, &mut |_, text, reference| {
        let rest = text.trim().strip_prefix(reference.name).unwrap_or_default();
        Ok::<_, Unfilled>(name(reference.name).map(|new| format!("{{{{{new}{rest}}}}}")))
    });
    renamed.unwrap_or(Cow::Borrowed(request))
}

/// The names that a request refers to.
pub fn names(request: &Request) -> Vec<String> {
    let mut names = Vec::new();
    let _ = replaced(request, &mut |_, _, reference| {
        names.push(reference.name.to_string());
        Ok::<_, Unfilled>(None)
    });
    names
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The path or a header, which have no line breaks.
    Line,
    Body,
}

/// What takes the place of a reference, which is given with its text; nothing if it stays.
type Replace<'f, E> = dyn FnMut(Place, &str, &Reference<'_>) -> Result<Option<String>, E> + 'f;

fn replaced<'a, E>(request: &'a Request, by: &mut Replace<'_, E>) -> Result<Cow<'a, Request>, E> {
    let mut changed = Cow::Borrowed(request);
    if let Some(path) = replaced_text(&request.path, Place::Line, by)? {
        changed.to_mut().path = path.into();
    }
    for (name, value) in request.headers.iter() {
        if let Some(value) = replaced_text(value, Place::Line, by)? {
            changed.to_mut().headers.set(name, &value);
        }
    }
    // Bytes with a name are a picture or a file.
    if let Some(text) = request.body.text().filter(|_| request.body.source().is_none())
        && let Some(text) = replaced_text(text, Place::Body, by)?
    {
        changed.to_mut().body = Body::from(text);
    }
    Ok(changed)
}

/// The text with its references replaced; none if nothing was.
fn replaced_text<E>(
    text: &str,
    place: Place,
    by: &mut Replace<'_, E>,
) -> Result<Option<String>, E> {
    let (mut out, mut rest, mut changed) = (String::new(), text, false);
    while let Some((before, inner)) = rest.split_once("{{") {
        let Some((within, behind)) = inner.split_once("}}") else { break };
        let new = match Reference::parse(within) {
            Some(reference) => by(place, within, &reference)?,
            None => None,
        };
        out += before;
        match new {
            Some(new) => (out, changed) = (out + &new, true),
            None => out = out + "{{" + within + "}}",
        }
        rest = behind;
    }
    Ok(changed.then(|| out + rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::time::Time;

    fn create() -> ClientRequest {
        let sent = ClientRequest::new(Time::ZERO, "POST", "/orders", "");
        ClientRequest { name: Some("create".into()), ..sent }
    }

    fn filled(request: &Request, answer: &Response) -> Result<Request, Unfilled> {
        let mut answers = Answers::to(&[create()]);
        answers.came(&create(), answer);
        answers.filled(request).map(Cow::into_owned)
    }

    fn path(reference: &str, answer: &Response) -> Option<String> {
        let request = Request::new("GET", &format!("/{{{{{reference}}}}}"), "");
        filled(&request, answer).ok().map(|request| request.path[1..].to_string())
    }

    #[test]
    fn a_reference_stands_for_a_member_an_item_a_header_or_all_of_an_answer() {
        let text = r#"{"id":"o-1","items":[{"sku":7, "a": 1.50},{"sku":8}],"0":"zero","none":null,"paid":true}"#;
        let answer = Response::new(201, text).with_header("Location", "/orders/o-1");
        let said = |reference: &str| path(&format!("create.response.{reference}"), &answer);
        assert_eq!(said("body.id").as_deref(), Some("o-1"));
        assert_eq!(said("body.$.items[1].sku").as_deref(), Some("8"));
        assert_eq!(said("body.items.0").as_deref(), Some(r#"{"sku":7, "a": 1.50}"#));
        assert_eq!(said("body['paid']").as_deref(), Some("true"));
        assert_eq!(said("body.0").as_deref(), Some("zero"));
        assert_eq!(said("headers.location").as_deref(), Some("/orders/o-1"));
        assert_eq!(said("body").as_deref(), Some(text));
        assert_eq!(said("body.*").as_deref(), Some(text));
        for missing in ["body.none", "body.items[2]", "body.id.x", "body.items.x", "headers.etag"] {
            assert_eq!(said(missing), None, "{missing}");
        }
        let list = Response::new(200, r#"[{"id":4}]"#);
        assert_eq!(path("create.response.body[0].id", &list).as_deref(), Some("4"));
    }

    #[test]
    fn paths_headers_and_bodies_are_filled_and_other_braces_stay() {
        let answer = Response::new(200, r#"{"id":5,"text":"two\nlines"}"#);
        let request = Request::new(
            "PUT",
            "/orders/{{ create.response.body.id }}?{{x}}",
            r#"{"of":{{create.response.body.id}},"a":"{{create.response.body.text}}","b":{{other.response.body}}}"#,
        )
        .with_header("if-match", "\"{{create.response.body.id}}\"");
        let expected = Request::new(
            "PUT",
            "/orders/5?{{x}}",
            "{\"of\":5,\"a\":\"two\nlines\",\"b\":{{other.response.body}}}",
        )
        .with_header("if-match", "\"5\"");
        assert_eq!(filled(&request, &answer), Ok(expected));
        assert_eq!(names(&request), ["create", "create", "create", "create", "other"]);
    }

    #[test]
    fn a_whole_address_in_an_answer_gives_the_host_and_the_path() {
        let request = Request::new("GET", "{{create.response.body}}", "");
        let short = filled(&request, &Response::new(200, "https://s.example/a?b=c")).unwrap();
        assert!(short.is_encrypted());
        assert_eq!((&*short.path, short.headers.get("host")), ("/a?b=c", Some("s.example")));
        for (address, path) in [("http://s.example", "/"), ("http://s.example?a=b", "/?a=b")] {
            let root = filled(&request, &Response::new(200, address));
            assert_eq!(root, Ok(Request::new("GET", path, "").with_header("host", "s.example")));
        }
        let path = filled(&request, &Response::new(200, "/a"));
        assert_eq!(path, Ok(Request::new("GET", "/a", "")));
        assert!(filled(&request, &Response::new(200, "no address")).is_err());
    }

    #[test]
    fn what_has_not_come_or_cannot_be_put_there_is_told_apart() {
        let request = Request::new("GET", "/{{create.response.body.id}}", "");
        let answers = Answers::to(&[create()]);
        assert_eq!(answers.filled(&request), Err(Unfilled::Awaited("create".into())));
        for body in ["{}", "not JSON", r#"{"id":"two\nlines"}"#] {
            let missing = Unfilled::Missing("{{create.response.body.id}}".into());
            assert_eq!(filled(&request, &Response::new(200, body)), Err(missing), "{body}");
        }
        let many = Request::new("PUT", "/", "{{create.response.body}}".repeat(101).as_str());
        assert!(filled(&many, &Response::new(200, "1")).is_err());
        let long = format!("{{\"id\":\"{}\"}}", "x".repeat(8_193));
        assert!(filled(&request, &Response::new(200, long.as_str())).is_err());
        assert!(Answers::default().filled(&request).is_ok_and(|same| *same == request));
    }

    #[test]
    fn the_first_answer_is_the_one_that_is_used() {
        let mut answers = Answers::to(&[create()]);
        assert!(!answers.has_come(&create()));
        answers.came(&create(), &Response::new(200, "first"));
        answers.came(&create(), &Response::new(200, "second"));
        assert!(answers.has_come(&create()));
        let request = Request::new("GET", "/{{create.response.body}}", "");
        assert_eq!(&*answers.filled(&request).unwrap().path, "/first");
    }

    #[test]
    fn references_get_other_names_and_keep_their_paths() {
        let request = Request::new("GET", "/{{create.response.body.$.id}}/{{b.response.body}}", "");
        let renamed = renamed(&request, |name| (name == "create").then(|| "create-2".into()));
        assert_eq!(&*renamed.path, "/{{create-2.response.body.$.id}}/{{b.response.body}}");
    }

    #[test]
    fn only_what_has_the_form_of_a_reference_is_one() {
        for text in ["create", "create.response", "create.response.status", ".response.body"] {
            assert_eq!(Reference::parse(text), None, "{text}");
        }
        assert!(is_name("a-B_9") && !is_name("") && !is_name("a b") && !is_name("ä"));
    }
}
