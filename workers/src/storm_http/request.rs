//! One entry of the file: the line that says what it is, headers and a body.

use std::borrow::Cow;
use std::time::Duration;

use thunderhead_sim::{Conversation, Headers, Request, WEBSOCKET, answers};

use super::variables::variable;
use super::{Entry, Event, Part, StormHttpError};
use crate::email::{self, EMAIL};
use crate::message::{self, QUEUE};
use crate::outside::Described;

fn is_comment(line: &str) -> bool {
    line.starts_with('#') || line.starts_with("//")
}

/// Whether a line says nothing about a request but its name.
fn says_nothing(line: &str) -> bool {
    line.trim().is_empty() || is_comment(line) || variable(line).is_some()
}

/// The name in a comment `# @name order`.
fn name(line: &str) -> Option<String> {
    let comment = line.strip_prefix('#').or_else(|| line.strip_prefix("//"))?;
    let name = comment.trim().strip_prefix("@name")?;
    name.starts_with(char::is_whitespace).then(|| name.trim().to_string())
}

/// What the lines between two lines `###` say; nothing if there are only comments.
pub fn part(
    lines: &[(usize, Cow<str>)],
    after: Option<Duration>,
) -> Result<Option<Part>, StormHttpError> {
    let lines = lines.iter().map(|(at, line)| (*at, &**line));
    let name =
        lines.clone().map_while(|(_, line)| says_nothing(line).then_some(line)).find_map(name);
    let entry = |event, line| Part::Entry(Entry { after, name, ..Entry::new(event, line) });
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
    let has_scheme = |text: &str| text.split_once("://").is_some_and(|(of, _)| !of.contains(' '));
    let (method, target) = match first.starts_with('/') || has_scheme(first) {
        // An address alone is asked for.
        true => ("GET", first),
        false => first.split_once(' ').unwrap_or((first, "")),
    };
    let target = target.trim();
    match method {
        "SCHEDULED" => {
            return Ok(Some(entry(Event::Scheduled(target.into()), line)));
        }
        EMAIL => {
            let headers = headers(&mut lines)?;
            let text = joined(lines, "\r\n");
            let request = email::request(target, headers, &text, line).map_err(wrong)?;
            return Ok(Some(entry(Event::Email(request), line)));
        }
        QUEUE => {
            let headers = headers(&mut lines)?;
            let request = message::request(target, headers, &joined(lines, "\n")).map_err(wrong)?;
            return Ok(Some(entry(Event::Message(request), line)));
        }
        "OUTSIDE" => {
            return outside(line, target, lines).map(|described| Some(Part::Outside(described)));
        }
        _ => {}
    }
    if method.is_empty() || !method.chars().all(|c| c.is_ascii_uppercase()) {
        return Err(wrong(format!("`{first}` is no request; write one as `POST /orders`")));
    }
    let target = target.rsplit_once(" HTTP/").map_or(target, |(target, _)| target).trim_end();
    let request = Request::new(method, target, "");
    // An answer may bring the whole address.
    let is_path = target.starts_with('/') || target.starts_with("{{");
    let addressed = if is_path { Some(request) } else { request.addressed(target) };
    let mut request =
        addressed.ok_or_else(|| wrong(format!("`{target}` is no path; it begins with `/`")))?;
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
    Ok(Some(entry(Event::Request(request), line)))
}

/// What a host outside answers, which is the same whatever was answered before.
fn outside<'a>(
    line: usize,
    target: &str,
    mut lines: impl Iterator<Item = (usize, &'a str)>,
) -> Result<Described, StormHttpError> {
    let wrong = |why: String| StormHttpError { line, why };
    let mut described = Described::parse(target).map_err(wrong)?;
    described.headers = headers(&mut lines)?;
    let text = joined(lines, "\n");
    if let [used, ..] = &answers::names(&Request::new("GET", "/", &*text))[..] {
        return Err(wrong(format!("a host outside does not know the answer to `{used}`")));
    }
    described.body = text.into();
    Ok(described)
}

/// The lines as one text, without the empty ones at its end.
fn joined<'a>(lines: impl Iterator<Item = (usize, &'a str)>, end: &str) -> String {
    let lines: Vec<&str> = lines.map(|(_, line)| line).collect();
    lines.join(end).trim_end().to_string()
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
