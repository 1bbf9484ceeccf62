//! How a call ends: with a reply, or with an error that the application sees.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::protocol::http::Response;
use crate::protocol::object::ObjectError;
use crate::services::ai::{self, Label};
use crate::services::workflow::{self, StepError};
use crate::services::{d1, kv, queue, r2, storage};
use crate::values::body::{Body, NotJson};

/// How a call ended.
pub type Outcome = Result<Reply, Error>;

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
    /// From a namespace of KV.
    Kv(kv::Reply),
}

impl Reply {
    /// The body that it carries, if that may be a large one.
    pub(crate) fn body_mut(&mut self) -> Option<&mut Body> {
        match self {
            Reply::Fetch(response) => Some(&mut response.body),
            Reply::R2(r2::Reply::ObjectBody { body, .. }) => Some(body),
            _ => None,
        }
    }
}

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
            Reply::Kv(reply) => reply.fmt(f),
            Reply::Workflow(reply) => reply.fmt(f),
            Reply::Fetch(response) => response.fmt(f),
            Reply::Rpc(body) if body.is_empty() => f.write_str("ok"),
            Reply::Rpc(body) => body.fmt(f),
            Reply::Socket(socket) => write!(f, "socket {socket}"),
            Reply::Done => f.write_str("done"),
        }
    }
}

/// Why a call failed, as an application can match on it.
///
/// ```
/// use thunderhead_sim::Error;
///
/// assert!(Error::NetworkLost.is_transient());
/// assert_eq!(Error::NetworkLost.to_string(), "Network connection lost.");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[repr(u64)] // as in `body.rs`
pub enum Error {
    /// The object store refused.
    R2(r2::Error),
    /// The queue refused.
    Queue(queue::Error),
    /// The model refused.
    Ai(ai::Error),
    /// A durable object threw, was reset, or cannot be reached.
    Object(ObjectError),
    /// The database refused.
    D1(d1::Error),
    /// The workflow service refused.
    Workflow(workflow::Error),
    /// A step failed for good.
    Step(StepError),
    /// The application's own failure, which trying again will not mend: a step is not retried.
    NonRetryable(Arc<str>),
    /// The storage of an object refused.
    Storage(storage::Error),
    /// Nothing came back. The request may have taken effect, may still, or never will.
    NetworkLost,
    /// The application's own failure.
    App(Arc<str>),
    /// A body is not the JSON that the application expects: a request, an argument or a reply.
    NotJson(Box<NotJson>),
    /// The namespace refused.
    Kv(kv::Error),
}

impl Error {
    /// An application's own failure.
    pub fn app(message: impl Into<Arc<str>>) -> Error {
        Error::App(message.into())
    }

    /// What an object answers to a call of a method that it does not have, in the platform's words.
    ///
    /// ```
    /// let error = thunderhead_sim::Error::no_method("nope");
    /// assert_eq!(error.to_string(), r#"The RPC receiver does not implement the method "nope"."#);
    /// ```
    pub fn no_method(name: &str) -> Error {
        Error::app(format!("The RPC receiver does not implement the method \"{name}\"."))
    }

    /// Whether trying again may help.
    pub fn is_transient(&self) -> bool {
        match self {
            Error::R2(error) => error.is_transient(),
            Error::Queue(error) => error.is_transient(),
            Error::Ai(error) => error.is_transient(),
            Error::Object(error) => error.retryable,
            Error::D1(error) => error.is_transient(),
            Error::Kv(error) => error.is_transient(),
            Error::Workflow(error) => error.is_transient(),
            Error::NetworkLost => true,
            Error::Storage(_)
            | Error::Step(_)
            | Error::NonRetryable(_)
            | Error::App(_)
            | Error::NotJson(_) => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::R2(error) => error.fmt(f),
            Error::Queue(error) => error.fmt(f),
            Error::Ai(error) => error.fmt(f),
            Error::Object(error) => error.fmt(f),
            Error::D1(error) => error.fmt(f),
            Error::Kv(error) => error.fmt(f),
            Error::Workflow(error) => error.fmt(f),
            Error::Step(error) => error.fmt(f),
            Error::Storage(error) => error.fmt(f),
            Error::NotJson(error) => error.fmt(f),
            // The text that workerd gives to a dropped connection.
            Error::NetworkLost => f.write_str("Network connection lost."),
            Error::App(message) | Error::NonRetryable(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {}

impl From<r2::Error> for Error {
    fn from(error: r2::Error) -> Error {
        Error::R2(error)
    }
}

impl From<queue::Error> for Error {
    fn from(error: queue::Error) -> Error {
        Error::Queue(error)
    }
}

impl From<storage::Error> for Error {
    fn from(error: storage::Error) -> Error {
        Error::Storage(error)
    }
}

impl From<NotJson> for Error {
    fn from(error: NotJson) -> Error {
        Error::NotJson(Box::new(error))
    }
}
