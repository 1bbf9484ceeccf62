//! What crosses between application and platform: one [`Op`] going in, one [`Reply`] coming out.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::body::Body;
use crate::error::Error;
use crate::fault::Class;
use crate::queue;
use crate::r2;
use crate::site::OpCode;

/// An HTTP request, as far as the systems care.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Request {
    /// `GET`, `PUT`, …
    pub method: Arc<str>,
    /// The path, beginning with `/`.
    pub path: Arc<str>,
    /// The body; empty when there is none.
    pub body: Body,
}

impl Request {
    /// A request with a body.
    pub fn new(method: &str, path: &str, body: impl Into<Body>) -> Request {
        Request { method: method.into(), path: path.into(), body: body.into() }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        if self.body.is_empty() { Ok(()) } else { write!(f, " {}", self.body) }
    }
}

/// An HTTP response.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The body; empty when there is none.
    pub body: Body,
}

impl Response {
    /// A response with a status and a body.
    pub fn new(status: u16, body: impl Into<Body>) -> Response {
        Response { status, body: body.into() }
    }
}

impl fmt::Display for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        if self.body.is_empty() { Ok(()) } else { write!(f, " {}", self.body) }
    }
}

/// Everything that can be asked at the doorway, as plain data.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Op {
    /// An operation on a bucket.
    R2(r2::Op),
    /// An operation on a queue, by a producer.
    Queue(queue::Op),
    /// A request to a worker.
    Fetch {
        /// The worker.
        to: Arc<str>,
        /// The request.
        request: Request,
    },
    /// A queue hands a batch to its consumer.
    Deliver {
        /// The worker.
        to: Arc<str>,
        /// The batch.
        batch: queue::Batch,
    },
    /// A bucket tells a queue what happened to an object.
    Notify {
        /// The queue.
        queue: Arc<str>,
        /// What happened.
        event: r2::Notification,
    },
}

impl Op {
    /// The name of this kind of call.
    pub fn code(&self) -> OpCode {
        let name = match self {
            Op::R2(op) => match op.name() {
                "abortMultipartUpload" => "r2.abortMultipartUpload",
                "completeMultipartUpload" => "r2.completeMultipartUpload",
                "copy" => "r2.copy",
                "createMultipartUpload" => "r2.createMultipartUpload",
                "delete" => "r2.delete",
                "get" => "r2.get",
                "head" => "r2.head",
                "lifecycleDelete" => "r2.lifecycleDelete",
                "list" => "r2.list",
                "put" => "r2.put",
                "uploadPart" => "r2.uploadPart",
                other => unreachable!("r2 has no {other}"),
            },
            Op::Queue(op) => match op.name() {
                "metrics" => "queue.metrics",
                "send" => "queue.send",
                "sendBatch" => "queue.sendBatch",
                other => unreachable!("queues have no {other}"),
            },
            Op::Fetch { .. } => "fetch",
            Op::Deliver { .. } => "queue.deliver",
            Op::Notify { .. } => "r2.notify",
        };
        OpCode::find(name).expect("every call has a line in the table")
    }

    /// The sort of crossing it is.
    pub fn class(&self) -> Class {
        match self {
            Op::R2(_) | Op::Queue(_) => Class::Service,
            Op::Fetch { .. } => Class::Fetch,
            Op::Deliver { .. } => Class::Delivery,
            Op::Notify { .. } => Class::Event,
        }
    }

    /// The transient errors that the platform may answer it with.
    pub fn refusals(&self) -> Vec<Error> {
        match self {
            Op::R2(op) => {
                let codes = r2::transient_errors(op).iter();
                codes.map(|code| Error::R2(r2::Error::for_op(op, *code))).collect()
            }
            Op::Queue(_) => {
                let codes = queue::transient_errors().iter();
                codes.map(|code| Error::Queue(queue::Error::service(*code))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The platform's error of that code, if this call's service has one.
    pub fn refusal(&self, code: u32) -> Option<Error> {
        match self {
            Op::R2(op) => {
                let code = r2::Code::from_number(code)?;
                Some(Error::R2(r2::Error::for_op(op, code)))
            }
            Op::Queue(_) => Some(Error::Queue(queue::Error::service(code))),
            _ => None,
        }
    }

    /// What it is about, as filters see it: `photos/cat.jpg`, `uploads`, `web/cat.jpg`.
    pub fn target(&self) -> String {
        match self {
            Op::R2(op) => match op.key() {
                Some(key) => format!("{}/{key}", op.bucket()),
                None => op.bucket().to_string(),
            },
            Op::Queue(op) => op.queue().to_string(),
            Op::Fetch { to, request } => format!("{to}{}", request.path),
            Op::Deliver { batch, .. } => batch.queue.to_string(),
            Op::Notify { event, .. } => format!("{}/{}", event.bucket, event.object.key),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::R2(op) => write!(f, "r2.{op}"),
            Op::Queue(op) => write!(f, "queue.{op}"),
            Op::Fetch { to, request } => write!(f, "fetch {to} {request}"),
            Op::Deliver { to, batch } => write!(f, "queue.deliver {batch} to {to}"),
            Op::Notify { queue, event } => {
                write!(f, "r2.notify {queue} {} {}", event.action.name(), event.object.key)?;
                match &event.object.e_tag {
                    Some(etag) => write!(f, " etag={}", &etag[..etag.len().min(8)]),
                    None => Ok(()),
                }
            }
        }
    }
}

/// Every answer the doorway can give.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reply {
    /// From a bucket.
    R2(r2::Reply),
    /// From a queue, to a producer.
    Queue(queue::Reply),
    /// From a worker.
    Fetch(Response),
    /// A batch was handled, or a notification was queued.
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
            Reply::Fetch(response) => response.fmt(f),
            Reply::Done => f.write_str("done"),
        }
    }
}
