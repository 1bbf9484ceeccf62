//! The fields of one table of a script, each with its place in the text.

use std::ops::Range;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ScriptError, closest};
use super::words;
use crate::scenario::limits::{self, Limit};

/// The text being read: what objections point into.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl Text<'_> {
    pub fn object(
        self,
        span: Range<usize>,
        wrong: impl Into<String>,
        fix: impl Into<String>,
    ) -> ScriptError {
        ScriptError::new(self.file, self.text, span, wrong.into(), fix.into())
    }
}

/// Fields with an earlier name that is still read, and that name.
const EARLIER_NAMES: [(&str, &str); 4] = [
    ("requests", "send"),
    ("drawn_faults", "storm"),
    ("storm_ends_at", "calm"),
    ("promise", "invariant"),
];

/// A table whose keys are all known.
pub(super) struct Fields<'a> {
    text: Text<'a>,
    table: &'a DeTable<'a>,
    span: Range<usize>,
    /// What this table describes, for messages.
    what: &'static str,
}

/// A value with its place.
#[derive(Clone)]
pub(super) struct Found<T> {
    pub value: T,
    pub span: Range<usize>,
}

impl<'a> Fields<'a> {
    /// Refuses keys that are not in `known`.
    pub fn new(
        text: Text<'a>,
        table: &'a DeTable<'a>,
        span: Range<usize>,
        what: &'static str,
        known: &[&str],
    ) -> Result<Fields<'a>, ScriptError> {
        // Of several unknown keys the first in the file is reported, whatever the map's order.
        let earlier = EARLIER_NAMES.iter().filter(|(name, _)| known.contains(name));
        // Both names of one field in one table would leave open which of them counts.
        let readable: Vec<&str> = earlier
            .filter(|(name, _)| !table.contains_key(*name))
            .map(|(_, earlier)| *earlier)
            .collect();
        let unknown = table.keys().filter(|key| {
            let key = &&**key.get_ref();
            !known.contains(key) && !readable.contains(key)
        });
        if let Some(key) = unknown.min_by_key(|key| key.span().start) {
            let name: &str = key.get_ref();
            let wrong = format!("{what} has no field `{name}`");
            return Err(text.object(key.span(), wrong, closest(name, known.iter().copied())));
        }
        Ok(Fields { text, table, span, what })
    }

    /// Like `new`, for a value that should be a table.
    pub fn of(
        text: Text<'a>,
        value: &'a Spanned<DeValue<'a>>,
        what: &'static str,
        known: &[&str],
    ) -> Result<Fields<'a>, ScriptError> {
        match value.get_ref().as_table() {
            Some(table) => Fields::new(text, table, value.span(), what, known),
            None => {
                let wrong = format!("{what} is a table, not {}", kind(value));
                Err(text.object(value.span(), wrong, "write it as { name = value, … }"))
            }
        }
    }

    pub fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// The place of a field's value, or of the whole table.
    pub fn span(&self, name: &str) -> Range<usize> {
        self.value(name).map_or(self.span.clone(), Spanned::span)
    }

    pub fn object(
        &self,
        name: &str,
        wrong: impl Into<String>,
        fix: impl Into<String>,
    ) -> ScriptError {
        self.text.object(self.span(name), wrong, fix)
    }

    /// A text of any length; others are names.
    pub fn long_string(&self, name: &str) -> Result<Option<Found<&'a str>>, ScriptError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        match value.get_ref().as_str() {
            Some(text) => Ok(Some(Found { value: text, span: value.span() })),
            None => {
                let wrong = format!("`{name}` is a string, not {}", kind(value));
                Err(self.object(name, wrong, hint(name)))
            }
        }
    }

    /// A name, or anything else that is not long.
    pub fn string(&self, name: &str) -> Result<Option<Found<&'a str>>, ScriptError> {
        let found = self.long_string(name)?;
        match found.as_ref().map(|found| found.value.len()) {
            Some(length) if !limits::NAME.allows(length) => {
                let wrong = format!("`{name}` has {length} bytes");
                Err(self.object(name, wrong, format!("write at most {}", limits::NAME.most)))
            }
            _ => Ok(found),
        }
    }

    /// A string that must be there.
    pub fn required(&self, name: &str) -> Result<Found<&'a str>, ScriptError> {
        self.string(name)?.ok_or_else(|| self.missing(name))
    }

    /// A text of any length that must be there.
    pub fn required_long(&self, name: &str) -> Result<Found<&'a str>, ScriptError> {
        self.long_string(name)?.ok_or_else(|| self.missing(name))
    }

    fn missing(&self, name: &str) -> ScriptError {
        let start = self.span.start;
        let wrong = format!("{} has no `{name}`", self.what);
        self.text.object(start..start, wrong, format!("add {name} = …: {}", hint(name)))
    }

    /// A string that `parse` understands.
    pub fn parsed<T>(
        &self,
        name: &str,
        advice: &str,
        parse: impl FnOnce(&'a str) -> Result<T, String>,
    ) -> Result<Option<T>, ScriptError> {
        match self.string(name)? {
            None => Ok(None),
            Some(found) => {
                parse(found.value).map(Some).map_err(|wrong| self.object(name, wrong, advice))
            }
        }
    }

    pub fn duration(&self, name: &str) -> Result<Option<Duration>, ScriptError> {
        self.parsed(name, words::DURATION, |text| match words::duration(text)? {
            long if long > limits::LONGEST => {
                Err(format!("`{text}` is too long: {} days at most", limits::DAYS.most))
            }
            duration => Ok(duration),
        })
    }

    /// A whole number up to a ceiling.
    pub fn number_within(&self, name: &str, limit: Limit) -> Result<Option<u32>, ScriptError> {
        let number: Option<u32> = self.number(name)?;
        match number.filter(|number| u64::from(*number) > limit.most) {
            Some(number) => {
                let wrong = format!("`{name}` cannot be {number}");
                Err(self.object(name, wrong, format!("write at most {}", limit.most)))
            }
            None => Ok(number),
        }
    }

    /// A whole number that is not negative.
    pub fn number<T: TryFrom<u64>>(&self, name: &str) -> Result<Option<T>, ScriptError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let digits = value.get_ref().as_integer();
        let number = digits.and_then(|int| u64::from_str_radix(int.as_str(), int.radix()).ok());
        match number.and_then(|number| T::try_from(number).ok()) {
            Some(number) => Ok(Some(number)),
            None => {
                let wrong = match digits {
                    Some(int) => format!("`{name}` cannot be {}", int.as_str()),
                    None => format!("`{name}` is a whole number, not {}", kind(value)),
                };
                Err(self.object(name, wrong, "write a whole number that is not negative"))
            }
        }
    }

    /// The entries of a list; none when the field is absent.
    pub fn list(
        &self,
        name: &str,
        limit: Limit,
    ) -> Result<Vec<&'a Spanned<DeValue<'a>>>, ScriptError> {
        let Some(value) = self.value(name) else { return Ok(Vec::new()) };
        match value.get_ref().as_array() {
            Some(array) if !limit.allows(array.len()) => {
                let wrong = format!("`{name}` has {} entries", array.len());
                let fix = format!("write at most {}", limit.most);
                let start = value.span().start;
                Err(self.text.object(start..start + 1, wrong, fix))
            }
            Some(array) => Ok(array.iter().collect()),
            None => {
                let wrong = format!("`{name}` is a list, not {}", kind(value));
                Err(self.object(name, wrong, format!("write {name} = [ … ]")))
            }
        }
    }

    /// The entries of a list of strings.
    pub fn strings(&self, name: &str, limit: Limit) -> Result<Vec<Found<&'a str>>, ScriptError> {
        let entry = |value: &'a Spanned<DeValue<'a>>| match value.get_ref().as_str() {
            Some(text) => Ok(Found { value: text, span: value.span() }),
            None => {
                let wrong = format!("`{name}` lists strings, not {}", kind(value));
                Err(self.text.object(value.span(), wrong, "put it in quotes"))
            }
        };
        self.list(name, limit)?.into_iter().map(entry).collect()
    }

    /// The value of a field, by its name or its earlier name.
    pub fn value(&self, name: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.get(name).or_else(|| {
            let (_, earlier) = EARLIER_NAMES.iter().find(|(now, _)| *now == name)?;
            self.table.get(*earlier)
        })
    }
}

/// What a value is, for messages.
pub(super) fn kind(value: &Spanned<DeValue>) -> &'static str {
    match value.get_ref() {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "a truth value",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// What belongs into a field of strings.
fn hint(name: &str) -> &'static str {
    match name {
        "story" => "one sentence in quotes that says what happens",
        "at" | "by" | "storm_ends_at" => words::DURATION,
        "chance" => words::CHANCE,
        "fetch" => words::FETCH,
        "on" => "a call such as \"r2.put photos/*\", or a worker for a crash",
        "kind" => "the name of a fault; `thunderhead list` has them all",
        "trace" | "message" | "promise" | "strategy" | "thunderhead" => {
            "the file may have been cut off"
        }
        _ => "a name in quotes",
    }
}
