//! What a producer can ask of a queue, and what it is answered.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Error, MAX_DELAY_SECONDS, MessageBody, MessageId, error};
use crate::values::call::{CallClass, calls};
use crate::values::time::Time;

/// The most bytes in one message.
pub const MAX_MESSAGE_BYTES: usize = 128_000;
/// The most messages in one `sendBatch()`.
pub const MAX_BATCH_MESSAGES: usize = 100;
/// The most bytes in one `sendBatch()`.
pub const MAX_BATCH_BYTES: usize = 256_000;
/// The most bytes in one `sendBatch()` to the local emulator.
pub const MINIFLARE_MAX_BATCH_BYTES: usize = 288_000;
/// The most bytes that wait in one queue.
pub const MAX_BACKLOG_BYTES: u64 = 25_000_000_000;

/// One operation by a producer.
///
/// ```
/// use thunderhead_sim::queue::{MessageBody, Op};
///
/// let op = Op::send("uploads", MessageBody::text("a"));
/// assert_eq!(op.to_string(), r#"send uploads "a""#);
/// assert_eq!((op.name(), op.queue()), ("send", "uploads"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Op {
    /// `queue.send(body, options)`.
    Send {
        /// The queue.
        queue: Arc<str>,
        /// The message.
        message: MessageSendRequest,
    },
    /// `queue.sendBatch(messages, options)`: all or none.
    SendBatch {
        /// The queue.
        queue: Arc<str>,
        /// The messages, in order.
        messages: Vec<MessageSendRequest>,
        /// The delay of every message that names none itself.
        delay_seconds: Option<u32>,
    },
    /// `queue.metrics()`.
    Metrics {
        /// The queue.
        queue: Arc<str>,
    },
}

calls! {
    Op:
    Metrics => 16, "queue.metrics", error::TRANSIENT;
    Send => 17, "queue.send", error::TRANSIENT;
    SendBatch => 18, "queue.sendBatch", error::TRANSIENT;
}

impl Op {
    /// Sends one message without a delay of its own.
    pub fn send(queue: &str, body: MessageBody) -> Op {
        Op::Send { queue: queue.into(), message: MessageSendRequest::from(body) }
    }

    /// Sends several messages at once.
    pub fn send_batch(queue: &str, messages: Vec<MessageSendRequest>) -> Op {
        Op::SendBatch { queue: queue.into(), messages, delay_seconds: None }
    }

    /// Asks for the backlog.
    pub fn metrics(queue: &str) -> Op {
        Op::Metrics { queue: queue.into() }
    }

