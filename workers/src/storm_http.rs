//! `storm.http`: the requests that are sent, in the format that editors know.
//!
//! A request is a line with method and path, headers, an empty line and a body; `###` stands between two of them, and
//! `@name = value` sets what `{{name}}` means. Beyond that format, `### after 3s` begins the next request that much
//! later, `### ignore table.column` does not compare a column with the calm, `SCHEDULED * * * * *` fires a cron
//! trigger, `EMAIL ann@example.com shop@example.com` sends mail, and `QUEUE orders` puts a message into a queue.
//! `OUTSIDE GET https://api.example.com/* 200` describes what a host outside answers. `# @name order` gives the request
//! below it a name, and `{{order.response.body.id}}` is a member of its answer. `WEBSOCKET /path` opens a WebSocket;
//! its body has the messages, with lines `===` between them.

mod request;
mod variables;

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use thunderhead_sim::{Request, WEBSOCKET, answers};

use crate::outside::Described;
use request::part;
use variables::{filled, variables};

/// One entry of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// How long after the one before it, where the file says so.
    pub after: Option<Duration>,
    /// What happens.
    pub event: Event,
    /// The name that others refer to its answer by.
    pub name: Option<String>,
    /// The names of the requests whose answers it uses.
    pub uses: Vec<String>,
    /// The line that it begins at, counting from 1.
    pub line: usize,
}

impl Entry {
    /// An entry without a name.
    pub fn new(event: Event, line: usize) -> Entry {
        let uses = match &event {
            Event::Request(request) | Event::Email(request) | Event::Message(request) => {
                answers::names(request)
            }
            Event::Scheduled(_) => Vec::new(),
        };
        Entry { after: None, event, name: None, uses, line }
    }
}

/// What an entry does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client sends a request.
    Request(Request),
    /// A cron trigger fires.
    Scheduled(String),
    /// A message comes by mail.
    Email(Request),
    /// A message comes to a queue.
    Message(Request),
}

impl Event {
    /// The handler that it calls.
    pub fn handler(&self) -> &'static str {
        match self {
            Event::Request(_) => "fetch",
            Event::Scheduled(_) => "scheduled",
            Event::Email(_) => "email",
            Event::Message(_) => "queue",
        }
    }
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StormHttpError {
    line: usize,
    why: String,
}

impl fmt::Display for StormHttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for StormHttpError {}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Storm {
    /// What is sent.
    pub entries: Vec<Entry>,
    /// What is ignored, with the line that says so: columns, and promises by their names.
    pub ignored: Vec<(usize, String)>,
    /// What hosts outside answer.
    pub outside: Vec<Described>,
}

/// What stands between two lines `###`.
enum Part {
    Entry(Entry),
    Outside(Described),
}

impl Storm {
    fn add(&mut self, part: Option<Part>) -> Result<(), StormHttpError> {
        match part {
            Some(Part::Entry(entry)) => {
                self.check_names(&entry).map_err(|why| StormHttpError { line: entry.line, why })?;
                self.entries.push(entry);
            }
            Some(Part::Outside(described)) => self.outside.push(described),
            None => {}
        }
        Ok(())
    }

    /// A name stands for one request, and only those below it can use its answer.
    fn check_names(&self, entry: &Entry) -> Result<(), String> {
        let is_known = |name: &String| self.entries.iter().any(|e| e.name.as_ref() == Some(name));
        if let Some(unknown) = entry.uses.iter().find(|used| !is_known(used)) {
            return Err(format!(
                "no request above has the name `{unknown}`; write `# @name {unknown}` over the one whose answer is used"
            ));
        }
        match &entry.name {
            Some(name) if is_known(name) => Err(format!("two requests have the name `{name}`")),
            Some(name) if !answers::is_name(name) => {
                Err(format!("`{name}` is no name; write letters, digits, `_` and `-`"))
            }
            Some(name) if !matches!(&entry.event, Event::Request(sent) if sent.method != WEBSOCKET) => {
                Err(format!("only a request has an answer, so this cannot have the name `{name}`"))
            }
            _ => Ok(()),
        }
    }
}

/// What is sent when there is no file.
pub fn usual() -> Storm {
    let event = Event::Request(Request::new("GET", "/", ""));
    Storm { entries: vec![Entry::new(event, 1)], ..Storm::default() }
}

