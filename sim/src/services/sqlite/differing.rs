//! What differs between the old and the new value of a column, for a reader of a history.

use serde_json::Value as Json;
use serde_json::value::RawValue;

use super::Value;
use crate::values::sorted_map::SortedMap;

/// A space at which a history does not break a line.
pub(crate) const TIED: char = '\u{a0}';

/// What changed in a column: `status: 'queued' → 'running'`, or a part for each field when both are JSON objects or
/// arrays: `task.tries: 1 → 2`. Long texts that begin alike are shown from shortly before they differ.
pub(super) fn parts(column: &str, old: &Value, new: &Value) -> Vec<String> {
    if *old == Value::Null {
        return vec![format!("{column}={}", shown(new))];
    }
    let mut parts = Vec::new();
    if let (Value::Text(one), Value::Text(two)) = (old, new)
        && fields(column, one, two, DEEPEST, &mut parts)
    {
        return parts;
    }
    let (from, to) = ends(old, new);
    vec![format!("{column}:{TIED}{from}{TIED}→{TIED}{to}")]
}

/// So many levels of a document are opened, each in a call of a function.
const DEEPEST: usize = 100;

/// Adds a part for each field that differs, if both texts are JSON objects or both are arrays.
fn fields(path: &str, old: &str, new: &str, deep: usize, parts: &mut Vec<String>) -> bool {
    if deep == 0 {
        return false;
    }
    if let (Some(old), Some(mut new)) = (object(old), object(new)) {
        for (key, value) in old {
            let path = || format!("{path}.{key}");
            match new.remove(&key) {
                Some(new) => field(path, value, new, deep - 1, parts),
                None => parts.push(gone(&path())),
            }
        }
        parts.extend(new.iter().map(|(key, value)| format!("{path}.{key}={}", json(value))));
        return true;
    }
    let (Some(old), Some(new)) = (array(old), array(new)) else { return false };
    for (at, (old, new)) in old.iter().zip(&new).enumerate() {
        field(|| format!("{path}[{at}]"), old, new, deep - 1, parts);
    }
    let shared = old.len().min(new.len());
    parts.extend((shared..old.len()).map(|at| gone(&format!("{path}[{at}]"))));
    let added = new.iter().enumerate().skip(shared);
    parts.extend(added.map(|(at, value)| format!("{path}[{at}]={}", json(value))));
    true
}

/// Adds what differs in a field. Most of a large document stays as it was, and is not parsed.
fn field(
    path: impl Fn() -> String,
    old: &RawValue,
    new: &RawValue,
    deep: usize,
    parts: &mut Vec<String>,
) {
    if old.get() == new.get() || fields(&path(), old.get(), new.get(), deep, parts) {
        return;
    }
    let (old, new) = (json(old), json(new));
    if old != new {
        parts.push(format!("{}:{TIED}{old}{TIED}→{TIED}{new}", path()));
    }
}

fn gone(path: &str) -> String {
    format!("{path}{TIED}is{TIED}gone")
}

fn object(text: &str) -> Option<SortedMap<String, &RawValue>> {
    text.trim_start().starts_with('{').then(|| serde_json::from_str(text).ok())?
}

fn array(text: &str) -> Option<Vec<&RawValue>> {
    text.trim_start().starts_with('[').then(|| serde_json::from_str(text).ok())?
}

/// A part of a document without the spaces between its values. What nests too deeply to be parsed stays as it is.
fn json(value: &RawValue) -> String {
    serde_json::from_str::<Json>(value.get())
        .map_or_else(|_| value.get().to_string(), |json| json.to_string())
}

/// Both values, without the beginning that they share when it is long.
fn ends(old: &Value, new: &Value) -> (String, String) {
    /// What is shown before the difference, and from what length on the rest is left out.
    const KEPT: usize = 12;
    const LONG: usize = 20;
    let both = || (shown(old), shown(new));
    let (Value::Text(one), Value::Text(two)) = (old, new) else { return both() };
    let shared = one.chars().zip(two.chars()).take_while(|(one, two)| one == two).count();
    if shared < LONG {
        return both();
    }
    let rest = |text: &str| {
        let rest: String = text.chars().skip(shared - KEPT).collect();
        format!("'…{rest}'")
    };
    (rest(one), rest(two))
}

/// A value; a text that is JSON brings its own quotes.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Text(text)
            if text.starts_with(['{', '[', '"'])
                && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() =>
        {
            text.to_string()
        }
        value => format!("{value:#}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(old: &str, new: &str) -> String {
        parts("value", &Value::Text(old.into()), &Value::Text(new.into()))
            .join(" ")
            .replace(TIED, " ")
    }

    #[test]
    fn of_two_json_texts_the_fields_that_differ_are_shown() {
        assert_eq!(
            told(
                r#"{"id":"a","tasks":[{"status":"pending","n":1}]}"#,
                r#"{"id":"a","tasks":[{"status":"submitted","n":1}],"url":"/a"}"#,
            ),
            r#"value.tasks[0].status: "pending" → "submitted" value.url="/a""#
        );
        assert_eq!(
            told(r#"{"a":1,"b":[1,2]}"#, r#"{"b":[1]}"#),
            "value.a is gone value.b[1] is gone"
        );
        assert_eq!(told("[1]", r#"[ 2, {"a": 3} ]"#), r#"value[0]: 1 → 2 value[1]={"a":3}"#);
        assert_eq!(told(r#"{"a": 1}"#, r#"{"a":1}"#), "");
        assert_eq!(told(r#""accepted""#, r#""active""#), r#"value: "accepted" → "active""#);
        assert_eq!(told("[1]", "none"), "value: [1] → 'none'");
        assert_eq!(parts("value", &Value::Null, &Value::Text("a".into())), ["value='a'"]);
    }

    #[test]
    fn a_document_of_any_depth_is_compared() {
        let nested =
            |levels: usize, n: u32| format!("{}{n}{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(told(&nested(3, 1), &nested(3, 2)), "value[0][0][0]: 1 → 2");
        let deep = told(&nested(100_000, 1), &nested(100_000, 2));
        assert!(deep.starts_with("value[0][0]"), "{}", &deep[..40]);
    }

    #[test]
    fn long_texts_are_shown_from_where_they_differ() {
        assert_eq!(
            told("0123456789abcdefghij one", "0123456789abcdefghij two"),
            "value: '…9abcdefghij one' → '…9abcdefghij two'"
        );
    }
}
