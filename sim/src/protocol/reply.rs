//! Every answer the doorway can give.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::protocol::error::Error;
use crate::protocol::http::Response;
use crate::services::ai::Label;
use crate::services::{d1, queue, r2, workflow};
use crate::values::body::Body;

/// Every answer the doorway can give.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[repr(u64)] // as in `body.rs`
pub enum Reply {
    /// From a bucket.
    R2(r2::Reply),
    /// From a queue, to a producer.
    Queue(queue::Reply),
    /// Labels of a picture, most likely first.
    Ai(Arc<[Label]>),
    /// From a database.
    D1(d1::Reply),
    /// From a workflow.
    Workflow(workflow::Reply),
    /// From a worker.
    Fetch(Response),
    /// From a durable object.
    Rpc(Body),
    /// A connection to a durable object.
    Socket(u32),
    /// A batch was handled, an alarm, or a message.
    Done,
}

/// How a call ended.
pub type Outcome = Result<Reply, Error>;

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::R2(reply) => reply.fmt(f),
            Reply::Queue(queue::Reply::Sent { id, .. }) => write!(f, "sent {}", id.short()),
            Reply::Queue(queue::Reply::SentBatch { ids, .. }) => write!(f, "sent {}", ids.len()),
            Reply::Queue(queue::Reply::Metrics(metrics)) => {
                write!(f, "backlog {}", metrics.backlog_count)
            }
            Reply::Ai(labels) => match labels.first() {
                Some(first) => write!(f, "{first} and {} more", labels.len() - 1),
                None => f.write_str("no labels"),
            },
            Reply::D1(reply) => reply.fmt(f),
            Reply::Workflow(reply) => reply.fmt(f),
            Reply::Fetch(response) => response.fmt(f),
            Reply::Rpc(body) if body.is_empty() => f.write_str("ok"),
            Reply::Rpc(body) => body.fmt(f),
            Reply::Socket(socket) => write!(f, "socket {socket}"),
            Reply::Done => f.write_str("done"),
        }
    }
}
