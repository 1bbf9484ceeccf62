//! How a long text becomes one that fits a line. What a reader cannot tell apart anyway goes first: long
//! hexadecimal names, UUIDs and calendar times; then the middle of quoted texts; then the end.

use std::borrow::Cow;

use crate::values::time::{EPOCH_MS, Time};

/// From so many hexadecimal digits on, eight are shown.
const HEX_MIN: usize = 16;
/// The lengths to which quoted texts are cut, in steps of four, until the line fits.
const QUOTED_MAX: usize = 80;
const QUOTED_MIN: usize = 12;
/// A number up to this long after the beginning of the run, in milliseconds, is a moment of it: 100 days.
const RUN_MS: u64 = 100 * 86_400_000;

/// `text`, or its beginning and its end when it is longer than so many bytes.
pub(super) fn middle(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let (from, to) = (text.floor_char_boundary(most / 2), text.len() - most / 2);
    Cow::Owned(format!("{}…{}", &text[..from], &text[text.ceil_char_boundary(to)..]))
}

/// `text` in at most `width` columns.
pub(super) fn fit(text: &str, width: usize) -> String {
    let short = tokens(text);
    if columns(&short) <= width {
        return short;
    }
    let limits = (QUOTED_MIN..=QUOTED_MAX).rev().step_by(4);
    let fits = limits.map(|limit| quotes(&short, limit)).find(|cut| columns(cut) <= width);
    fits.unwrap_or_else(|| all_but_code(&quotes(&short, QUOTED_MIN), width))
}

/// Cuts the end, but not the number of an error, which stands in brackets behind its text.
fn all_but_code(text: &str, width: usize) -> String {
    let code = text.rfind(" (").map(|at| text.split_at(at)).filter(|(_, code)| {
        code.ends_with(')') && code[2..code.len() - 1].bytes().all(|byte| byte.is_ascii_digit())
    });
    match code {
        Some((said, code)) if code.len() < width / 2 => end(said, width - code.len()) + code,
        _ => end(text, width),
    }
}

/// `text` on lines of at most `first` and then `next` columns, broken between words where that is possible.
pub(super) fn wrapped(text: &str, first: usize, next: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut rest: Vec<char> = text.chars().collect();
    while !rest.is_empty() {
        let width = if lines.is_empty() { first } else { next };
        let at = if rest.len() <= width {
            rest.len()
        } else {
            let space = rest[..=width].iter().rposition(|c| *c == ' ');
            space.filter(|at| *at >= width / 2).unwrap_or(width)
        };
        let after = rest.split_off(at);
        lines.push(rest.iter().collect::<String>().trim_end().to_string());
        rest = after.into_iter().skip_while(|c| *c == ' ').collect();
    }
    lines
}

/// A statement with its bindings in at most `width` columns. Lists of columns go first, and the bindings last:
/// they say which row it is about.
pub(super) fn fit_sql(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.into();
    }
    let text = quotes(&lists(text), 24);
    if columns(&text) <= width {
        return text;
    }
    let bindings = text.rfind(" [").filter(|_| text.ends_with(']'));
    match bindings.map(|at| (&text[..at], &text[at..])) {
        Some((statement, bindings)) if columns(statement) > width / 2 => {
            let room = (width / 3).max(width.saturating_sub(columns(statement)));
            let bindings = end(bindings, room);
            end(statement, width - columns(&bindings)) + &bindings
        }
        _ => end(&text, width),
    }
}

/// SQL with `…` for the columns of each `SELECT` and `INSERT`.
fn lists(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut short = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let rest = &lower[at..];
        let list = if rest.starts_with("select ") {
            rest.find(" from ").map(|to| (7, to))
        } else if rest.starts_with("insert into ") || rest.starts_with("insert or ") {
            rest.find('(').zip(rest.find(')')).map(|(from, to)| (from + 1, to))
        } else {
            None
        };
        if let Some((from, to)) = list.filter(|(from, to)| to > from) {
            short.push_str(&text[at..at + from]);
            short.push('…');
            at += to;
            continue;
        }
        let next = rest.chars().next().map_or(1, char::len_utf8);
        short.push_str(&text[at..at + next]);
        at += next;
    }
    short
}

/// How many columns a text takes in a terminal; the histories have no wide characters of their own.
pub(super) fn columns(text: &str) -> usize {
    text.chars().count()
}

/// The first `width - 1` characters and `…`, when there are more.
pub(super) fn end(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.into();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    kept.trim_end_matches([' ', '…']).to_string() + "…"
}

/// Hexadecimal names, UUIDs and calendar times in their short forms.
///
/// A hexadecimal name keeps its first eight digits. A UUID keeps its last eight, because those that are made
/// in one run share their first: they begin with the time. A moment of the run in milliseconds or seconds
/// since 1970 is shown on the clock of the first column: `@1.007s`.
pub(super) fn tokens(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        if word == 0 {
            short.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        if let Some(uuid) = rest.get(..36).filter(|uuid| is_uuid(uuid)) {
            short.push('…');
            short.push_str(&uuid[28..]);
            rest = &rest[36..];
            continue;
        }
        let (token, after) = rest.split_at(word);
        let hex = token.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        match moment(token) {
            Some(time) if !short.ends_with(['.', '-']) => short.push_str(&time),
            _ if hex && word >= HEX_MIN => {
                short.push_str(&token[..8]);
                short.push('…');
            }
            _ => short.push_str(token),
        }
        rest = after;
    }
    short
}

