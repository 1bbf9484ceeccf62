//! Queues: at-least-once, unordered delivery of messages to one consumer per queue.
//!
//! The service is a plain state machine. Operations come in through [`Queues::apply`]; its
//! driver watches [`Queues::ready_at`], forms a batch with [`Queues::take`], invokes the
//! consumer with a [`MessageBatch`], and brings its [`BatchResult`] back to [`Queues::finish`]. A
//! result that never comes is a lease that ends: see [`Queues::expire`]. Where the local emulator
//! differs from production's documentation, [`Options`] names the difference.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::values::backing_store::BackingStore;
use crate::values::sorted_map::SortedMap;
use crate::values::time::Time;

mod backlog;
mod batch;
mod body;
mod config;
mod error;
mod id;
mod later;
mod message_batch;
mod op;
mod persistence;

use backlog::{Backlog, Settled};
pub use batch::{
    Batch, BatchOutcome, BatchResult, Delivery, Expiry, Fate, RetryBatch, RetryMessage,
};
pub use body::{ContentType, MessageBody};
pub use config::{ConfigError, ConsumerConfig, Defect, MAX_DELAY_SECONDS, Options, QueueConfig};
pub use error::{Error, transient_errors};
pub use id::{BatchId, MessageId, QueueId};
pub(crate) use later::PutAway;
pub use message_batch::{Message, MessageBatch};
pub use op::{
    CALLS, MAX_BACKLOG_BYTES, MAX_BATCH_BYTES, MAX_BATCH_MESSAGES, MAX_MESSAGE_BYTES,
    MINIFLARE_MAX_BATCH_BYTES, MessageSendRequest, Metrics, Op, Reply,
};
pub(crate) use persistence::Persisted;

/// Every queue of the simulated account.
///
/// ```
/// use thunderhead_sim::Time;
/// use thunderhead_sim::queue::{BatchResult, ConsumerConfig, MessageBody, Op, QueueConfig, Queues};
///
/// let mut queues = Queues::default();
/// queues.create("uploads", QueueConfig::default()).unwrap();
/// queues.set_consumer("uploads", ConsumerConfig::default()).unwrap();
/// queues.apply(Time::ZERO, &Op::send("uploads", MessageBody::text("a"))).unwrap();
///
/// let uploads = queues.queue_id("uploads").unwrap();
/// let now = queues.ready_at(uploads).unwrap();
/// assert_eq!(now, Time::from_ms(5_000), "a batch that is not full waits");
///
/// let batch = queues.take(now, uploads, &mut |_| 0).unwrap();
/// let fates = queues.finish(now, &batch, &BatchResult::died());
/// assert_eq!(fates[0].to_string(), "retried at 5.000s");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Queues {
    backlogs: Vec<Backlog>,
    names: SortedMap<Arc<str>, QueueId>,
    messages: u64,
    batches: u64,
    /// What retention took since the last report.
    expired: Vec<Expiry>,
    /// Whether changes are remembered, also those of queues that come later.
    kept: bool,
    /// Where messages are put that are due much later.
    backing_store: Option<Rc<dyn BackingStore>>,
}

