//! How a text is cut and broken. Whole words go, or the end of a quoted text; what is open where it ends is closed.

/// How many columns a text takes in a terminal; the histories have no wide characters of their own.
pub(super) fn columns(text: &str) -> usize {
    text.chars().count()
}

/// As many words as fit into `width` columns with `…` behind them, when not all do.
///
/// ```text
/// {"name":"cat.jpg","owner":"ann"}  →  {"name":"cat.jpg",…}
/// put "a long text"                 →  put "a lon…"
/// ```
pub(super) fn end(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.into();
    }
    let chars: Vec<char> = text.chars().collect();
    let mut open = Open::default();
    let mut best = None;
    for at in 0..chars.len().min(width) {
        if open.can_end(&chars, at) {
            let closing = open.closing(&chars, at);
            if at + 1 + columns(&closing) <= width {
                best = Some((at, closing));
            }
        }
        open.pass(&chars, at);
    }
    // A word that would leave less than a third is cut itself, but no JSON.
    let (at, closing) = best
        .filter(|(at, closing)| *at >= width / 3 || !closing.is_empty())
        .unwrap_or_else(|| (width.saturating_sub(1), String::new()));
    let kept: String = chars[..at].iter().collect();
    format!("{}…{closing}", kept.trim_end_matches([' ', '…']))
}

/// The quotes and brackets that are open at a place of a text.
#[derive(Default)]
struct Open {
    /// Where the quoted text begins, its quote, and whether it is the key of a JSON object.
    quote: Option<(usize, char, bool)>,
    /// What closes the brackets, the last first.
    brackets: Vec<char>,
    hidden: bool,
    /// Where the last word begins.
    word: usize,
}

/// So much of a path is shown at least.
const PATH_MIN: usize = 10;

impl Open {
    /// Whether a text can end before the character at `at`.
    fn can_end(&self, chars: &[char], at: usize) -> bool {
        let before = at.checked_sub(1).map(|at| chars[at]);
        match self.quote {
            Some((_, _, key)) if key || self.hidden => false,
            Some((start, ..)) => at > start + 2,
            None if chars[at] == ' ' => true,
            None if !self.brackets.is_empty() => matches!(before, Some(',' | '{' | '[')),
            // Of a path the beginning says something.
            None => at >= self.word + PATH_MIN && chars[self.word] == '/',
        }
    }

    /// What closes a text that ends before the character at `at`; when fields follow, it says so.
    fn closing(&self, chars: &[char], at: usize) -> String {
        let more = self.quote.and_then(|(_, quote, _)| {
            let end = at + closing(&chars[at..], quote)?;
            (!self.brackets.is_empty() && chars.get(end + 1) == Some(&',')).then_some(",…")
        });
        let quote = self.quote.map(|(_, quote, _)| quote);
        let brackets = self.brackets.iter().rev();
        quote.into_iter().chain(more.unwrap_or("").chars()).chain(brackets.copied()).collect()
    }

    fn pass(&mut self, chars: &[char], at: usize) {
        let c = chars[at];
        if c == ' ' {
            self.word = at + 1;
        }
        if let Some((_, quote, _)) = self.quote {
            if c == quote && !self.hidden {
                self.quote = None;
            }
            self.hidden = c == '\\' && !self.hidden;
            return;
        }
        let before = at.checked_sub(1).map_or(' ', |at| chars[at]);
        match c {
            '"' | '\'' if !before.is_alphanumeric() => {
                if let Some(length) = closing(&chars[at + 1..], c) {
                    let key = c == '"' && chars.get(at + length + 2) == Some(&':');
                    self.quote = Some((at + 1, c, key));
                }
            }
            '{' if !before.is_alphanumeric() => self.brackets.push('}'),
            '[' if !before.is_alphanumeric() => self.brackets.push(']'),
            _ if self.brackets.last() == Some(&c) => drop(self.brackets.pop()),
            _ => {}
        }
    }
}

/// How long a quoted text is; a backslash hides the character after it.
fn closing(chars: &[char], quote: char) -> Option<usize> {
    let mut hidden = false;
    chars.iter().position(|c| {
        let found = *c == quote && !hidden;
        hidden = *c == '\\' && !hidden;
        found
    })
}

/// Cuts every quoted text of more than `limit` characters, but no key of a JSON object.
///
/// A quote opens only after a space or punctuation, so an apostrophe is none.
pub(super) fn quotes(text: &str, limit: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut short = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let (c, before) = (chars[at], at.checked_sub(1).map_or(' ', |at| chars[at]));
        short.push(c);
        at += 1;
        if !matches!(c, '"' | '\'') || before.is_alphanumeric() {
            continue;
        }
        let Some(length) = closing(&chars[at..], c) else { continue };
        let inside: String = chars[at..at + length].iter().collect();
        let key = c == '"' && chars.get(at + length + 1) == Some(&':');
        short.push_str(&if key { inside } else { middle(&inside, limit) });
        short.push(c);
        at += length + 1;
    }
    short
}

/// The first characters of a quoted text, without half of an escape.
fn middle(text: &str, limit: usize) -> String {
    if columns(text) <= limit {
        return text.into();
    }
    let kept: String = text.chars().take(limit.saturating_sub(1)).collect();
    kept.trim_end_matches([' ', '…', '\\']).to_string() + "…"
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
            let comma = rest[..width].iter().rposition(|c| *c == ',').map(|at| at + 1);
            space.into_iter().chain(comma).max().filter(|at| *at >= width / 2).unwrap_or(width)
        };
        let after = rest.split_off(at);
        lines.push(rest.iter().collect::<String>().trim_end().to_string());
        rest = after.into_iter().skip_while(|c| *c == ' ').collect();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_are_dropped_and_what_is_open_is_closed() {
        assert_eq!(end("some words that go on", 14), "some words…");
        assert_eq!(end("short", 5), "short");
        assert_eq!(end("wonderful", 5), "wond…", "one word is cut");
        assert_eq!(end(r#"put {"name":"cat","owner":"ann"} now"#, 24), r#"put {"name":"cat",…}"#);
        let fields = r#"put {"name":"something","owner":"ann"}"#;
        assert_eq!(end(fields, 25), r#"put {"name":"somethi…",…}"#);
        assert_eq!(end("GET /results/a/long/path", 18), "GET /results/a/lo…");
        assert_eq!(end("run ['one', 'two', 'three']", 22), "run ['one', 'two',…]");
        assert_eq!(end(r#"say "something long" now"#, 16), r#"say "something…""#);
        assert_eq!(end(r#"{"aLongKeyOfIt":1,"b":2}"#, 12), "{…}", "no key is cut");
        assert_eq!(end("the client's clock isn't late", 20), "the client's clock…");
    }

    #[test]
    fn quoted_texts_are_cut_and_keys_are_not() {
        assert_eq!(quotes(r#""a\"bcdef" 'x'"#, 4), r#""a\"…" 'x'"#);
        assert_eq!(
            quotes(r#"{"timeoutSeconds":"twelve hundred"}"#, 8),
            r#"{"timeoutSeconds":"twelve…"}"#
        );
    }

    #[test]
    fn what_must_not_be_cut_is_broken_between_words() {
        assert_eq!(wrapped("rows one two three", 8, 6), ["rows one", "two", "three"]);
        assert_eq!(wrapped("abcdefghij", 4, 3), ["abcd", "efg", "hij"]);
        assert_eq!(wrapped("[1234,5678,9]", 9, 9), ["[1234,", "5678,9]"]);
    }
}
