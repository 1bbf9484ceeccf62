//! `storm.http`: the requests that are sent, in the format that editors know.
//!
//! A request is a line with method and path, headers, an empty line and a body; `###` stands between two of them, and
//! `@name = value` sets what `{{name}}` means. Beyond that format, `### after 3s` begins the next request that much
//! later, `### ignore table.column` does not compare a column with the calm, and `SCHEDULED * * * * *` fires a cron
//! trigger. `OUTSIDE GET https://api.example.com/* 200` describes what a host outside answers. `WEBSOCKET /path` opens a
//! WebSocket; its body has the messages, with lines `===` between them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use thunderhead_sim::{Conversation, Headers, Request, WEBSOCKET};

use crate::outside::Described;

/// One entry of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// How long after the one before it, where the file says so.
    pub after: Option<Duration>,
    /// What happens.
    pub event: Event,
    /// The line that it begins at, counting from 1.
    pub line: usize,
}

/// What an entry does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client sends a request.
    Request(Request),
    /// A cron trigger fires.
    Scheduled(String),
}

impl Event {
    /// The handler that it calls.
    pub fn handler(&self) -> &'static str {
        match self {
            Event::Request(_) => "fetch",
            Event::Scheduled(_) => "scheduled",
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
    fn add(&mut self, part: Option<Part>) {
        match part {
            Some(Part::Entry(entry)) => self.entries.push(entry),
            Some(Part::Outside(described)) => self.outside.push(described),
            None => {}
        }
    }
}

/// What is sent when there is no file.
pub fn usual() -> Storm {
    let event = Event::Request(Request::new("GET", "/", ""));
    Storm { entries: vec![Entry { after: None, event, line: 1 }], ..Storm::default() }
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
        storm.add(part(&lines, after.take())?);
        lines.clear();
        let title = title.trim();
        after = delay(at, title)?;
        let ignored = title.strip_prefix("ignore ").map(|what| (at, what.trim().to_string()));
        storm.ignored.extend(ignored);
    }
    storm.add(part(&lines, after)?);
    match storm.entries.is_empty() {
        false => Ok(storm),
        true => Err(StormHttpError { line: 1, why: "there is no request, such as `GET /`".into() }),
    }
}

/// A line that sets a variable: its name and its value.
fn variable(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.strip_prefix('@')?.split_once('=')?;
    let name = name.trim();
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    (!name.is_empty() && name.chars().all(plain)).then(|| (name, value.trim()))
}

/// The variables of a file, which may be made of those before them.
fn variables(text: &str) -> BTreeMap<&str, String> {
    let mut variables = BTreeMap::new();
    for (at, line) in text.lines().enumerate() {
        if let Some((name, value)) = variable(line) {
            let value =
                filled(value, &variables, at + 1).map_or(value.to_string(), Cow::into_owned);
            variables.insert(name, value);
        }
    }
    variables
}

/// A line with the values of its variables.
fn filled<'a>(
    line: &'a str,
    variables: &BTreeMap<&str, String>,
    at: usize,
) -> Result<Cow<'a, str>, StormHttpError> {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, name, behind)) = rest.split_once("{{").and_then(|(before, inner)| {
        let (name, behind) = inner.split_once("}}")?;
        Some((before, name.trim(), behind))
    }) {
        out += before;
        match (variables.get(name), name) {
            (Some(value), _) => out += value,
            // The same ones in every run: what is sent is part of a scenario.
            (None, "$guid" | "$uuid" | "$random.uuid") => {
                out += &format!("00000000-0000-4000-8000-{at:012}");
            }
            (None, "$timestamp") => out += "1767225600",
            (None, "$isoTimestamp") => out += "2026-01-01T00:00:00.000Z",
            (None, "$randomInt" | "$random.integer") => out += &format!("{}", at * 7919 % 1000),
            (None, _) => {
                let why = format!("`{{{{{name}}}}}` means nothing; write `@{name} = value` above");
                return Err(StormHttpError { line: at, why });
            }
        }
        rest = behind;
    }
    if out.is_empty() && rest.len() == line.len() {
        return Ok(Cow::Borrowed(line));
    }
    Ok(Cow::Owned(out + rest))
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

fn is_comment(line: &str) -> bool {
    line.starts_with('#') || line.starts_with("//")
}

