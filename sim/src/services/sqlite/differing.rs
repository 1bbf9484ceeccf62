//! What differs between the old and the new value of a column, for a reader of a history.

use serde_json::Value as Json;

use super::Value;

/// A space at which a history does not break a line.
pub(crate) const TIED: char = '\u{a0}';

/// What changed in a column: `status: 'queued' → 'running'`, or a part for each field when both are JSON objects or
/// arrays: `task.tries: 1 → 2`. Long texts that begin alike are shown from shortly before they differ.
pub(super) fn parts(column: &str, old: &Value, new: &Value) -> Vec<String> {
    if *old == Value::Null {
        return vec![format!("{column}={}", shown(new))];
    }
    if let (Value::Text(one), Value::Text(two)) = (old, new) {
        let parse = |text: &str| serde_json::from_str(text).ok().filter(nested);
        if let (Some(one), Some(two)) = (parse(one), parse(two)) {
            let mut parts = Vec::new();
            fields(column, Some(&one), Some(&two), &mut parts);
            return parts;
        }
    }
    let (from, to) = ends(old, new);
    vec![format!("{column}:{TIED}{from}{TIED}→{TIED}{to}")]
}

fn nested(json: &Json) -> bool {
    json.is_object() || json.is_array()
}

/// Adds a part for each field that differs.
fn fields(path: &str, old: Option<&Json>, new: Option<&Json>, parts: &mut Vec<String>) {
    match (old, new) {
        (Some(Json::Object(old)), Some(Json::Object(new))) => {
            // Most of a large document stays as it was: no path is made for that.
            for (key, value) in old.iter().filter(|(key, value)| new.get(*key) != Some(value)) {
                fields(&format!("{path}.{key}"), Some(value), new.get(key), parts);
            }
            for (key, value) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
                fields(&format!("{path}.{key}"), None, Some(value), parts);
            }
        }
        (Some(Json::Array(old)), Some(Json::Array(new))) => {
            let all = 0..old.len().max(new.len());
            for at in all.filter(|&at| old.get(at) != new.get(at)) {
                fields(&format!("{path}[{at}]"), old.get(at), new.get(at), parts);
            }
        }
        (old, new) if old == new => {}
        (Some(old), Some(new)) => parts.push(format!("{path}:{TIED}{old}{TIED}→{TIED}{new}")),
        (None, Some(new)) => parts.push(format!("{path}={new}")),
        (Some(_), None) => parts.push(format!("{path}{TIED}is{TIED}gone")),
        (None, None) => {}
    }
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
        assert_eq!(told(r#"{"a": 1}"#, r#"{"a":1}"#), "");
        assert_eq!(told(r#""accepted""#, r#""active""#), r#"value: "accepted" → "active""#);
        assert_eq!(told("[1]", "none"), "value: [1] → 'none'");
        assert_eq!(parts("value", &Value::Null, &Value::Text("a".into())), ["value='a'"]);
    }

    #[test]
    fn long_texts_are_shown_from_where_they_differ() {
        assert_eq!(
            told("0123456789abcdefghij one", "0123456789abcdefghij two"),
            "value: '…9abcdefghij one' → '…9abcdefghij two'"
        );
    }
}
