//! What the server says of itself: one JSON object a line, on standard error.

use std::io::Write;

use serde_json::{Value, json};

use crate::environment::unix_ms;

/// Says that something has happened. A standard error that is closed is no reason to stop serving.
pub fn say(level: &str, message: &str, fields: &Value) {
    let mut line = json!({ "at": unix_ms(), "level": level, "message": message });
    if let (Some(line), Some(fields)) = (line.as_object_mut(), fields.as_object()) {
        line.extend(fields.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