    /// The method's name on the platform.
    pub fn name(&self) -> &'static str {
        self.call().method()
    }

    /// The boundary that it crosses.
    pub fn class(&self) -> CallClass {
        CallClass::Service
    }

    /// The errors that the platform may answer with instead of applying it.
    pub fn refusals(&self) -> Vec<Error> {
        error::TRANSIENT.iter().map(|code| Error::service(*code)).collect()
    }

    /// The transient error with that code.
    pub fn refusal(&self, code: u32) -> Option<Error> {
        error::TRANSIENT.contains(&code).then(|| Error::service(code))
    }

    /// The queue that it is about, as scripts name it.
    pub fn target(&self) -> String {
        self.queue().to_string()
    }

    /// The name of the queue.
    pub fn queue(&self) -> &str {
        match self {
            Op::Send { queue, .. } | Op::SendBatch { queue, .. } | Op::Metrics { queue } => queue,
        }
    }

    /// The platform's limits, in the order in which they are tested.
    pub(super) fn check(&self, max_batch_bytes: usize) -> Result<(), Error> {
        match self {
            Op::Send { message, .. } => message.check(),
            Op::SendBatch { messages, delay_seconds, .. } => {
                let bytes: usize = messages.iter().map(|message| message.body.len()).sum();
                if messages.is_empty() {
                    Err(Error::type_error("sendBatch() requires at least one message"))
                } else if messages.len() > MAX_BATCH_MESSAGES {
                    Err(Error::service(error::BATCH_COUNT_OUT_OF_BOUNDS))
                } else if delay_seconds.is_some_and(|delay| delay > MAX_DELAY_SECONDS) {
                    Err(Error::service(error::BATCH_DELAY_INVALID))
                } else {
                    messages.iter().try_for_each(MessageSendRequest::check)?;
                    if bytes > max_batch_bytes {
                        return Err(Error::service(error::BATCH_SIZE_OUT_OF_BOUNDS));
                    }
                    Ok(())
                }
            }
            Op::Metrics { .. } => Ok(()),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name(), self.queue())?;
        match self {
            Op::Send { message, .. } => {
                f.write_str(" ")?;
                message.fmt(f)
            }
            Op::SendBatch { messages, delay_seconds, .. } => {
                let shown = if f.alternate() { messages.len() } else { 5 };
                f.write_str(" [")?;
                for (at, message) in messages.iter().take(shown).enumerate() {
                    f.write_str(if at == 0 { "" } else { ", " })?;
                    message.fmt(f)?;
                }
                match messages.len().saturating_sub(shown) {
                    0 => f.write_str("]")?,
                    more => write!(f, " and {more} more]")?,
                }
                delay_seconds.map_or(Ok(()), |delay| write!(f, " after {delay}s"))
            }
            Op::Metrics { .. } => Ok(()),
        }
    }
}

/// One message on its way into a queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageSendRequest {
    /// What it says.
    pub body: MessageBody,
    /// How long it is held back; 0 overrides the batch's and the queue's delay.
    pub delay_seconds: Option<u32>,
}

impl MessageSendRequest {
    /// Holds the message back for `seconds`.
    pub fn delayed(self, seconds: u32) -> MessageSendRequest {
        MessageSendRequest { delay_seconds: Some(seconds), ..self }
    }

    fn check(&self) -> Result<(), Error> {
        if self.body.len() > MAX_MESSAGE_BYTES {
            return Err(Error::service(error::MESSAGE_SIZE_OUT_OF_BOUNDS));
        }
        if self.delay_seconds.is_some_and(|delay| delay > MAX_DELAY_SECONDS) {
            return Err(Error::service(error::MESSAGE_METADATA_INVALID));
        }
        Ok(())
    }
}

impl From<MessageBody> for MessageSendRequest {
    fn from(body: MessageBody) -> MessageSendRequest {
        MessageSendRequest { body, delay_seconds: None }
    }
}

impl fmt::Display for MessageSendRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.body.fmt(f)?;
        self.delay_seconds.map_or(Ok(()), |delay| write!(f, " after {delay}s"))
    }
}

/// What an operation answers.
///
/// The ids are for the trace: the platform itself tells a producer the backlog and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Reply {
    /// The message is stored.
    Sent {
        /// The id that the message was given.
        id: MessageId,
        /// The backlog after the message was stored.
        metrics: Metrics,
    },
    /// All the messages are stored.
    SentBatch {
        /// Their ids, in the order of sending.
        ids: Vec<MessageId>,
        /// The backlog after the messages were stored.
        metrics: Metrics,
    },
    /// The backlog, as `metrics()` reports it.
    Metrics(Metrics),
}

impl Reply {
    /// The backlog, which every reply carries.
    pub fn metrics(&self) -> Metrics {
        match self {
            Reply::Sent { metrics, .. }
            | Reply::SentBatch { metrics, .. }
            | Reply::Metrics(metrics) => *metrics,
        }
    }
}

/// How much a queue holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metrics {
    /// The number of messages.
    pub backlog_count: u64,
    /// The number of bytes in their bodies.
    pub backlog_bytes: u64,
    /// When the oldest of them was sent.
    pub oldest_message_timestamp: Option<Time>,
}
