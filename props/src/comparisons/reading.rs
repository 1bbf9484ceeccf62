//! How the promises read a trace: the one place that knows how events are laid out.

use std::collections::BTreeMap;

use thunderhead_sim::sqlite::{Row, RowChange, Value};
use thunderhead_sim::{EventKind, Op, Reply, Request, Response, Trace};

/// The worker that answers requests.
const WEB: &str = "web";
/// How many comparisons a pair keeps when nobody has said otherwise.
const KEEP: usize = 50;

/// Something that happened, as far as comparisons are concerned.
#[derive(Debug)]
pub enum Seen<'a> {
    /// Rows of an object or a database changed, as one.
    Rows { store: &'a str, changes: &'a [RowChange] },
    /// The worker began to work on a request.
    Asked { call: u32, request: &'a Request },
    /// The worker has answered.
    Answered { call: u32, response: &'a Response },
    /// Somebody asked a host for something.
    Fetched { to: &'a str, request: &'a Request },
    /// A method of an object began.
    Called { method: &'a str, args: &'a str },
}

/// What happened, in order, with the index of the event.
pub fn seen(trace: &Trace) -> impl Iterator<Item = (usize, Seen<'_>)> {
    trace.events().iter().enumerate().filter_map(|(at, event)| {
        let seen = match &event.kind {
            EventKind::Rows { changes } => Seen::Rows { store: trace.actor(event), changes },
            EventKind::Call { call } => match trace.op(*call) {
                Op::Fetch { to, request } => Seen::Fetched { to, request },
                _ => return None,
            },
            EventKind::Begin { call } => match trace.op(*call) {
                Op::Fetch { to, request } if &**to == WEB => Seen::Asked { call: *call, request },
                Op::Rpc { method, args, .. } => {
                    Seen::Called { method, args: args.text().unwrap_or_default() }
                }
                _ => return None,
            },
            EventKind::End { call, outcome } => match trace.outcome(*outcome) {
                Ok(Reply::Fetch(response)) if trace.actor(event) == WEB => {
                    Seen::Answered { call: *call, response }
                }
                _ => return None,
            },
            _ => return None,
        };
        Some((at, seen))
    })
}

/// The changes of rows alone.
pub fn rows(trace: &Trace) -> impl Iterator<Item = (usize, &str, &[RowChange])> {
    seen(trace).filter_map(|(at, seen)| match seen {
        Seen::Rows { store, changes } => Some((at, store, changes)),
        _ => None,
    })
}

/// A comparison as its row has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison<'a> {
    pub id: &'a str,
    pub ts: i64,
    pub pair: (&'a str, &'a str),
    pub status: &'a str,
    pub result: Option<&'a str>,
    pub error: Option<&'a str>,
}

/// A probe as its row has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe<'a> {
    pub comparison: &'a str,
    pub side: &'a str,
    pub ts: i64,
    pub envelope: &'a str,
}

/// What became of a row: as it was, as it is.
type Became<T> = (Option<T>, Option<T>);

/// What a change does to a comparison, if it is about one.
pub fn comparison(change: &RowChange) -> Option<Became<Comparison<'_>>> {
    became(change, "comparisons", |row| Comparison {
        id: text(row, "id"),
        ts: value(row, "ts").and_then(Value::as_i64).unwrap_or_default(),
        pair: (text(row, "left_url"), text(row, "right_url")),
        status: text(row, "status"),
        result: value(row, "result_json").and_then(Value::as_str),
        error: value(row, "error").and_then(Value::as_str),
    })
}

/// The status of every comparison that is kept, as changes follow each other.
#[derive(Debug, Default)]
pub struct Statuses<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Statuses<'a> {
    /// Learns from a change.
    pub fn learn(&mut self, change: &'a RowChange) {
        let Some((before, after)) = comparison(change) else { return };
        if let Some(before) = before {
            self.0.remove(before.id);
        }
        if let Some(after) = after {
            self.0.insert(after.id, after.status);
        }
    }

    /// The status of one, if it is kept.
    pub fn of(&self, id: &str) -> Option<&'a str> {
        self.0.get(id).copied()
    }

    /// One that runs, if there is any.
    pub fn running(&self) -> Option<&'a str> {
        self.0.iter().find(|(_, status)| **status == "running").map(|(id, _)| *id)
    }
}

/// What a change does to a probe, if it is about one.
pub fn probe(change: &RowChange) -> Option<Became<Probe<'_>>> {
    became(change, "probes", |row| Probe {
        comparison: text(row, "comparison_id"),
        side: text(row, "side"),
        ts: value(row, "ts").and_then(Value::as_i64).unwrap_or_default(),
        envelope: text(row, "envelope_json"),
    })
}

fn became<'a, T>(
    change: &'a RowChange,
    table: &str,
    read: impl Fn(&'a Row) -> T,
) -> Option<Became<T>> {
    (&*change.table == table)
        .then(|| (change.before.as_ref().map(&read), change.after.as_ref().map(&read)))
}

fn value<'a>(row: &'a Row, column: &str) -> Option<&'a Value> {
    row.iter().find(|(name, _)| &**name == column).map(|(_, value)| value)
}

fn text<'a>(row: &'a Row, column: &str) -> &'a str {
    value(row, column).and_then(Value::as_str).unwrap_or_default()
}

/// The key of the pair that an id begins with.
pub fn key_of(id: &str) -> &str {
    id.split(':').next().unwrap_or(id)
}

/// How many comparisons each pair keeps, as far as it has been told.
#[derive(Debug, Default)]
pub struct Keeps<'a>(BTreeMap<&'a str, usize>);

impl<'a> Keeps<'a> {
    /// Learns from a change at a store.
    pub fn learn(&mut self, store: &'a str, change: &RowChange) {
        let is_keep = change.key.first().and_then(Value::as_str) == Some("keep");
        if &*change.table == "_cf_KV" && is_keep {
            let told = change.value_after("value").and_then(Value::as_str);
            let keep = told.and_then(|text| text.parse().ok()).unwrap_or(KEEP);
            self.0.insert(store.rsplit(':').next().unwrap_or(store), keep);
        }
    }

    /// How many the pair of this key keeps.
    pub fn of(&self, key: &str) -> usize {
        self.0.get(key).copied().unwrap_or(KEEP)
    }
}
