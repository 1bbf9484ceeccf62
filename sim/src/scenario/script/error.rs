//! An objection to a script, with the place it is about.

use std::fmt;
use std::ops::Range;

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
    shown: String,
    width: usize,
}

impl ScriptError {
    pub(super) fn new(
        file: &str,
        text: &str,
        span: Range<usize>,
        wrong: String,
        fix: String,
    ) -> ScriptError {
        let start = (0..=span.start.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
        let start = start.unwrap_or(0);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let shown = text[line_start..].lines().next().unwrap_or("").to_string();
        let column = text[line_start..start].chars().count() + 1;
        let end = span.end.clamp(start, line_start + shown.len().max(start - line_start));
        let width = text.get(start..end).map_or(1, |marked| marked.chars().count().max(1));
        let line = text[..start].matches('\n').count() + 1;
        ScriptError { file: file.into(), line, column, wrong, fix, shown, width }
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        writeln!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.wrong)?;
        // A tab in front of the caret keeps it under its character whatever a tab's width is.
        let before = self.shown.chars().take(self.column - 1);
        let indent: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        writeln!(f, "  {number} | {}", self.shown)?;
        writeln!(f, "  {margin} | {indent}{}", "^".repeat(self.width))?;
        write!(f, "  {margin} = {}", self.fix)
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
/// ```
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let near =
        known.iter().map(|candidate| (strsim::levenshtein(name, candidate), candidate)).min();
    let all = known.join(", ");
    match near {
        Some((edits, candidate)) if edits <= 1 + name.chars().count() / 3 => {
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
}