fn is_uuid(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

/// A number that is a moment of the run, in milliseconds or seconds since 1970.
fn moment(token: &str) -> Option<String> {
    if !token.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let unit = match token.len() {
        13 => 1,
        10 => 1_000,
        _ => return None,
    };
    let since = (token.parse::<u64>().ok()? * unit).checked_sub(EPOCH_MS)?;
    let time = Time::from_ms(since).to_string();
    (since < RUN_MS)
        .then(|| if unit == 1 { format!("@{time}") } else { format!("@{}s", since / 1_000) })
}

/// Cuts every quoted text of more than `limit` characters.
///
/// A quote opens only after a space or punctuation, so an apostrophe is none.
fn quotes(text: &str, limit: usize) -> String {
    let mut short = String::with_capacity(text.len());
    let mut chars = text.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, c)) = chars.next() {
        let opens = matches!(c, '"' | '\'') && !before.is_alphanumeric();
        short.push(c);
        before = c;
        if !opens {
            continue;
        }
        let inside = &text[at + 1..];
        let Some(length) = closing(inside, c) else { continue };
        short.push_str(&end(&inside[..length], limit));
        short.push(c);
        let after = at + 1 + length + 1;
        while chars.peek().is_some_and(|(next, _)| *next < after) {
            chars.next();
        }
    }
    short
}

/// Where a quoted text ends; a backslash hides the character after it.
fn closing(text: &str, quote: char) -> Option<usize> {
    let mut hidden = false;
    text.char_indices().find_map(|(at, c)| {
        let found = c == quote && !hidden;
        hidden = c == '\\' && !hidden;
        found.then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_hexadecimal_name_keeps_eight_digits() {
        let long = "imgcls_875edc86ebb5c55f11c0e5f2e6fb5e46 and 0123456789abcdef";
        assert_eq!(tokens(long), "imgcls_875edc86… and 01234567…");
        assert_eq!(
            tokens("0123456789abcde deadbeef"),
            "0123456789abcde deadbeef",
            "15 digits stay"
        );
    }

    #[test]
    fn a_uuid_keeps_the_end_because_the_beginning_is_the_time() {
        assert_eq!(
            tokens("GENERATION:019b76da-a802-7569-a161-e52fa3730902"),
            "GENERATION:…a3730902"
        );
        assert_eq!(tokens("é 019b76da-a802-7569-a161"), "é 019b76da-a802-7569-a161");
    }

    #[test]
    fn a_calendar_time_of_the_run_is_shown_on_the_clock_of_the_history() {
        assert_eq!(tokens("at=1767225601007 then 1767225612"), "at=@1.007s then @12s");
        assert_eq!(tokens("0.1767225601007 1467225601007"), "0.1767225601007 1467225601007");
    }

    #[test]
    fn quoted_texts_are_cut_before_the_line_is() {
        let text = format!("put \"{}\" = stored", "x".repeat(80));
        assert_eq!(fit(&text, 60), format!("put \"{}…\" = stored", "x".repeat(43)));
        assert_eq!(fit("the client's clock isn't late", 20), "the client's clock…");
        let json = format!("{{\"a\":\"{}\",\"b\":1}}", "y".repeat(50));
        assert_eq!(fit(&json, 40), format!("{{\"a\":\"{}…\",\"b\":1}}", "y".repeat(23)));
        assert_eq!(quotes(r#""a\"bcdef" 'x'"#, 4), r#""a\"…" 'x'"#);
    }

    #[test]
    fn what_must_not_be_cut_is_broken_between_words() {
        assert_eq!(wrapped("rows one two three", 8, 6), ["rows one", "two", "three"]);
        assert_eq!(wrapped("abcdefghij", 4, 3), ["abcd", "efg", "hij"]);
    }

    #[test]
    fn of_a_statement_the_table_and_the_bindings_stay() {
        let sql = "d1.run LIBRARY: INSERT INTO artifacts (id, generation_id, content_type) VALUES (?, ?, ?) ['a', 1]";
        assert_eq!(
            fit_sql(sql, 72),
            "d1.run LIBRARY: INSERT INTO artifacts (…) VALUES (?, ?, ?) ['a', 1]"
        );
        let sql = "d1.all STREAMS: SELECT m.id, m.position FROM messages AS m WHERE m.id > 7 AND m.kind = 'Output' ['g0', 0]";
        assert_eq!(
            fit_sql(sql, 60),
            "d1.all STREAMS: SELECT … FROM messages AS m WHERE… ['g0', 0]"
        );
        assert_eq!(fit_sql(sql, 200), sql);
    }

    #[test]
    fn what_still_does_not_fit_ends_in_an_ellipsis() {
        assert_eq!(fit("some words that go on", 11), "some words…");
        assert_eq!(fit("short", 5), "short");
        assert_eq!(
            fit("error: please look somewhere else (10001)", 26),
            "error: please loo… (10001)"
        );
    }
}