impl Queues {
    /// The name of every queue.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(|name| &**name)
    }

    /// Creates a queue.
    pub fn create(&mut self, name: &str, config: QueueConfig) -> Result<(), ConfigError> {
        config.check()?;
        if name.is_empty() {
            return Err(ConfigError::NoName);
        }
        if self.names.contains_key(name) {
            return Err(ConfigError::Exists(name.into()));
        }
        self.insert(name.into(), config);
        Ok(())
    }

    fn insert(&mut self, name: Arc<str>, config: QueueConfig) -> QueueId {
        let id = QueueId(u32::try_from(self.backlogs.len()).expect("an account has few queues"));
        self.names.insert(Arc::clone(&name), id);
        let mut backlog = Backlog::new(name, config);
        backlog.changed = self.kept.then(Default::default);
        self.backing_store.iter().for_each(|backing_store| backlog.put_away_on(backing_store));
        self.backlogs.push(backlog);
        id
    }

    /// Gives a queue its consumer, or other settings to the one it has.
    ///
    /// A dead letter queue that does not exist is created when the first message is sent there.
    pub fn set_consumer(&mut self, name: &str, config: ConsumerConfig) -> Result<(), ConfigError> {
        config.check()?;
        let id = self.queue_id(name).ok_or_else(|| ConfigError::NotFound(name.into()))?;
        self.backlog_mut(id).consumer = Some(config);
        Ok(())
    }

    /// The queue of this name.
    pub fn queue_id(&self, name: &str) -> Option<QueueId> {
        self.names.get(name).copied()
    }

    /// The name of a queue.
    pub fn queue_name(&self, queue: QueueId) -> &Arc<str> {
        &self.backlog(queue).name
    }

    /// Every queue, in order of creation.
    pub fn ids(&self) -> impl Iterator<Item = QueueId> + use<> {
        (0..u32::try_from(self.backlogs.len()).unwrap_or(u32::MAX)).map(QueueId)
    }

    /// The settings of a queue's consumer, if it has one.
    pub fn consumer(&self, queue: QueueId) -> Option<&ConsumerConfig> {
        self.backlog(queue).consumer.as_ref()
    }

    /// The messages that wait for a delivery, in the order in which they would come.
    pub fn waiting(&self, queue: QueueId) -> impl Iterator<Item = MessageId> + '_ {
        self.backlog(queue).waiting()
    }

    /// The messages that are being delivered.
    pub fn leased(&self, queue: QueueId) -> impl Iterator<Item = MessageId> + '_ {
        self.backlog(queue).leased()
    }

    /// How many batches are in progress.
    pub fn in_flight(&self, queue: QueueId) -> usize {
        self.backlog(queue).in_flight()
    }

    /// Carries out one operation of a producer.
    pub fn apply(&mut self, now: Time, op: &Op) -> Result<Reply, Error> {
        let queue = self.queue_id(op.queue());
        let queue = queue.ok_or_else(|| Error::service(error::QUEUE_NOT_FOUND))?;
        self.sweep(now, queue);
        let options = self.backlog(queue).config.options;
        self.accept(now, queue, op).map_err(|error| match error {
            Error::Service(_) if options.miniflare_errors_are_15000 => {
                Error::service(error::UNKNOWN)
            }
            error => error,
        })
    }

    fn accept(&mut self, now: Time, queue: QueueId, op: &Op) -> Result<Reply, Error> {
        let options = self.backlog(queue).config.options;
        op.check(match options.miniflare_batch_of_288_kb {
            true => MINIFLARE_MAX_BATCH_BYTES,
            false => MAX_BATCH_BYTES,
        })?;
        // The emulator looks at its backlog before the new messages have joined it.
        let before = self.backlog(queue).metrics(now);
        let metrics = |queues: &Queues| match options.miniflare_backlog_is_ready_messages {
            true => before,
            false => queues.backlog(queue).metrics(now),
        };
        match op {
            Op::Send { message, .. } => {
                self.make_room(queue, std::slice::from_ref(message))?;
                let id = self.store(now, queue, message, None);
                Ok(Reply::Sent { id, metrics: metrics(self) })
            }
            Op::SendBatch { messages, delay_seconds, .. } => {
                self.make_room(queue, messages)?;
                let store = |message| self.store(now, queue, message, *delay_seconds);
                let ids = messages.iter().map(store).collect();
                Ok(Reply::SentBatch { ids, metrics: metrics(self) })
            }
            Op::Metrics { .. } => Ok(Reply::Metrics(before)),
        }
    }

    fn make_room(&self, queue: QueueId, messages: &[MessageSendRequest]) -> Result<(), Error> {
        let more: u64 = messages.iter().map(|message| message.body.len() as u64).sum();
        match self.backlog(queue).bytes() + more > MAX_BACKLOG_BYTES {
            true => Err(Error::service(error::STORAGE_LIMIT_EXCEEDED)),
            false => Ok(()),
        }
    }

    fn store(
        &mut self,
        now: Time,
        queue: QueueId,
        message: &MessageSendRequest,
        batch_delay: Option<u32>,
    ) -> MessageId {
        let seq = self.next_message();
        let id = MessageId::numbered(seq);
        let backlog = self.backlog_mut(queue);
        let delay = message.delay_seconds.or(batch_delay);
        let delay = delay.map(|seconds| Duration::from_secs(seconds.into()));
        let delay = delay.unwrap_or(backlog.config.delivery_delay);
        if !drops(backlog) {
            backlog.add(now, seq, (id, now, message.body.clone()), delay);
        }
        id
    }

    /// The earliest time at which [`Queues::take`] could give a batch, which may be in the past.
    ///
    /// A batch is ready when it is full, or when its oldest message has waited as long as the
    /// consumer allows. There is none while the queue is empty, has no consumer, or has as many
    /// batches in progress as it may.
    pub fn ready_at(&self, queue: QueueId) -> Option<Time> {
        let backlog = self.backlog(queue);
        backlog.ready_at().into_iter().chain(backlog.reads_at()).min()
    }

    /// Forms one batch and leases its messages.
    ///
    /// For each place in the batch `pick` is told how many messages could take it and names one,
    /// counting from 0, which is the one that has waited longest.
    pub fn take(
        &mut self,
        now: Time,
        queue: QueueId,
        pick: &mut dyn FnMut(u32) -> u32,
    ) -> Option<Batch> {
        self.backlog_mut(queue).read_back(now);
        self.sweep(now, queue);
        let id = BatchId(self.batches);
        let batch = self.backlog_mut(queue).take(now, (id, queue), pick)?;
        self.batches += 1;
        Some(batch)
    }

    /// Applies the result of one invocation and says what became of each message, in order.
    ///
    /// It may be called for every copy of a batch, at any time. What one copy has settled is
    /// [`Fate::Gone`] for the others; an ack still settles a message that waits for redelivery.
    pub fn finish(&mut self, now: Time, batch: &Batch, result: &BatchResult) -> Vec<Fate> {
        let queue = batch.queue_id;
        self.sweep(now, queue);
        self.backlog_mut(queue).release(batch.id);
        let options = self.backlog(queue).config.options;
        let fates = batch.messages.iter().map(|delivery| {
            let verdict = result.verdict(delivery.id, options);
            let backlog = self.backlog_mut(queue);
            let settled = backlog.settle(now, delivery.seq, delivery.attempts, verdict);
            self.conclude(now, queue, settled)
        });
        fates.collect()
    }

    /// When the next lease of this queue ends.
    pub fn lease_ends(&self, queue: QueueId) -> Option<Time> {
        self.backlog(queue).lease_ends()
    }

    /// When the next waiting message of this queue has been kept for as long as it may.
    pub fn retention_ends(&self, queue: QueueId) -> Option<Time> {
        self.backlog(queue).retention_ends()
    }

    /// Ends every lease whose time has come, and every message's stay, and reports both.
    ///
    /// A delivery whose lease ends has failed as if its handler had thrown. A message that was
    /// kept too long vanishes, and not into the dead letter queue.
    pub fn expire(&mut self, now: Time) -> Vec<Expiry> {
        for queue_id in self.ids() {
            let forgets = self.backlog(queue_id).config.defect == Some(Defect::ForgetsDeliveries);
            for lease in self.backlog_mut(queue_id).lapsed(now) {
                if forgets {
                    continue;
                }
                for seq in lease.messages {
                    let Some(id) = self.backlog(queue_id).id(seq) else { continue };
                    let settled = self.backlog_mut(queue_id).fail(now, seq, None);
                    let fate = self.conclude(now, queue_id, settled);
                    let batch = Some(lease.batch);
                    self.expired.push(Expiry { queue_id, batch, id, fate });
                }
            }
            self.sweep(now, queue_id);
        }
        std::mem::take(&mut self.expired)
    }

    fn sweep(&mut self, now: Time, queue_id: QueueId) {
        let gone = self.backlog_mut(queue_id).sweep(now).into_iter();
        let expired = |id| Expiry { queue_id, batch: None, id, fate: Fate::Expired };
        self.expired.extend(gone.map(expired));
    }

    /// Carries a dead letter over, as a new message with the old id, timestamp and body.
    fn conclude(&mut self, now: Time, from: QueueId, settled: Settled) -> Fate {
        let (queue, message) = match settled {
            Settled::Here(fate) => return fate,
            Settled::DeadLetter { queue, message } => (queue, message),
        };
        let seq = self.next_message();
        let id = match self.queue_id(&queue) {
            Some(id) => id,
            None => {
                let options = self.backlog(from).config.options;
                let config = QueueConfig { options, ..QueueConfig::default() };
                self.insert(Arc::clone(&queue), config)
            }
        };
        let backlog = self.backlog_mut(id);
        if drops(backlog) {
            return Fate::Dropped;
        }
        let delay = backlog.config.delivery_delay;
        backlog.add(now, seq, (message.id, message.timestamp, message.body), delay);
        Fate::DeadLettered { queue }
    }

    fn next_message(&mut self) -> u64 {
        self.messages += 1;
        self.messages
    }

    fn backlog(&self, queue: QueueId) -> &Backlog {
        &self.backlogs[queue.index()]
    }

    fn backlog_mut(&mut self, queue: QueueId) -> &mut Backlog {
        &mut self.backlogs[queue.index()]
    }
}

/// Whether a queue without a consumer forgets what it is sent, as the emulator's do.
fn drops(backlog: &Backlog) -> bool {
    backlog.consumer.is_none() && backlog.config.options.miniflare_no_consumer_drops_message
}
