//! How a long text becomes one that fits a line. What a reader cannot tell apart anyway goes first (`tokens.rs`);
//! then the version of an object; then the middle of quoted texts; then the end (`cut.rs`).

use std::borrow::Cow;

use super::tokens::tokens;
use super::truncate::{columns, end, quotes};

/// The lengths to which quoted texts are cut, in steps of four, until the line fits.
const QUOTED_MAX: usize = 80;
const QUOTED_MIN: usize = 12;
/// The bindings of a statement are not cut to fewer columns.
const BINDINGS_MIN: usize = 8;

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
    let short = without_versions(&short);
    if columns(&short) <= width {
        return short;
    }
    let limits = (QUOTED_MIN..=QUOTED_MAX).rev().step_by(4);
    let fits = limits.map(|limit| quotes(&short, limit)).find(|cut| columns(cut) <= width);
    fits.unwrap_or_else(|| all_but_code(&quotes(&short, QUOTED_MIN), width))
}

/// The version of an object says nothing that its ETag does not.
fn without_versions(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').filter(|word| !word.starts_with("version=")).collect();
    words.join(" ")
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
        Some((statement, bindings)) => {
            let spare = width.saturating_sub(columns(table(statement)) + 1);
            if spare < BINDINGS_MIN {
                return with_table(statement, width);
            }
            let room = (width / 3).max(width.saturating_sub(columns(statement)));
            let bindings = end(bindings, room.min(spare));
            with_table(statement, width.saturating_sub(columns(&bindings))) + &bindings
        }
        None => with_table(&text, width),
    }
}

/// Cuts the end, and the name of the table only when it does not fit.
fn with_table(statement: &str, width: usize) -> String {
    if columns(table(statement)) < width {
        return end(statement, width);
    }
    let kept: String = statement.chars().take(width.saturating_sub(1)).collect();
    kept + "…"
}

/// A statement up to its table: `d1.run LIBRARY: INSERT INTO artifacts`.
pub(super) fn table(statement: &str) -> &str {
    let lower = statement.to_ascii_lowercase();
    let marks = [" into ", " from ", " update ", " exists "];
    let from = marks.iter().filter_map(|mark| lower.find(mark).map(|at| at + mark.len())).min();
    let from = from.unwrap_or_else(|| lower.find(": ").map_or(0, |at| at + 2));
    let to = lower[from..].find([' ', '(']).map_or(lower.len(), |at| from + at);
    &statement[..to]
}

/// SQL with `…` for the columns of each `SELECT`, `INSERT` and `UPDATE`.
pub(super) fn lists(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut short = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let rest = &lower[at..];
        let list = if rest.starts_with("select ") {
            rest.find(" from ").map(|to| (7, to))
        } else if rest.starts_with("insert into ") || rest.starts_with("insert or ") {
            rest.find('(').zip(rest.find(')')).map(|(from, to)| (from + 1, to))
        } else if rest.starts_with("update ") {
            rest.find(" set ").map(|set| set + 5).zip(rest.find(" where "))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_texts_are_cut_before_the_line_is() {
        let text = format!("put \"{}\" = stored", "x".repeat(80));
        assert_eq!(fit(&text, 60), format!("put \"{}…\" = stored", "x".repeat(43)));
        let json = format!("{{\"a\":\"{}\",\"b\":1}}", "y".repeat(50));
        assert_eq!(fit(&json, 40), format!("{{\"a\":\"{}…\",\"b\":1}}", "y".repeat(23)));
    }

    #[test]
    fn of_an_object_the_version_goes_first() {
        let stored = "stored etag=f97c5d29… version=910a2dec…";
        assert_eq!(fit(stored, 39), stored);
        assert_eq!(fit(stored, 38), "stored etag=f97c5d29…");
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
        let sql = "d1.batch ACCOUNTS: insert into checkouts (id, guest) select 1, 2 ['g0/start/1', 'ann']";
        assert_eq!(fit_sql(sql, 58), "d1.batch ACCOUNTS: insert into checkouts… ['g0/start/1',…]");
        let sql = "d1.run STREAMS: UPDATE messages SET processed = 1, processed_at = ?2 WHERE id = ?1 ['g0', 0]";
        assert_eq!(
            fit_sql(sql, 80),
            "d1.run STREAMS: UPDATE messages SET … WHERE id = ?1 ['g0', 0]"
        );
    }

    #[test]
    fn the_number_of_an_error_is_not_cut() {
        assert_eq!(fit("error: please look somewhere else (10001)", 26), "error: please… (10001)");
    }
}
