//! What happened to comparisons, read from a trace. Only this file knows how the trace is laid out.

use thunderhead_sim::sqlite::{Row, RowChange, Value};
use thunderhead_sim::{EventKind, Op, Reply, Request, Response, Trace};

/// The worker that answers requests.
const WEB: &str = "web";

/// Something that happened, as far as comparisons are concerned.
#[derive(Debug)]
pub enum Fact<'a> {
    /// Rows of an object or a database changed in one transaction.
    Rows { store: &'a str, changes: &'a [RowChange] },
    /// The worker began to work on a request.
    Asked { call: u32, request: &'a Request },
    /// The worker has answered.
    Answered { call: u32, response: &'a Response },
    /// A request was sent to a host.
    Fetched { to: &'a str, request: &'a Request },
    /// A method of an object began.
    Called { method: &'a str, args: &'a str },
}

/// What happened, in order, with the index of the event.
pub fn facts(trace: &Trace) -> impl Iterator<Item = (usize, Fact<'_>)> {
    trace.events().iter().enumerate().filter_map(|(at, event)| {
        let fact = match &event.kind {
            EventKind::Rows { changes } => Fact::Rows { store: store(trace, at), changes },
            EventKind::Call { call } => match trace.op(*call) {
                Op::Fetch { to, request } => Fact::Fetched { to, request },
                _ => return None,
            },
            EventKind::Begin { call } => match trace.op(*call) {
                Op::Fetch { to, request } if &**to == WEB => Fact::Asked { call: *call, request },
                Op::Rpc { method, args, .. } => {
                    Fact::Called { method, args: args.text().unwrap_or_default() }
                }
                _ => return None,
            },
            EventKind::End { call, outcome } => match trace.outcome(*outcome) {
                Ok(Reply::Fetch(response)) if trace.actor(event) == WEB => {
                    Fact::Answered { call: *call, response }
                }
                _ => return None,
            },
            _ => return None,
        };
        Some((at, fact))
    })
}

/// Where the rows of the event at `at` are: in an object, or in the database whose statement follows.
fn store(trace: &Trace, at: usize) -> &str {
    let event = &trace.events()[at];
    let statement = trace.events().get(at + 1).and_then(|next| match next.kind {
        EventKind::Effect { call, .. } if next.actor == event.actor => Some(trace.op(call)),
        _ => None,
    });
    match statement {
        Some(Op::D1(op)) => op.database(),
        _ => trace.actor(event),
    }
}

/// The changes of rows alone.
pub fn rows(trace: &Trace) -> impl Iterator<Item = (usize, &str, &[RowChange])> {
    facts(trace).filter_map(|(at, fact)| match fact {
        Fact::Rows { store, changes } => Some((at, store, changes)),
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
