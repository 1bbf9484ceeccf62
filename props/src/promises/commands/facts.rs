//! What happened to commands, read from a trace. Only this file knows how the trace is laid out.

use std::rc::Rc;

use serde::Deserialize;
use thunderhead_sim::d1::{Answer, D1Result, Method};
use thunderhead_sim::sqlite::{RowChange, Value};
use thunderhead_sim::{EventKind, Op, Reply, Request, Response, Trace};

use crate::promises::Reading;

/// The worker that answers requests.
const WEB: &str = "web";

/// Something that happened, as far as commands are concerned.
#[derive(Clone, Debug)]
pub enum Fact<'a> {
    /// Rows changed in one transaction; what that means.
    Rows(Rc<[Change<'a>]>),
    /// The worker began to work on a request.
    Asked { call: u32, request: &'a Request },
    /// The worker has answered.
    Answered { call: u32, response: &'a Response },
    /// A database carried out a statement, perhaps the first of several.
    Ran { sql: &'a str, result: &'a D1Result },
    /// A host died.
    Died(&'a str),
}

/// What happened, in order, with the index of the event.
pub fn facts<'a>(trace: &Reading<'a>) -> impl Iterator<Item = (usize, Fact<'a>)> {
    trace.commands.facts.get_or_init(|| read(trace.trace).collect()).iter().cloned()
}

fn read(trace: &Trace) -> impl Iterator<Item = (usize, Fact<'_>)> {
    trace.events().iter().enumerate().filter_map(|(at, event)| {
        let fact = match &event.kind {
            EventKind::Rows { changes } => Fact::Rows(changes.iter().filter_map(change).collect()),
            EventKind::Begin { call } => match trace.op(*call) {
                Op::Fetch { to, request } if &**to == WEB => Fact::Asked { call: *call, request },
                _ => return None,
            },
            EventKind::End { call, outcome } => match trace.outcome(*outcome) {
                Ok(Reply::Fetch(response)) if trace.actor(event) == WEB => {
                    Fact::Answered { call: *call, response }
                }
                _ => return None,
            },
            EventKind::Effect { call, outcome } => {
                let (sql, result) = ran(trace.op(*call), trace.outcome(*outcome).as_ref().ok()?)?;
                Fact::Ran { sql, result }
            }
            EventKind::Crash { .. } => Fact::Died(trace.actor(event)),
            _ => return None,
        };
        Some((at, fact))
    })
}

fn ran<'a>(op: &'a Op, reply: &'a Reply) -> Option<(&'a str, &'a D1Result)> {
    let (Op::D1(op), Reply::D1(reply)) = (op, reply) else { return None };
    let statement = match &op.method {
        Method::All(statement) | Method::Run(statement) => statement,
        Method::Batch(statements) => statements.first()?,
        _ => return None,
    };
    let result = match &reply.answer {
        Answer::Result(result) => result,
        Answer::Batch(results) => results.first()?,
        _ => return None,
    };
    Some((statement.sql.trim_start(), result))
}

/// A message of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    pub workflow: &'a str,
    pub position: i64,
    pub id: &'a str,
    pub kind: &'a str,
    pub direction: &'a str,
    pub message_type: &'a str,
    pub data: &'a str,
    pub metadata: &'a str,
    pub processed: Option<i64>,
}

impl Message<'_> {
    /// Whether a processor has to carry it out.
    pub fn is_command(&self) -> bool {
        (self.kind, self.direction) == ("Command", "Output")
    }

    /// The guest it is about.
    pub fn guest(&self) -> String {
        #[derive(Default, Deserialize)]
        struct Data {
            guest: String,
        }
        let data: Data = serde_json::from_str(self.data).unwrap_or_default();
        data.guest
    }
}

/// What a change of a row means.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// A message, as it was and as it is.
    Message(Option<Message<'a>>, Option<Message<'a>>),
    /// The state of a workflow; none when it was deleted.
    State { workflow: &'a str, is: Option<(i64, &'a str)> },
    /// A command took effect on a stay of a guest.
    Effect { id: &'a str, outcome: &'a str, stay: (&'a str, i64) },
    /// Where a guest stands now, and which stay it is.
    Guest { guest: &'a str, status: &'a str, stay: i64 },
    /// What is known about carrying out a command, as it was and as it is.
    Delivery { command: (&'a str, i64), was: Option<Delivery<'a>>, is: Option<Delivery<'a>> },
}

/// What is known about carrying out a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<'a> {
    pub leased_by: Option<&'a str>,
    pub failures: i64,
    pub parked: bool,
}

/// Reads a change; none when it is about something else.
fn change(change: &RowChange) -> Option<Change<'_>> {
    let old = |column: &str| change.value_before(column);
    let new = |column: &str| change.value_after(column);
    let (was, is) = (change.before.is_some(), change.after.is_some());
    Some(match &*change.table {
        "workflow_messages" => Change::Message(was.then(|| message(old)), is.then(|| message(new))),
        "workflow_states" => {
            let state = || (integer(new("version")).unwrap_or_default(), text(new("state")));
            let workflow = text(new("workflow_id").or_else(|| old("workflow_id")));
            Change::State { workflow, is: is.then(state) }
        }
        "checkouts" if !was => {
            let stay = (text(new("guest_id")), integer(new("stay")).unwrap_or_default());
            Change::Effect { id: text(new("message_id")), outcome: text(new("outcome")), stay }
        }
        "guests" if is => {
            let stay = integer(new("stay")).unwrap_or_default();
            Change::Guest { guest: text(new("guest_id")), status: text(new("status")), stay }
        }
        "command_deliveries" => {
            let key = |column| new(column).or_else(|| old(column));
            let command = (text(key("workflow_id")), integer(key("position")).unwrap_or_default());
            let (was, is) = (was.then(|| delivery(old)), is.then(|| delivery(new)));
            Change::Delivery { command, was, is }
        }
        _ => return None,
    })
}

fn message<'a>(column: impl Fn(&str) -> Option<&'a Value>) -> Message<'a> {
    Message {
        workflow: text(column("workflow_id")),
        position: integer(column("position")).unwrap_or_default(),
        id: text(column("message_id")),
        kind: text(column("kind")),
        direction: text(column("direction")),
        message_type: text(column("message_type")),
        data: text(column("message_data")),
        metadata: text(column("message_metadata")),
        processed: integer(column("processed")),
    }
}

fn delivery<'a>(column: impl Fn(&str) -> Option<&'a Value>) -> Delivery<'a> {
    Delivery {
        leased_by: column("leased_by").and_then(Value::as_str),
        failures: integer(column("failures")).unwrap_or_default(),
        parked: integer(column("parked_ms")).is_some(),
    }
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

fn integer(value: Option<&Value>) -> Option<i64> {
    value.and_then(Value::as_i64)
}
