//! What a stream is made of.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Whether a message asks for something or tells that something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// It asks.
    Command,
    /// It tells.
    Event,
}

/// Whether a message came to the workflow or goes out from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Direction {
    /// It came in.
    Input,
    /// It goes out.
    Output,
}

/// Where a message is; ordered as the stores order: by the bytes of the workflow's id, then by
/// position.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    /// The workflow.
    pub workflow_id: String,
    /// The place in its stream, from 1.
    pub position: i64,
}

impl Key {
    /// A place in the stream of a workflow.
    pub fn new(workflow_id: impl Into<String>, position: i64) -> Key {
        Key { workflow_id: workflow_id.into(), position }
    }

    /// The place to begin behind as two parameters; nothing comes before an empty text and 0.
    pub fn parts(after: Option<&Key>) -> (&str, i64) {
        after.map_or(("", 0), |key| (&key.workflow_id, key.position))
    }

    /// The position in one workflow to begin behind.
    pub fn position_in(after: Option<&Key>, workflow_id: &str) -> i64 {
        match after.map(|key| (key.workflow_id.as_str().cmp(workflow_id), key.position)) {
            None | Some((Ordering::Less, _)) => 0,
            Some((Ordering::Equal, position)) => position,
            Some((Ordering::Greater, _)) => i64::MAX,
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.workflow_id, self.position)
    }
}

/// A message before it has its place.
///
/// ```
/// use serde_json::json;
/// use thunderhead_stream::NewMessage;
///
/// let command = NewMessage::output_command("m-1", "CheckOut", json!({ "guestId": "g1" }));
/// assert!(command.is_executed());
/// let event = NewMessage::input_event("m-2", "GuestCheckedOut", json!({ "guestId": "g1" }));
/// assert!(!event.is_executed());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewMessage {
    /// Its identity, unique among all workflows: what appending and handling are idempotent by.
    pub message_id: String,
    /// Whether it asks or tells.
    pub kind: Kind,
    /// Whether it came in or goes out.
    pub direction: Direction,
    /// What it is called.
    pub message_type: String,
    /// What it says. PostgreSQL keeps numbers as decimals: one written with an exponent comes
    /// back as the same number, but perhaps as a whole one.
    pub message_data: Value,
    /// What is said about it.
    pub message_metadata: Value,
}

impl NewMessage {
    fn new(id: &str, kind: Kind, direction: Direction, message_type: &str, data: Value) -> Self {
        let message_metadata = Value::Object(serde_json::Map::new());
        let (message_id, message_type) = (id.to_owned(), message_type.to_owned());
        NewMessage {
            message_id,
            kind,
            direction,
            message_type,
            message_data: data,
            message_metadata,
        }
    }

    /// A command to the workflow.
    pub fn input_command(id: &str, message_type: &str, data: Value) -> NewMessage {
        NewMessage::new(id, Kind::Command, Direction::Input, message_type, data)
    }

    /// A command from the workflow, for a processor to carry out.
    pub fn output_command(id: &str, message_type: &str, data: Value) -> NewMessage {
        NewMessage::new(id, Kind::Command, Direction::Output, message_type, data)
    }

    /// An event that the workflow is told of.
    pub fn input_event(id: &str, message_type: &str, data: Value) -> NewMessage {
        NewMessage::new(id, Kind::Event, Direction::Input, message_type, data)
    }

    /// An event that the workflow tells of.
    pub fn output_event(id: &str, message_type: &str, data: Value) -> NewMessage {
        NewMessage::new(id, Kind::Event, Direction::Output, message_type, data)
    }

    /// Whether somebody has to carry it out: then, and only then, it has a `processed` flag. A
    /// command that came in has none, because appending it is what carries it out.
    pub fn is_executed(&self) -> bool {
        self.kind == Kind::Command && self.direction == Direction::Output
    }
}

/// A message in its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// The workflow.
    pub workflow_id: String,
    /// The place in its stream: 1, 2, 3 and so on without gaps.
    pub position: i64,
    /// Whether it asks or tells.
    pub kind: Kind,
    /// Whether it came in or goes out.
    pub direction: Direction,
    /// Its identity, unique among all workflows.
    pub message_id: String,
    /// What it is called.
    pub message_type: String,
    /// What it says.
    pub message_data: Value,
    /// What is said about it.
    pub message_metadata: Value,
    /// Whether an output command has been carried out; none for anything else.
    pub processed: Option<bool>,
    /// When it was appended, in milliseconds since 1970, by the clock of whoever appended it.
    pub created_at: i64,
    /// When it was marked as processed, likewise.
    pub processed_at: Option<i64>,
}

impl Message {
    /// Where it is.
    pub fn key(&self) -> Key {
        Key::new(self.workflow_id.clone(), self.position)
    }

    /// Whether it is a command that is still to be carried out.
    pub fn is_pending(&self) -> bool {
        self.processed == Some(false)
    }
}
