//! `@name = value`, and what `{{name}}` means.

use std::borrow::Cow;

use thunderhead_sim::SortedMap;
use thunderhead_sim::answers::Reference;

use super::StormHttpError;

/// A line that sets a variable: its name and its value.
pub fn variable(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.strip_prefix('@')?.split_once('=')?;
    let name = name.trim();
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    (!name.is_empty() && name.chars().all(plain)).then(|| (name, value.trim()))
}

/// The variables of a file, which may be made of those before them.
pub fn variables(text: &str) -> SortedMap<&str, String> {
    let mut variables = SortedMap::new();
    for (at, line) in text.lines().enumerate() {
        if let Some((name, value)) = variable(line) {
            let value =
                filled(value, &variables, at + 1).map_or(value.to_string(), Cow::into_owned);
            variables.insert(name, value);
        }
    }
    variables
}

/// A line with the values of its variables.
pub fn filled<'a>(
    line: &'a str,
    variables: &SortedMap<&str, String>,
    at: usize,
) -> Result<Cow<'a, str>, StormHttpError> {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, name, behind)) = rest.split_once("{{").and_then(|(before, inner)| {
        let (name, behind) = inner.split_once("}}")?;
        Some((before, name.trim(), behind))
    }) {
        out += before;
        match (variables.get(name), name) {
            (Some(value), _) => out += value,
            // Filled in when the answer has come.
            (None, reference) if Reference::parse(reference).is_some() => {
                out += &format!("{{{{{reference}}}}}");
            }
            // The same ones in every run: what is sent is part of a scenario.
            (None, "$guid" | "$uuid" | "$random.uuid") => {
                out += &format!("00000000-0000-4000-8000-{at:012}");
            }
            (None, "$timestamp") => out += "1767225600",
            (None, "$isoTimestamp") => out += "2026-01-01T00:00:00.000Z",
            (None, "$randomInt" | "$random.integer") => out += &format!("{}", at * 7919 % 1000),
            (None, _) => {
                let why = format!("`{{{{{name}}}}}` means nothing; write `@{name} = value` above");
                return Err(StormHttpError { line: at, why });
            }
        }
        rest = behind;
    }
    if out.is_empty() && rest.len() == line.len() {
        return Ok(Cow::Borrowed(line));
    }
    Ok(Cow::Owned(out + rest))
}
