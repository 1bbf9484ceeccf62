//! The one rule for text that comes from outside and is printed: no character of it moves the cursor, rings,
//! ends the line, or changes the direction in which the rest is read.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character has to be escaped wherever it is printed.
///
/// These are the control characters, the separators of lines and paragraphs, the marks that change the
/// direction of text, and those without any width that hide in a name. The joiners U+200C and U+200D are
/// not among them, because words and emoji need them.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// `text` on one line, with every unprintable character as Rust writes it: `\n`, `\u{1b}`.
///
/// ```
/// use thunderhead_sim::printable;
///
/// assert_eq!(printable("cat\u{1b}[2J\n.jpg"), "cat\\u{1b}[2J\\n.jpg");
/// assert_eq!(printable("/é 猫"), "/é 猫");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_unprintable(c).then(|| c.escape_default().to_string()))
}

/// Like [`printable`], for text that we have put together and that has lines of its own.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| (c != '\n' && is_unprintable(c)).then(|| c.escape_default().to_string()))
}

/// A JSON document with every unprintable character in its strings as JSON writes it. What it says stays
/// the same; line breaks between its values stay too.
pub fn printable_json(document: &str) -> Cow<'_, str> {
    escaped(document, |c| {
        (c != '\n' && is_unprintable(c)).then(|| {
            let mut units = [0; 2];
            let mut escape = String::new();
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(escape, "\\u{unit:04x}");
            }
            escape
        })
    })
}

/// The first unprintable character of a text.
///
/// ```
/// use thunderhead_sim::unprintable;
///
/// assert_eq!(unprintable("/é → 猫\u{1b}[2J"), Some('\u{1b}'));
/// assert_eq!(unprintable("/é → 猫"), None);
/// ```
pub fn unprintable(text: &str) -> Option<char> {
    let mut rest = text;
    // Histories have megabytes, and nearly all of them are ASCII, which is passed over by bytes.
    while let Some(at) = rest.bytes().position(|byte| !(b' '..=b'~').contains(&byte)) {
        let c = rest[at..].chars().next()?;
        if is_unprintable(c) {
            return Some(c);
        }
        rest = &rest[at + c.len_utf8()..];
    }
    None
}

fn escaped(text: &str, escape: impl Fn(char) -> Option<String>) -> Cow<'_, str> {
    if unprintable(text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match escape(c) {
            Some(escape) => out += &escape,
            None => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_rings_breaks_or_turns_is_escaped_and_what_reads_stays() {
        let forged = "a\nb\r\u{1b}[31m\u{7}\0\u{7f}\u{85}\u{9b}\u{202e}\u{2066}\u{200f}\u{2028}\u{feff}\u{e0041}\t";
        let shown = printable(forged);
        assert!(!shown.chars().any(is_unprintable), "{shown}");
        assert!(shown.starts_with("a\\nb\\r\\u{1b}[31m\\u{7}\\u{0}"), "{shown}");
        for text in ["", "plain", "é ñ 猫 👩\u{200d}👧 עברית", "back\\slash"] {
            assert!(matches!(printable(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn lines_of_our_own_stay_lines() {
        assert_eq!(printable_lines("one\ntwo\u{7}\r\n"), "one\ntwo\\u{7}\\r\n");
    }

    #[test]
    fn a_json_document_says_the_same_after_escaping() {
        let value = serde_json::json!({ "a\u{202e}": "\u{9b}\u{e0041}\n\u{7f}", "b": [1, "é"] });
        for document in [value.to_string(), format!("{value:#}")] {
            let shown = printable_json(&document);
            assert!(!shown.chars().any(|c| c != '\n' && is_unprintable(c)), "{shown}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
    }
}
