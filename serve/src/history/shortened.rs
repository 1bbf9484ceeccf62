//! Events without the bytes of pictures, which would make a page larger than what it is about.

use serde_json::Value;
use thunderhead_sim::Body;

/// So many bytes of a text are kept.
const TEXT_MOST: usize = 600;

/// Replaces bytes by what they are, and cuts long texts.
pub fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > TEXT_MOST => {
            let size = text.len();
            let mut end = TEXT_MOST;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
            *text += &format!("… ({size} bytes)");
        }
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(fields)
            if fields.len() == 1 && fields.get("hex").is_some_and(Value::is_string) =>
        {
            let body = serde_json::from_value::<Body>(value.take());
            *value = body.map_or_else(|_| "bytes".into(), |body| format!("{body:#}")).into();
        }
        // Bytes that the history has told before.
        Value::Object(fields)
            if fields.len() == 2 && fields.contains_key("sha256") && fields.contains_key("is") =>
        {
            *value = fields.remove("is").unwrap_or_default();
        }
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bytes_become_what_they_are_and_long_texts_are_cut_between_characters() {
        let mut line = json!({
            "op": { "image": { "hex": "89504e470d0a1a0a" }, "other": { "hex": "ff", "more": 1 } },
            "body": { "sha256": "12", "is": "JPEG, 3 bytes" },
            "text": "ü".repeat(400),
            "short": "as it was",
        });
        shorten(&mut line);
        assert_eq!(line["op"]["image"], "PNG, 8 bytes");
        assert_eq!(line["op"]["other"]["hex"], "ff");
        assert_eq!(line["body"], "JPEG, 3 bytes");
        assert_eq!(line["text"], format!("{}… (800 bytes)", "ü".repeat(300)));
        assert_eq!(line["short"], "as it was");
    }
}
