//! What a consumer's handler holds: the batch and its messages, on which it leaves marks.

use std::cell::Cell;
use std::rc::Rc;

use super::{
    Batch, BatchOutcome, BatchResult, Delivery, MessageBody, MessageId, Metrics, RetryBatch,
    RetryMessage,
};
use crate::values::time::Time;

/// The batch as the handler sees it.
///
/// Marks stay inside the invocation until it ends, when [`MessageBatch::result`] collects them:
/// an invocation that dies takes them with it. Of two calls that contradict each other the first
/// one counts.
///
/// ```
/// use thunderhead_sim::Time;
/// use thunderhead_sim::queue::{
///     ConsumerConfig, Fate, MessageBatch, MessageBody, Op, BatchOutcome, QueueConfig, Queues,
/// };
///
/// let mut queues = Queues::default();
/// queues.create("uploads", QueueConfig::default()).unwrap();
/// queues.set_consumer("uploads", ConsumerConfig::default()).unwrap();
/// queues.apply(Time::ZERO, &Op::send("uploads", MessageBody::text("a"))).unwrap();
///
/// let uploads = queues.queue_id("uploads").unwrap();
/// let now = queues.ready_at(uploads).unwrap();
/// let batch = queues.take(now, uploads, &mut |_| 0).unwrap();
/// assert_eq!(batch.to_string(), "uploads [a#1]");
///
/// let handle = MessageBatch::new(batch.clone());
/// handle.messages()[0].ack();
/// assert_eq!(queues.finish(now, &batch, &handle.result(BatchOutcome::Ok)), [Fate::Acked]);
/// ```
#[derive(Clone, Debug)]
pub struct MessageBatch {
    shared: Rc<Shared>,
    messages: Rc<[Message]>,
}

/// One message as the handler sees it.
#[derive(Clone, Debug)]
pub struct Message {
    shared: Rc<Shared>,
    index: usize,
}

#[derive(Debug)]
struct Shared {
    batch: Batch,
    whole: Cell<Mark>,
    each: Box<[Cell<Mark>]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    None,
    Ack,
    Retry { delay_seconds: Option<u32> },
}

impl MessageBatch {
    /// A fresh view of a batch, without marks.
    pub fn new(batch: Batch) -> MessageBatch {
        let each = batch.messages.iter().map(|_| Cell::new(Mark::None)).collect();
        let shared = Rc::new(Shared { batch, whole: Cell::new(Mark::None), each });
        let count = shared.batch.messages.len();
        let messages =
            (0..count).map(|index| Message { shared: Rc::clone(&shared), index }).collect();
        MessageBatch { shared, messages }
    }

    /// The name of the queue.
    pub fn queue(&self) -> &str {
        &self.shared.batch.queue
    }

    /// The messages, in order of delivery.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The backlog at the time of delivery.
    pub fn metrics(&self) -> Metrics {
        self.shared.batch.metrics
    }

    /// Marks every message that has no mark of its own as done, unless `retry_all` came first.
    pub fn ack_all(&self) {
        if self.shared.whole.get() == Mark::None {
            self.shared.whole.set(Mark::Ack);
        }
    }

    /// Marks every message that has no mark of its own as failed, unless `ack_all` came first.
    pub fn retry_all(&self) {
        self.mark_retry_all(None);
    }

    /// Like [`MessageBatch::retry_all`], with a delay before the next delivery.
    pub fn retry_all_with(&self, delay_seconds: u32) {
        self.mark_retry_all(Some(delay_seconds));
    }

    /// A later call without a delay keeps the delay of an earlier one, as the runtime does.
    fn mark_retry_all(&self, delay_seconds: Option<u32>) {
        match self.shared.whole.get() {
            Mark::Ack => {}
            Mark::None => self.shared.whole.set(Mark::Retry { delay_seconds }),
            Mark::Retry { delay_seconds: earlier } => {
                self.shared.whole.set(Mark::Retry { delay_seconds: delay_seconds.or(earlier) });
            }
        }
    }

    /// What the invocation hands back if it ends now, in this way.
    pub fn result(&self, outcome: BatchOutcome) -> BatchResult {
        let mut result = BatchResult::unmarked(outcome);
        match self.shared.whole.get() {
            Mark::None => {}
            Mark::Ack => result.ack_all = true,
            Mark::Retry { delay_seconds } => {
                result.retry_batch = Some(RetryBatch { delay_seconds });
            }
        }
        for message in self.messages() {
            let id = message.id();
            match message.mark().get() {
                Mark::None => {}
                Mark::Ack => result.explicit_acks.push(id),
                Mark::Retry { delay_seconds } => {
                    result.retry_messages.push(RetryMessage { id, delay_seconds });
                }
            }
        }
        result
    }
}

impl Message {
    /// The message's id.
    pub fn id(&self) -> MessageId {
        self.delivery().id
    }

    /// When the message was sent.
    pub fn timestamp(&self) -> Time {
        self.delivery().timestamp
    }

    /// Which delivery of this message this is, from 1.
    pub fn attempts(&self) -> u32 {
        self.delivery().attempts
    }

    /// What the message says.
    pub fn body(&self) -> &MessageBody {
        &self.delivery().body
    }

    /// Marks the message as done, unless a call before this one decided otherwise.
    pub fn ack(&self) {
        if self.mark().get() == Mark::None && self.shared.whole.get() == Mark::None {
            self.mark().set(Mark::Ack);
        }
    }

    /// Marks the message as failed, unless a call before this one acked it.
    pub fn retry(&self) {
        self.mark_retry(None);
    }

    /// Like [`Message::retry`], with a delay before the next delivery.
    pub fn retry_with(&self, delay_seconds: u32) {
        self.mark_retry(Some(delay_seconds));
    }

    /// Unlike `ack` after `ack_all`, a `retry` after `retry_all` is noted, for its own delay; and
    /// a second `retry` replaces the first, delay and all.
    fn mark_retry(&self, delay_seconds: Option<u32>) {
        if self.mark().get() != Mark::Ack && self.shared.whole.get() != Mark::Ack {
            self.mark().set(Mark::Retry { delay_seconds });
        }
    }

    fn delivery(&self) -> &Delivery {
        &self.shared.batch.messages[self.index]
    }

    fn mark(&self) -> &Cell<Mark> {
        &self.shared.each[self.index]
    }
}
