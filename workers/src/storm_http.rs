//! `storm.http`: the requests that are sent, in the format that editors know.
//!
//! A request is a line with method and path, headers, an empty line and a body; `###` stands between two of them. Beyond
//! that format, `### after 3s` begins the next request that much later, and `SCHEDULED * * * * *` fires a cron trigger.

use std::fmt;
use std::time::Duration;

use thunderhead_sim::Request;

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

/// What is sent when there is no file.
pub fn usual() -> Vec<Entry> {
    vec![Entry { after: None, event: Event::Request(Request::new("GET", "/", "")), line: 1 }]
}

/// Reads a file.
pub fn parse(text: &str) -> Result<Vec<Entry>, StormHttpError> {
    let mut entries = Vec::new();
    let mut after = None;
    let mut lines: Vec<(usize, &str)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let Some(title) = line.strip_prefix("###") else {
            lines.push((at + 1, line));
            continue;
        };
        entries.extend(entry(&lines, after.take())?);
        lines.clear();
        after = delay(at + 1, title.trim())?;
    }
    entries.extend(entry(&lines, after)?);
    match entries.is_empty() {
        false => Ok(entries),
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

fn is_comment(line: &str) -> bool {
    line.starts_with('#') || line.starts_with("//")
}

fn entry(
    lines: &[(usize, &str)],
    after: Option<Duration>,
) -> Result<Option<Entry>, StormHttpError> {
    let mut lines =
        lines.iter().copied().skip_while(|(_, line)| line.trim().is_empty() || is_comment(line));
    let Some((line, first)) = lines.next() else { return Ok(None) };
    let wrong = |why: String| StormHttpError { line, why };
    let (method, target) = first.trim().split_once(' ').unwrap_or((first.trim(), ""));
    let target = target.trim();
    if method == "SCHEDULED" {
        return Ok(Some(Entry { after, event: Event::Scheduled(target.into()), line }));
    }
    if method == "WEBSOCKET" {
        return Err(wrong("WebSockets are not simulated for Workers yet".into()));
    }
    if method.is_empty() || !method.chars().all(|c| c.is_ascii_uppercase()) {
        return Err(wrong(format!(
            "`{}` is no request; write one as `POST /orders`",
            first.trim()
        )));
    }
    let target = target.strip_suffix(" HTTP/1.1").unwrap_or(target).trim_end();
    let (host, path) = address(target)
        .ok_or_else(|| wrong(format!("`{target}` is no path; it begins with `/`")))?;
    let mut request = Request::new(method, path, "");
    if let Some(host) = host {
        request.headers.set("host", host);
    }
    for (at, header) in lines.by_ref().take_while(|(_, line)| !line.trim().is_empty()) {
        if is_comment(header) {
            continue;
        }
        let Some((name, value)) =
            header.split_once(':').filter(|(name, _)| !name.trim().contains(' '))
        else {
            let why =
                format!("`{}` is no header; an empty line stands before the body", header.trim());
            return Err(StormHttpError { line: at, why });
        };
        request.headers.append(name.trim(), value.trim());
    }
    let body: Vec<&str> = lines.map(|(_, line)| line).collect();
    request.body = body.join("\n").trim_end().into();
    Ok(Some(Entry { after, event: Event::Request(request), line }))
}

/// The host and the path of a target, which may be a whole address.
fn address(target: &str) -> Option<(Option<&str>, &str)> {
    if target.starts_with('/') {
        return Some((None, target));
    }
    let rest = target.strip_prefix("http://").or_else(|| target.strip_prefix("https://"))?;
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
        let entries = parse(text).unwrap();
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
        assert!(said("WEBSOCKET /room").contains("not simulated"));
    }
}
