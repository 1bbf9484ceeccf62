//! The trace for tools: one JSON object per event, with everything the text has and the data behind.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Event, EventKind, Trace};
use crate::protocol::op::Op;
use crate::protocol::outcome::Outcome;
use crate::values::body::references;
use crate::values::printable::printable_json;
use crate::values::sorted_map::SortedMap;
use crate::values::time::Time;

#[derive(Serialize, Deserialize)]
struct Line<'a> {
    at: Time,
    n: usize,
    actor: Arc<str>,
    #[serde(flatten)]
    kind: Cow<'a, EventKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    op: Option<Cow<'a, Op>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Cow<'a, Outcome>>,
}

/// How far ahead of those before it the number of a call may be: numbers are given out one by one,
/// and a file that claims otherwise is not one of ours.
const CALLS_APART: usize = 1 << 16;

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

/// Reads a trace that is too long to be one text, some lines at a time.
#[derive(Debug, Default)]
pub struct JsonlReader {
    trace: Trace,
    /// The numbers of the actors that have been named.
    actors: SortedMap<Arc<str>, u16>,
    bodies: references::Read,
    lines: usize,
}

impl JsonlReader {
    /// Reads more lines, none of which is cut.
    // A server reads histories, and a search does not. `inline` means that this is compiled where it is used: to read
    // everything that an event can carry takes a quarter of the time that this crate takes otherwise.
    #[inline]
    pub fn read(&mut self, text: &str) -> Result<(), JsonlError> {
        for line in text.lines() {
            self.lines += 1;
            let parsed = self.bodies.read(|| serde_json::from_str::<Line>(line));
            let read = parsed.map_err(|error| error.to_string()).and_then(|line| self.take(line));
            read.map_err(|reason| JsonlError { line: self.lines, reason })?;
        }
        Ok(())
    }

    /// What was read.
    pub fn finish(self) -> Trace {
        self.trace
    }

    fn take(&mut self, line: Line) -> Result<(), String> {
        let actor = match self.actors.get(&line.actor) {
            Some(known) => *known,
            None => {
                let next = u16::try_from(self.trace.actors.len())
                    .map_err(|_| "a trace has at most 65,536 actors".to_string())?;
                self.trace.actors.push(line.actor.clone());
                self.actors.insert(line.actor, next);
                next
            }
        };
        let (op, outcome) = (line.op.map(Cow::into_owned), line.outcome.map(Cow::into_owned));
        let kind = self.trace.take_in(line.kind.into_owned(), op, outcome);
        let kind = kind
            .map_err(|missing| format!("it has no `{missing}`, which this kind of event needs"))?;
        self.trace.events.push(Event { at: line.at, actor, kind });
        Ok(())
    }
}

impl Trace {
    /// One JSON object per event, each on a line of its own.
    pub fn to_jsonl(&self) -> String {
        let mut text = String::new();
        for line in self.json_lines() {
            let json = serde_json::to_string(&line).expect("a trace event is always JSON");
            text += &printable_json(&json);
            text.push('\n');
        }
        text
    }

    /// Writes the events as [`Trace::to_jsonl`] does, but large bodies only once; the first event has the number
    /// `told` + 1. Returns the last number.
    pub(crate) fn lines_from(
        &self,
        told: usize,
        bodies: &mut references::Written,
        text: &mut String,
    ) -> usize {
        for mut line in self.json_lines() {
            line.n += told;
            let json = bodies.write(|| serde_json::to_string(&line));
            let json = json.expect("a trace event is always JSON");
            *text += &printable_json(&json);
            text.push('\n');
        }
        told + self.events().len()
    }

    /// One JSON value per event, to be part of a larger document.
    pub fn to_json(&self) -> Vec<Value> {
        // By way of text, because a second serializer for everything that an event can carry takes long to compile.
        let value = |line: &str| serde_json::from_str(line).expect("a trace event is always JSON");
        self.to_jsonl().lines().map(value).collect()
    }

    fn json_lines(&self) -> impl Iterator<Item = Line<'_>> {
        self.events().iter().enumerate().map(|(at, event)| {
            let (op, outcome) = self.carried(event);
            Line {
                at: event.at,
                n: at + 1,
                actor: self.actors()[usize::from(event.actor)].clone(),
                kind: Cow::Borrowed(&event.kind),
                op: op.map(Cow::Borrowed),
                outcome: outcome.map(Cow::Borrowed),
            }
        })
    }

    /// Reads what [`Trace::to_jsonl`] wrote.
    #[inline]
    pub fn from_jsonl(text: &str) -> Result<Trace, JsonlError> {
        let mut reader = JsonlReader::default();
        reader.read(text)?;
        Ok(reader.finish())
    }

    /// Keeps what an event carries, and lets the event refer to it; the name of what it lacks.
    fn take_in(
        &mut self,
        mut kind: EventKind,
        op: Option<Op>,
        outcome: Option<Outcome>,
    ) -> Result<EventKind, &'static str> {
        if let EventKind::Call { call }
        | EventKind::Begin { call }
        | EventKind::Effect { call, .. } = kind
        {
            if call as usize > self.ops.len() + CALLS_APART {
                return Err("call before it");
            }
            self.set_op(call, op.ok_or("op")?);
        }
        if let EventKind::Effect { outcome: id, .. }
        | EventKind::End { outcome: id, .. }
        | EventKind::Return { outcome: id, .. } = &mut kind
        {
            *id = self.keep(outcome.ok_or("outcome")?);
        }
        Ok(kind)
    }
}
