//! What every store does with a batch before and after the database has seen it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::error::Error;
use crate::message::{Key, NewMessage};

/// The longest id that both databases can keep in an index.
pub const MAX_ID_BYTES: usize = 512;
/// The deepest JSON that everyone who reads it back can read.
pub const MAX_DEPTH: usize = 100;

/// Refuses what one of the databases could not keep, or could not give back as it was.
pub fn check(workflow_id: &str, messages: &[NewMessage]) -> Result<(), Error> {
    check_id("a workflow's id", workflow_id)?;
    if messages.is_empty() {
        return Err(Error::Invalid("a batch without messages".into()));
    }
    let mut ids = BTreeSet::new();
    for message in messages {
        check_id("a message's id", &message.message_id)?;
        if !ids.insert(&message.message_id) {
            return Err(Error::Invalid(format!("{:?} is twice in the batch", message.message_id)));
        }
        check_text(&message.message_type)?;
        check_json(&message.message_data, 0)?;
        check_json(&message.message_metadata, 0)?;
    }
    Ok(())
}

fn check_id(what: &str, id: &str) -> Result<(), Error> {
    if id.is_empty() || id.len() > MAX_ID_BYTES {
        let length = id.len();
        return Err(Error::Invalid(format!("{what} of {length} bytes, not 1 to {MAX_ID_BYTES}")));
    }
    check_text(id)
}

fn check_text(text: &str) -> Result<(), Error> {
    match text.contains('\0') {
        true => Err(Error::Invalid(format!("a NUL in {text:?}"))),
        false => Ok(()),
    }
}

fn check_json(value: &Value, depth: usize) -> Result<(), Error> {
    if depth > MAX_DEPTH {
        return Err(Error::Invalid(format!("JSON nested deeper than {MAX_DEPTH}")));
    }
    match value {
        Value::String(text) => check_text(text),
        Value::Array(values) => values.iter().try_for_each(|value| check_json(value, depth + 1)),
        Value::Object(entries) => entries.iter().try_for_each(|(name, value)| {
            check_text(name)?;
            check_json(value, depth + 1)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// A batch as one JSON text, which is one parameter of one statement however long the batch is.
/// What the messages say is text within it, so that no database rewrites it on the way.
pub fn encode(messages: &[NewMessage]) -> String {
    let entries = messages.iter().map(|message| {
        json!({
            "id": message.message_id,
            "kind": message.kind,
            "direction": message.direction,
            "type": message.message_type,
            "data": message.message_data.to_string(),
            "metadata": message.message_metadata.to_string(),
        })
    });
    Value::Array(entries.collect()).to_string()
}

/// Says how an append ended, from what the streams hold after it: where the ids of the batch are,
/// and how long the stream is. Both have to be of one moment.
pub fn resolve(
    workflow_id: &str,
    messages: &[NewMessage],
    found: &BTreeMap<String, Key>,
    version: i64,
) -> Result<i64, Error> {
    let Some((message_id, _)) = found.first_key_value() else {
        return Err(Error::Conflict { actual: version });
    };
    let duplicate = || Error::DuplicateId { message_id: message_id.clone() };
    let first = found.get(&messages[0].message_id).ok_or_else(duplicate)?;
    let mut last = first.position;
    for (message, position) in messages.iter().zip(first.position..) {
        let key = found.get(&message.message_id).ok_or_else(duplicate)?;
        if key.workflow_id != workflow_id || key.position != position {
            return Err(duplicate());
        }
        last = position;
    }
    Ok(last)
}

/// An error's text as every database can keep it.
pub fn error_text(error: &str) -> String {
    error.replace('\0', "\u{fffd}")
}
