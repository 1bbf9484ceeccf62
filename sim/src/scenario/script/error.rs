//! An objection to a script, with the place it is about.

use std::fmt;
use std::ops::Range;

use crate::values::printable::printable;

/// What is wrong with a script, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// The name of the file.
    pub file: String,
    /// The line, counting from 1.
    pub line: usize,
    /// The column, counting characters from 1.
    pub column: usize,
    /// What is wrong.
    pub wrong: String,
    /// What to do about it.
    pub fix: String,
    /// The part of the line around the place, and where in it the place is.
    shown: String,
    marked: Range<u16>,
}

/// How many characters of the line are shown before the place, and how many from there on.
const BEFORE: usize = 60;
const AFTER: usize = 100;
/// How many characters a message has at most. It may quote what is wrong, and that may be long.
const MESSAGE: usize = 1_500;

impl ScriptError {
    pub(super) fn new(
        file: &str,
        text: &str,
        span: Range<usize>,
        wrong: String,
        fix: String,
    ) -> ScriptError {
        let start = text.floor_char_boundary(span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line = text[line_start..].lines().next().unwrap_or("");
        // In a file with other line endings the place may be behind the last character of its line.
        let at = (start - line_start).min(line.len());
        let to = line.ceil_char_boundary(span.end.saturating_sub(line_start).clamp(at, line.len()));
        let (shown, marked) = excerpt(line, at..to);
        ScriptError {
            file: file.into(),
            line: text[..start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            wrong: shortened(wrong),
            fix: shortened(fix),
            shown,
            marked,
        }
    }
}

/// A line, cut around the place, and that place in it, counted in characters.
fn excerpt(line: &str, place: Range<usize>) -> (String, Range<u16>) {
    let (before, rest) = line.split_at(place.start);
    let marked = &line[place];
    let skipped = before.chars().count().saturating_sub(BEFORE);
    let before: String = before.chars().skip(skipped).collect();
    let before = if skipped > 0 { format!("…{before}") } else { before };
    let after: String = rest.chars().take(AFTER).collect();
    let end = if after.len() < rest.len() { "…" } else { "" };
    let marked: String = marked.chars().take(AFTER).collect();
    let columns = |text: &str| u16::try_from(printable(text).chars().count()).unwrap_or(u16::MAX);
    let at = columns(&before);
    (format!("{before}{after}{end}"), at..at.saturating_add(columns(&marked).max(1)))
}

/// The beginning and the end of a text, when it is too long for a message.
fn shortened(text: String) -> String {
    let length = text.chars().count();
    if length <= MESSAGE {
        return text;
    }
    let head: String = text.chars().take(MESSAGE / 2).collect();
    let tail: String = text.chars().skip(length - MESSAGE / 2).collect();
    format!("{head}…{tail}")
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        let file = printable(&self.file);
        writeln!(f, "{file}:{}:{}: {}", self.line, self.column, printable(&self.wrong))?;
        writeln!(f, "  {number} | {}", printable(&self.shown))?;
        let indent = " ".repeat(self.marked.start.into());
        let carets = "^".repeat(self.marked.len());
        writeln!(f, "  {margin} | {indent}{carets}")?;
        write!(f, "  {margin} = {}", printable(&self.fix))
    }
}

impl std::error::Error for ScriptError {}

/// The advice for an unknown name: the one it was probably meant to be, and all that exist.
///
/// ```
/// use thunderhead_sim::closest;
///
/// assert_eq!(
///     closest("lose_repy", ["delay", "lose_reply"]),
///     "did you mean `lose_reply`? Known are: delay, lose_reply"
/// );
/// assert_eq!(closest("gremlins", ["delay"]), "known are: delay");
/// assert_eq!(closest("gremlins", []), "there is none");
/// ```
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    advice(name, &known.into_iter().collect::<Vec<_>>())
}

fn advice(name: &str, known: &[&str]) -> String {
    if known.is_empty() {
        return "there is none".into();
    }
    let length = name.chars().count();
    let most = 1 + length / 3;
    // A difference in length takes at least so many edits. To compare only names of a similar length
    // bounds the work on a long one, because no known name is long.
    let similar =
        known.iter().filter(|candidate| candidate.chars().count().abs_diff(length) <= most);
    let near = similar.map(|candidate| (strsim::levenshtein(name, candidate), candidate)).min();
    let all = known.join(", ");
    match near {
        Some((edits, candidate)) if edits <= most => {
            format!("did you mean `{candidate}`? Known are: {all}")
        }
        _ => format!("known are: {all}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_under_the_words_it_is_about() {
        let text = "story = \"é\"\nfaults = [{ kind = \"gale\" }]\n";
        let start = text.find("\"gale\"").unwrap();
        let span = start..start + 6;
        let error = ScriptError::new("a.toml", text, span, "no gale".into(), "try rain".into());
        let expected = concat!(
            "a.toml:2:20: no gale\n",
            "  2 | faults = [{ kind = \"gale\" }]\n",
            "    |                    ^^^^^^\n",
            "    = try rain",
        );
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_place_outside_the_text_is_its_end() {
        let error = ScriptError::new("a", "x", 9..12, String::new(), String::new());
        assert_eq!((error.line, error.column), (1, 2));
        let error = ScriptError::new("a", "", 0..0, String::new(), String::new());
        assert_eq!((error.line, error.column), (1, 1));
    }

    #[test]
    fn a_long_line_is_cut_around_the_caret_and_a_long_word_in_the_message() {
        let text = format!("{}\"gale\"{}", "é".repeat(1 << 20), "x".repeat(1 << 20));
        let start = text.find('"').unwrap();
        let wrong = format!("`{text}` is no fault");
        let error = ScriptError::new("a.toml", &text, start..start + 6, wrong, "try rain".into());
        let shown = error.to_string();
        assert!(shown.len() < 5_000, "{} bytes", shown.len());
        let lines: Vec<&str> = shown.lines().collect();
        let place = lines[1].chars().position(|c| c == '"');
        assert_eq!(lines[2].chars().position(|c| c == '^'), place, "{shown}");
        assert!(lines[2].ends_with("^^^^^^") && lines[0].ends_with("xxx` is no fault"), "{shown}");
    }

    #[test]
    fn nothing_in_a_file_or_its_name_forges_a_line_of_the_message() {
        let text = "story = \"a\u{1b}[2J\u{202e}\t\u{7}\"";
        let error = ScriptError::new("a\nb.toml", text, 8..9, "no `\n\u{9b}`".into(), "\r".into());
        let shown = error.to_string();
        assert_eq!(shown.lines().count(), 4, "{shown}");
        assert!(!shown.chars().any(|c| c != '\n' && crate::values::printable::is_unprintable(c)));
    }

    #[test]
    fn the_caret_is_behind_what_is_escaped_before_it() {
        let error = ScriptError::new("a", "\tx = 1", 1..2, String::new(), String::new());
        assert_eq!(error.to_string(), "a:1:2: \n  1 | \\tx = 1\n    |   ^\n    = ");
    }

    #[test]
    fn a_long_word_is_compared_with_nothing() {
        let word = "lose_reply".repeat(200_000);
        assert_eq!(closest(&word, ["delay", "lose_reply"]), "known are: delay, lose_reply");
    }
}
