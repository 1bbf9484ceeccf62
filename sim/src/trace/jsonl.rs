//! The trace for tools: one JSON object per event, with everything the text has and the data behind.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Event, Trace, What};
use crate::time::Time;

#[derive(Serialize, Deserialize)]
struct Line {
    at: Time,
    n: usize,
    actor: Arc<str>,
    #[serde(flatten)]
    what: What,
}

/// A line that is not an event.
#[derive(Debug)]
pub struct JsonlError {
    line: usize,
    reason: String,
}

impl fmt::Display for JsonlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: not a trace event: {}", self.line, self.reason)
    }
}

impl std::error::Error for JsonlError {}

impl Trace {
    /// One JSON object per event.
    pub fn to_jsonl(&self) -> String {
        let mut text = String::new();
        for (at, event) in self.events().iter().enumerate() {
            let actor = self.actors()[usize::from(event.actor)].clone();
            let line = Line { at: event.at, n: at + 1, actor, what: event.what.clone() };
            text += &serde_json::to_string(&line).expect("a trace event is always JSON");
            text.push('\n');
        }
        text
    }

    /// Reads what [`Trace::to_jsonl`] wrote.
    pub fn from_jsonl(text: &str) -> Result<Trace, JsonlError> {
        let mut trace = Trace::default();
        for (at, line) in text.lines().enumerate() {
            let line: Line = serde_json::from_str(line)
                .map_err(|error| JsonlError { line: at + 1, reason: error.to_string() })?;
            let known = trace.actors.iter().position(|name| *name == line.actor);
            let actor = known.unwrap_or_else(|| {
                trace.actors.push(line.actor.clone());
                trace.actors.len() - 1
            });
            let actor = u16::try_from(actor)
                .map_err(|_| JsonlError { line: at + 1, reason: "too many actors".into() })?;
            trace.events.push(Event { at: line.at, actor, what: line.what });
        }
        Ok(trace)
    }
}