/// Reads a file.
pub fn parse(text: &str) -> Result<Storm, StormHttpError> {
    let mut storm = Storm::default();
    let variables = variables(text);
    let mut after = None;
    let mut lines: Vec<(usize, Cow<str>)> = Vec::new();
    for (at, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line)) {
        let Some(title) = line.strip_prefix("###") else {
            lines.push((at, filled(line, &variables, at)?));
            continue;
        };
        storm.add(part(&lines, after.take())?)?;
        lines.clear();
        let title = title.trim();
        after = delay(at, title)?;
        let ignored = title.strip_prefix("ignore ").map(|what| (at, what.trim().to_string()));
        storm.ignored.extend(ignored);
    }
    storm.add(part(&lines, after)?)?;
    match storm.entries.is_empty() {
        false => Ok(storm),
        true => Err(StormHttpError { line: 1, why: "there is no request, such as `GET /`".into() }),
    }
}

/// `after 3s`, or a title that says nothing.
fn delay(line: usize, title: &str) -> Result<Option<Duration>, StormHttpError> {
    let Some(time) = title.strip_prefix("after ") else { return Ok(None) };
    let time = time.trim();
    let digits = time.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match time[digits.len()..].trim() {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => 0,
    };
    match digits.trim().parse::<u32>() {
        Ok(number) if unit > 0 => Ok(Some(Duration::from_millis(u64::from(number) * unit))),
        _ => Err(StormHttpError {
            line,
            why: format!("`{time}` is no time; write it as `after 3s`, in ms, s, m or h"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_methods_paths_headers_and_bodies() {
        let text = "# orders\nPOST /orders?a=1 HTTP/1.1\nContent-Type: application/json\n\n{\"n\": 1,\n\"m\": 2}\n\n\
            ### after 3s\nGET https://shop.example/orders\n### the hourly report\nSCHEDULED 0 * * * *\n###\n";
        let entries = parse(text).unwrap().entries;
        let post = Request::new("POST", "/orders?a=1", "{\"n\": 1,\n\"m\": 2}")
            .with_header("content-type", "application/json");
        let get = Request::new("GET", "", "").addressed("https://shop.example/orders").unwrap();
        let events: Vec<&Event> = entries.iter().map(|entry| &entry.event).collect();
        assert_eq!(
            events,
            [&Event::Request(post), &Event::Request(get), &Event::Scheduled("0 * * * *".into())]
        );
        let after: Vec<_> = entries.iter().map(|entry| entry.after).collect();
        assert_eq!(after, [None, Some(Duration::from_secs(3)), None]);
        assert_eq!(entries[1].line, 9);
    }

    #[test]
    fn a_line_that_cannot_be_read_is_told_with_what_to_write() {
        let said = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(
            said("GET /\n###\nhello there"),
            "line 3: `hello there` is no request; write one as `POST /orders`"
        );
        assert!(said("PUT /title\nFirst").contains("an empty line stands before the body"));
        assert!(said("GET /\n### after soon\nGET /").contains("`soon` is no time"));
        assert!(said("GET photos").contains("begins with `/`"));
        assert!(said("###\n").contains("there is no request"));
        assert!(
            said("GET /\n###\nQUEUE orders\n\ntea").contains("write `content-type: text/plain`")
        );
        assert!(said("GET /\n###\nEMAIL ann").starts_with("line 3: `ann` does not say who"));
        assert!(
            said("WEBSOCKET /room\n\nhi\n=== soon").starts_with("line 4: `=== soon` means nothing")
        );
    }

    #[test]
    fn what_editors_write_is_read() {
        let text = "# @name list\nGET https://shop.example/orders\n    ?page=2\n    &sort=asc HTTP/2\n###\n\
            http://localhost:8787/plain\n\n> {%\n client.log(1)\n%}\n###\n\
            POST /photos\nContent-Type: multipart/form-data; boundary=x\n\n--x\nContent-Disposition: form-data; name=\"a\"\n\nb\n--x--\n\n";
        let entries = parse(text).unwrap().entries;
        let requests: Vec<&Request> = entries
            .iter()
            .map(|entry| match &entry.event {
                Event::Request(request) => request,
                other => panic!("{other:?}"),
            })
            .collect();
        let list = Request::new("GET", "/orders?page=2&sort=asc", "");
        let list = list.with_header("host", "shop.example");
        assert_eq!(*requests[0], list.with_header("x-forwarded-proto", "https"));
        let plain = Request::new("GET", "/plain", "").with_header("host", "localhost:8787");
        assert_eq!(*requests[1], plain);
        let form = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--x--\r\n";
        assert_eq!(requests[2].body.text(), Some(form));
        let said = parse("POST /\n\n< ./photo.png\n").unwrap_err().to_string();
        assert!(said.starts_with("line 3: `< ./photo.png`"), "{said}");
    }

    #[test]
    fn what_is_said_on_a_websocket_is_the_body_of_the_request_that_opens_it() {
        let text = "WEBSOCKET ws://chat.example/room\ncookie: ann\n\nhello\n=== after 15s\nbye\n\n###\nGET /\n";
        let entries = parse(text).unwrap().entries;
        let expected = Request::new("WEBSOCKET", "/room", "hello\n=== after 15s\nbye")
            .with_header("host", "chat.example")
            .with_header("cookie", "ann");
        assert_eq!(entries[0].event, Event::Request(expected));
        assert_eq!(entries.len(), 2);
    }

    #[test]
    fn variables_are_filled_in_wherever_they_stand() {
        let text = "@host = shop.example\n@base = https://{{host}}\nPOST {{base}}/orders\nx-id: {{ $uuid }}\n\n{\"at\": \"{{host}}\"}\n";
        let storm = parse(text).unwrap();
        let expected = Request::new("POST", "", "{\"at\": \"shop.example\"}");
        let expected = expected
            .addressed("https://shop.example/orders")
            .unwrap()
            .with_header("x-id", "00000000-0000-4000-8000-000000000004");
        assert_eq!(storm.entries[0].event, Event::Request(expected));
        let said = parse("GET /{{gone}}").unwrap_err().to_string();
        assert_eq!(said, "line 1: `{{gone}}` means nothing; write `@gone = value` above");
    }

    #[test]
    fn requests_use_the_answers_to_those_above_them_by_their_names() {
        let text = "@id = {{order.response.body.id}}\n# @name order\nPOST /orders\n###\n// @name paid\nPUT /orders/{{id}}/paid\n\
            x-of: {{order.response.headers.location}}\n###\nGET /{{paid.response.body}}\n";
        let storm = parse(text).unwrap();
        let names: Vec<Option<&str>> = storm.entries.iter().map(|e| e.name.as_deref()).collect();
        assert_eq!(names, [Some("order"), Some("paid"), None]);
        let uses: Vec<Vec<String>> = storm.entries.iter().map(|e| e.uses.clone()).collect();
        assert_eq!(uses, [vec![], vec!["order".to_string(), "order".into()], vec!["paid".into()]]);
        let whole = parse("# @name a\nGET /\n###\nGET {{a.response.headers.location}}\n").unwrap();
        let expected = Request::new("GET", "{{a.response.headers.location}}", "");
        assert_eq!(whole.entries[1].event, Event::Request(expected));
        let said = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(
            said("GET /{{order.response.body}}\n###\n# @name order\nPOST /\n"),
            "line 1: no request above has the name `order`; write `# @name order` over the one whose answer is used"
        );
        assert_eq!(
            said("# @name a\nGET /\n###\n# @name a\nGET /\n"),
            "line 5: two requests have the name `a`"
        );
        let outside =
            "# @name a\nGET /\n###\nOUTSIDE GET https://x.example/* 200\n\n{{a.response.body}}\n";
        assert_eq!(said(outside), "line 4: a host outside does not know the answer to `a`");
        assert!(said("# @name a.b\nGET /\n").starts_with("line 2: `a.b` is no name"));
        for other in ["SCHEDULED * * * * *", "WEBSOCKET /room"] {
            let said = said(&format!("# @name a\n{other}\n"));
            assert!(said.contains("only a request has an answer"), "{said}");
        }
    }

    #[test]
    fn what_is_ignored_is_told_in_a_title() {
        let storm =
            parse("### ignore uploads.attempts\nGET /\n### ignore no message is given up\n")
                .unwrap();
        let ignored =
            [(1, "uploads.attempts".to_string()), (3, "no message is given up".to_string())];
        assert_eq!(storm.ignored, ignored);
        assert_eq!(storm.entries.len(), 1);
    }
}
