//! Changes to a text that leave its lines where they are.

use std::cmp::Reverse;

use oxc_span::Span;

/// What takes the place of a part of the text.
#[derive(Clone, Debug)]
enum Instead {
    /// Spaces.
    Blank,
    /// An empty statement and spaces: a line before it that has no semicolon ends there, as it did.
    Nothing,
    /// Other text, and the line breaks of what it replaces.
    Text(String),
}

/// A text and the changes to it.
#[derive(Debug)]
pub struct Edits<'a> {
    source: &'a str,
    made: Vec<(Span, Instead)>,
}

impl<'a> Edits<'a> {
    pub fn new(source: &'a str) -> Edits<'a> {
        Edits { source, made: Vec::new() }
    }

    /// Puts spaces in its place.
    pub fn blank(&mut self, span: Span) {
        self.made.push((span, Instead::Blank));
    }

    /// Takes a statement or a member of a class out.
    pub fn remove(&mut self, span: Span) {
        self.made.push((span, Instead::Nothing));
    }

    pub fn replace(&mut self, span: Span, text: impl Into<String>) {
        self.made.push((span, Instead::Text(text.into())));
    }

    pub fn insert(&mut self, at: u32, text: impl Into<String>) {
        self.replace(Span::new(at, at), text);
    }

    /// Puts spaces in the place of every one of these words.
    pub fn blank_words(&mut self, within: Span, words: &[&str]) {
        let mut at = within.start;
        loop {
            at = self.next(at);
            let word = self.word(at);
            if at >= within.end {
                return;
            }
            let end = at + u32::try_from(word.len()).unwrap_or(0);
            if words.contains(&word) && end <= within.end {
                self.blank(Span::new(at, end));
            }
            at = if word.is_empty() { at + self.letter(at) } else { end };
        }
    }

    /// Puts a space in the place of this sign if it is the next one behind `at`, closing brackets apart.
    pub fn blank_sign(&mut self, at: u32, sign: char) {
        let mut at = self.next(at);
        while self.text(at).starts_with(']') {
            at = self.next(at + 1);
        }
        if self.text(at).starts_with(sign) {
            self.blank(Span::new(at, at + 1));
        }
    }

    /// The same, and the sign right behind `span`.
    pub fn blank_with_comma(&mut self, span: Span) {
        self.blank(span);
        self.blank_sign(span.end, ',');
    }

    pub fn text(&self, at: u32) -> &'a str {
        self.source.get(at as usize..).unwrap_or_default()
    }

    fn letter(&self, at: u32) -> u32 {
        self.text(at).chars().next().map_or(1, |c| u32::try_from(c.len_utf8()).unwrap_or(1))
    }

    fn word(&self, at: u32) -> &'a str {
        let text = self.text(at);
        let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
        &text[..end.unwrap_or(text.len())]
    }

    /// Where the next sign is that is neither space nor comment.
    pub fn next(&self, mut at: u32) -> u32 {
        loop {
            let text = self.text(at);
            let rest = text.trim_start();
            let comment = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                0
            };
            let passed = text.len() - rest.len() + comment;
            at += u32::try_from(passed).unwrap_or(u32::MAX);
            if comment == 0 {
                return at;
            }
        }
    }

    /// The text with all changes. Of changes within each other the outermost counts.
    pub fn apply(mut self) -> String {
        self.made.sort_by_key(|(span, _)| (span.start, span.start != span.end, Reverse(span.end)));
        let mut out = String::with_capacity(self.source.len());
        let mut at = 0;
        for (span, instead) in &self.made {
            if span.start < at {
                continue;
            }
            out += &self.source[at as usize..span.start as usize];
            let replaced = &self.source[span.start as usize..span.end as usize];
            match instead {
                Instead::Blank => out.extend(replaced.chars().map(blank)),
                Instead::Nothing => {
                    out.push(';');
                    out.extend(replaced.chars().skip(1).map(blank));
                }
                Instead::Text(text) => {
                    out += text;
                    out.extend(replaced.chars().filter(|c| *c == '\n'));
                }
            }
            at = span.end;
        }
        out + &self.source[at as usize..]
    }
}

fn blank(c: char) -> char {
    match c {
        '\n' | '\r' => c,
        _ => ' ',
    }
}