fn part(
    lines: &[(usize, Cow<str>)],
    after: Option<Duration>,
) -> Result<Option<Part>, StormHttpError> {
    let lines = lines.iter().map(|(at, line)| (*at, &**line));
    let says_nothing =
        |line: &str| line.trim().is_empty() || is_comment(line) || variable(line).is_some();
    let mut lines = lines.skip_while(|(_, line)| says_nothing(line));
    let Some((line, first)) = lines.next() else { return Ok(None) };
    // An address may go on in the lines below, which begin with a space, and its query does.
    let mut lines = lines.peekable();
    let mut first = first.trim().to_string();
    while let Some((_, more)) = lines.next_if(|(_, line)| continues(line)) {
        first += more.trim();
    }
    let first = &*first;
    let wrong = |why: String| StormHttpError { line, why };
    let (method, target) = match address(first) {
        // An address alone is asked for.
        Some(_) => ("GET", first),
        None => first.split_once(' ').unwrap_or((first, "")),
    };
    let target = target.trim();
    match method {
        "SCHEDULED" => {
            let entry = Entry { after, event: Event::Scheduled(target.into()), line };
            return Ok(Some(Part::Entry(entry)));
        }
        "OUTSIDE" => {
            let mut described = Described::parse(target).map_err(wrong)?;
            described.headers = headers(&mut lines)?;
            let text: Vec<&str> = lines.map(|(_, line)| line).collect();
            described.body = text.join("\n").trim_end().into();
            return Ok(Some(Part::Outside(described)));
        }
        _ => {}
    }
    if method.is_empty() || !method.chars().all(|c| c.is_ascii_uppercase()) {
        return Err(wrong(format!("`{first}` is no request; write one as `POST /orders`")));
    }
    let target = target.rsplit_once(" HTTP/").map_or(target, |(target, _)| target).trim_end();
    let (host, path) = address(target)
        .ok_or_else(|| wrong(format!("`{target}` is no path; it begins with `/`")))?;
    let mut request = Request::new(method, path, "");
    if let Some(host) = host {
        request.headers.set("host", host);
    }
    headers(&mut lines)?.iter().for_each(|(name, value)| request.headers.append(name, value));
    // Editors run what stands behind the body when the answer is there.
    let body: Vec<(usize, &str)> = lines.take_while(|(_, line)| !is_script(line)).collect();
    if let Some((line, file)) = body.iter().find(|(_, line)| is_file(line)) {
        let why = format!("`{file}`: a body is not read from a file; write it here");
        return Err(StormHttpError { line: *line, why });
    }
    let ends = line_end(&request.headers);
    let text = body.iter().map(|(_, line)| *line).collect::<Vec<_>>().join(ends);
    if method == WEBSOCKET {
        Conversation::parse(&text).map_err(|error| {
            let line = body.get(error.line).map_or(line, |(at, _)| *at);
            StormHttpError { line, why: error.why }
        })?;
    }
    // The last line of a form in parts ends like the others.
    let text = text.trim_end();
    request.body = if ends == "\n" { text.into() } else { format!("{text}{ends}").into() };
    Ok(Some(Part::Entry(Entry { after, event: Event::Request(request), line })))
}

/// Whether a line goes on with the address above it.
fn continues(line: &str) -> bool {
    line.starts_with([' ', '\t']) && line.trim_start().starts_with(['?', '&', '/'])
}

/// Whether a line begins a script for the answer, or names a file for it.
fn is_script(line: &str) -> bool {
    ["> {%", ">> ", "> ./", "<> "].iter().any(|word| line.starts_with(word))
}

/// Whether a line stands for the content of a file.
fn is_file(line: &str) -> bool {
    ["< ./", "< ../", "< /", "<@ "].iter().any(|word| line.starts_with(word))
}

/// What is at the end of the lines of a body: a form in parts is read by its line ends.
fn line_end(headers: &Headers) -> &'static str {
    let parts = headers.get("content-type").is_some_and(|kind| kind.starts_with("multipart/"));
    if parts { "\r\n" } else { "\n" }
}

/// The headers, up to the empty line.
fn headers<'a>(
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
) -> Result<Headers, StormHttpError> {
    let mut headers = Headers::default();
    for (line, header) in lines.take_while(|(_, line)| !line.trim().is_empty()) {
        if is_comment(header) {
            continue;
        }
        let Some((name, value)) =
            header.split_once(':').filter(|(name, _)| !name.trim().contains(' '))
        else {
            let why =
                format!("`{}` is no header; an empty line stands before the body", header.trim());
            return Err(StormHttpError { line, why });
        };
        headers.append(name.trim(), value.trim());
    }
    Ok(headers)
}

/// How a whole address can begin.
const SCHEMES: [&str; 4] = ["http://", "https://", "ws://", "wss://"];

/// The host and the path of a target, which may be a whole address.
fn address(target: &str) -> Option<(Option<&str>, &str)> {
    if target.starts_with('/') {
        return Some((None, target));
    }
    let rest = SCHEMES.iter().find_map(|scheme| target.strip_prefix(scheme))?;
    let at = rest.find('/').unwrap_or(rest.len());
    Some((Some(&rest[..at]), if at == rest.len() { "/" } else { &rest[at..] }))
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
        let get = Request::new("GET", "/orders", "").with_header("host", "shop.example");
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
                Event::Scheduled(cron) => panic!("{cron}"),
            })
            .collect();
        let list = Request::new("GET", "/orders?page=2&sort=asc", "");
        assert_eq!(*requests[0], list.with_header("host", "shop.example"));
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
        let expected = Request::new("POST", "/orders", "{\"at\": \"shop.example\"}")
            .with_header("host", "shop.example")
            .with_header("x-id", "00000000-0000-4000-8000-000000000004");
        assert_eq!(storm.entries[0].event, Event::Request(expected));
        let said = parse("GET /{{gone}}").unwrap_err().to_string();
        assert_eq!(said, "line 1: `{{gone}}` means nothing; write `@gone = value` above");
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
