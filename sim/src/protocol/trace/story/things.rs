//! What lasts between invocations, and which of it a call reads or writes: objects of a bucket, keys of KV, messages,
//! instances of workflows. Rows are told by the events in which they change.

use crate::protocol::op::Op;
use crate::protocol::outcome::{Outcome, Reply};
use crate::services::queue::{self, MessageId};
use crate::services::{d1, kv, r2, workflow};

/// Something that lasts, by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Thing {
    /// An object, or a whole bucket.
    Object(String),
    /// A key of KV, or a whole namespace.
    Key(String),
    /// A message.
    Message(MessageId),
    /// An instance of a workflow, as its host is called.
    Instance(String),
}

/// What a call did with something that lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    /// It depends on what was there.
    Reads,
    /// It depends on what was there, or takes its place.
    Writes,
    /// It changes a part of it, whatever the other parts are.
    Adds,
}

/// What a call that took effect has touched.
pub(super) fn touched(op: &Op, outcome: &Outcome) -> Vec<(Thing, Touch)> {
    match op {
        Op::R2(op) => objects(op),
        Op::Kv(op) => {
            let writes = matches!(op, kv::Op::Put { .. } | kv::Op::Delete { .. });
            vec![(Thing::Key(op.target()), if writes { Touch::Writes } else { Touch::Reads })]
        }
        Op::Workflow(op) => {
            let made = match outcome {
                Ok(Reply::Workflow(workflow::Reply::Instance { id })) => Some(&**id),
                _ => op.instance(),
            };
            let reads = matches!(op, workflow::Op::Get { .. } | workflow::Op::Status { .. });
            let name = made.map(|id| format!("{}/{id}", op.workflow()));
            let touch = if reads { Touch::Reads } else { Touch::Writes };
            name.map(|name| (Thing::Instance(name), touch)).into_iter().collect()
        }
        Op::Queue(_) | Op::Notify { .. } => {
            sent(outcome).map(|id| (Thing::Message(id), Touch::Writes)).collect()
        }
        _ => Vec::new(),
    }
}

fn objects(op: &r2::Op) -> Vec<(Thing, Touch)> {
    let writes = matches!(
        op,
        r2::Op::Put { .. }
            | r2::Op::Delete { .. }
            | r2::Op::CompleteMultipartUpload { .. }
            | r2::Op::Copy { .. }
            | r2::Op::LifecycleDelete { .. }
    );
    let keys = op.keys().iter().map(|key| object(op.bucket(), key));
    let copied = match op {
        r2::Op::Copy { source_bucket, source_key, .. } => Some(object(source_bucket, source_key)),
        _ => None,
    };
    let bucket = Thing::Object(op.bucket().to_string());
    // Who lists a bucket reads what was written last in it.
    let bucket = match writes {
        true => Some((bucket, Touch::Adds)),
        false => op.keys().is_empty().then_some((bucket, Touch::Reads)),
    };
    let touch = if writes { Touch::Writes } else { Touch::Reads };
    let read = copied.map(|source| (source, Touch::Reads));
    keys.map(|key| (key, touch)).chain(read).chain(bucket).collect()
}

/// An object of a bucket.
pub(super) fn object(bucket: &str, key: &str) -> Thing {
    Thing::Object(format!("{bucket}/{key}"))
}

/// The messages that a queue has accepted.
fn sent(outcome: &Outcome) -> impl Iterator<Item = MessageId> {
    let ids = match outcome {
        Ok(Reply::Queue(queue::Reply::Sent { id, .. })) => vec![*id],
        Ok(Reply::Queue(queue::Reply::SentBatch { ids, .. })) => ids.clone(),
        _ => Vec::new(),
    };
    ids.into_iter()
}

/// The statements of a call to a database.
pub(super) fn statements(op: &d1::Op) -> Vec<&d1::Statement> {
    match &op.method {
        d1::Method::All(one)
        | d1::Method::Run(one)
        | d1::Method::First { statement: one, .. }
        | d1::Method::Raw { statement: one, .. } => vec![one],
        d1::Method::Batch(many) => many.iter().collect(),
        d1::Method::Exec(_) | d1::Method::Dump => Vec::new(),
    }
}
