//! What a queue hands to a consumer, what the consumer's invocation hands back, and what became of
//! each message.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{BatchId, MessageBody, MessageId, Metrics, Options, QueueId};
use crate::values::time::Time;

/// Messages delivered together to one invocation of the consumer.
///
/// A copy delivered a second time is simply a clone; see [`Queues::finish`](super::Queues::finish).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Batch {
    /// The id of the batch.
    pub id: BatchId,
    /// The id of the queue.
    pub queue_id: QueueId,
    /// The queue's name.
    pub queue: Arc<str>,
    /// The messages, in order of delivery.
    pub messages: Vec<Delivery>,
    /// The backlog at the time of delivery.
    pub metrics: Metrics,
}

impl fmt::Display for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |message: &Delivery| match f.alternate() {
            true => format!("{message:#}"),
            false => message.to_string(),
        };
        let texts: Vec<String> = self.messages.iter().map(text).collect();
        write!(f, "{} [{}]", self.queue, texts.join(" "))
    }
}

/// One message in a batch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    /// The message's place in the order of arrival, by which its queue finds it again.
    pub seq: u64,
    /// The message's id.
    pub id: MessageId,
    /// When it was sent.
    pub timestamp: Time,
    /// Which delivery of this message this is, from 1.
    pub attempts: u32,
    /// What it says.
    pub body: MessageBody,
}

/// `{}` has the word that a short message says, if it is one; `{:#}` always has the message's id.
impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.body.word() {
            Some(word) if !f.alternate() => write!(f, "{word}#{}", self.attempts),
            _ => write!(f, "{}#{}", self.id.short(), self.attempts),
        }
    }
}

/// How an invocation of the consumer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BatchOutcome {
    /// The handler returned and everything it passed to `waitUntil()` succeeded.
    Ok,
    /// The handler threw, a `waitUntil()` promise was rejected, a limit was exceeded or the
    /// isolate died.
    Exception,
}

/// What an invocation hands back when it ends: its outcome and the marks it collected.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchResult {
    /// How it ended.
    pub outcome: BatchOutcome,
    /// Whether `ackAll()` was called and counted.
    pub ack_all: bool,
    /// Whether `retryAll()` was called and counted.
    pub retry_batch: Option<RetryBatch>,
    /// The messages that were acked one by one.
    pub explicit_acks: Vec<MessageId>,
    /// The messages that were retried one by one.
    pub retry_messages: Vec<RetryMessage>,
}

/// A call of `retryAll()`, with the delay it named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetryBatch {
    /// The delay it named.
    pub delay_seconds: Option<u32>,
}

/// A `retry()` of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetryMessage {
    /// The id of the message.
    pub id: MessageId,
    /// The delay it named.
    pub delay_seconds: Option<u32>,
}

/// What a result says about one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Ack,
    Retry { delay_seconds: Option<u32> },
}

impl BatchResult {
    /// An invocation that marked nothing.
    pub fn unmarked(outcome: BatchOutcome) -> BatchResult {
        BatchResult {
            outcome,
            ack_all: false,
            retry_batch: None,
            explicit_acks: Vec::new(),
            retry_messages: Vec::new(),
        }
    }

    /// An invocation whose isolate died: whatever it had marked died with it.
    pub fn died() -> BatchResult {
        BatchResult::unmarked(BatchOutcome::Exception)
    }

    /// Decides about one message; a message's own mark comes before the batch's, the batch's
    /// before the outcome, except where the emulator turns that around.
    pub(super) fn verdict(&self, id: MessageId, options: Options) -> Verdict {
        let batch_delay = self.retry_batch.and_then(|retry| retry.delay_seconds);
        let retried = self.retry_messages.iter().find(|retry| retry.id == id);
        if let Some(retry) = retried {
            return Verdict::Retry { delay_seconds: retry.delay_seconds.or(batch_delay) };
        }
        let failed = self.outcome != BatchOutcome::Ok;
        let acks_lost = failed && options.miniflare_acks_lost_on_throw
            || self.retry_batch.is_some() && options.miniflare_retry_all_beats_ack;
        let acked = self.ack_all || self.explicit_acks.contains(&id);
        if acked && !acks_lost {
            return Verdict::Ack;
        }
        match failed || self.retry_batch.is_some() {
            true => Verdict::Retry { delay_seconds: batch_delay },
            false => Verdict::Ack,
        }
    }
}

impl fmt::Display for BatchResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let delay = |delay: Option<u32>| delay.map_or(String::new(), |s| format!(" after {s}s"));
        let mut parts = vec![match self.outcome {
            BatchOutcome::Ok => "ok".to_owned(),
            BatchOutcome::Exception => "exception".to_owned(),
        }];
        parts.extend(self.ack_all.then(|| "ackAll".to_owned()));
        parts.extend(self.retry_batch.map(|r| format!("retryAll{}", delay(r.delay_seconds))));
        parts.extend(self.explicit_acks.iter().map(|id| format!("ack {}", id.short())));
        let retries = self.retry_messages.iter();
        parts.extend(retries.map(|r| format!("retry {}{}", r.id.short(), delay(r.delay_seconds))));
        f.write_str(&parts.join(", "))
    }
}

/// What became of one delivery of a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Fate {
    /// The message is settled and never comes back.
    Acked,
    /// The message waits for its next delivery.
    Retried {
        /// When it can be delivered again.
        at: Time,
    },
    /// The message failed for the last time and now waits in another queue.
    DeadLettered {
        /// The name of that queue.
        queue: Arc<str>,
    },
    /// The message failed for the last time and is deleted.
    Dropped,
    /// Nothing changed, because another copy or the end of the lease decided before.
    Gone,
    /// The message reached the end of its retention unsettled and is deleted.
    Expired,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fate::Acked => f.write_str("acked"),
            Fate::Retried { at } => write!(f, "retried at {at}"),
            Fate::DeadLettered { queue } => write!(f, "dead-lettered to {queue}"),
            Fate::Dropped => f.write_str("dropped"),
            Fate::Gone => f.write_str("settled before"),
            Fate::Expired => f.write_str("expired"),
        }
    }
}

/// Something that happened to a message only because time passed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Expiry {
    /// The id of the queue.
    pub queue_id: QueueId,
    /// The batch whose lease ended; none when it was the message's retention.
    pub batch: Option<BatchId>,
    /// The id of the message.
    pub id: MessageId,
    /// What became of it.
    pub fate: Fate,
}

impl fmt::Display for Expiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.id.short(), self.fate)
    }
}
