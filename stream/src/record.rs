//! A row of a message, before anyone has judged it.

use crate::error::Error;
use crate::message::{Direction, Key, Kind, Message};

/// The columns of a message in the order of the statements: JSON as text, times in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are the columns of the schema")]
pub struct Record {
    pub workflow_id: String,
    pub position: i64,
    pub kind: String,
    pub direction: String,
    pub message_id: String,
    pub message_type: String,
    pub message_data: String,
    pub message_metadata: String,
    pub processed: Option<i64>,
    pub created_at: i64,
    pub processed_at: Option<i64>,
}

fn kind(text: &str) -> Option<Kind> {
    [Kind::Command, Kind::Event].into_iter().find(|kind| format!("{kind:?}") == text)
}

fn direction(text: &str) -> Option<Direction> {
    [Direction::Input, Direction::Output].into_iter().find(|way| format!("{way:?}") == text)
}

impl TryFrom<Record> for Message {
    type Error = Error;

    fn try_from(record: Record) -> Result<Message, Error> {
        let key = Key::new(record.workflow_id, record.position);
        let corrupt = |what: &str, value: &str| Error::Corrupt(format!("{key}: {what} {value:?}"));
        let json = |text: &str| serde_json::from_str(text).map_err(|_| corrupt("JSON", text));
        Ok(Message {
            kind: kind(&record.kind).ok_or_else(|| corrupt("kind", &record.kind))?,
            direction: direction(&record.direction)
                .ok_or_else(|| corrupt("direction", &record.direction))?,
            message_data: json(&record.message_data)?,
            message_metadata: json(&record.message_metadata)?,
            message_id: record.message_id,
            message_type: record.message_type,
            processed: record.processed.map(|flag| flag != 0),
            created_at: record.created_at,
            processed_at: record.processed_at,
            workflow_id: key.workflow_id.clone(),
            position: key.position,
        })
    }
}
