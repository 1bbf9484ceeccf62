//! One queue's unsettled messages: those that wait and those that are being delivered.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::batch::Verdict;
use super::later::Later;
use super::persistence::Persisted;
use super::{
    Batch, BatchId, ConsumerConfig, Defect, Delivery, Fate, MAX_DELAY_SECONDS, MessageBody,
    MessageId, Metrics, QueueConfig, QueueId,
};
use crate::values::sorted_map::SortedMap;
use crate::values::sorted_set::SortedSet;
use crate::values::time::Time;

/// The state of one queue.
///
/// A message in `messages` is either in `waiting` once or in one lease once; one that is settled
/// is in neither, and absent. Numbers rise with arrival, so the first message is the oldest.
#[derive(Clone, Debug)]
pub(super) struct Backlog {
    pub name: Arc<str>,
    pub config: QueueConfig,
    pub consumer: Option<ConsumerConfig>,
    messages: SortedMap<u64, Stored>,
    /// Ordered by when each can be delivered, then by when it joined.
    waiting: VecDeque<Waiting>,
    leases: Vec<Lease>,
    bytes: u64,
    /// The messages that changed since they were last written down, if anybody writes them down.
    pub changed: Option<SortedSet<u64>>,
    /// A deliberate mistake: what is written down counts a delivery that has not ended.
    pub counts_leases: bool,
    /// Those that are not in memory, in a process that runs for long.
    pub later: Option<Later>,
}

#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub id: MessageId,
    pub timestamp: Time,
    pub body: MessageBody,
    arrived: Time,
    attempts: u32,
    leased: bool,
    /// When it can be delivered, or could be when it was leased.
    due: Time,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    due: Time,
    seq: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Lease {
    pub batch: BatchId,
    pub messages: Vec<u64>,
    ends: Time,
}

/// What a failed delivery leads to; the last step of a dead letter needs another queue.
pub(super) enum Settled {
    Here(Fate),
    DeadLetter { queue: Arc<str>, message: Stored },
}

impl Backlog {
    pub fn new(name: Arc<str>, config: QueueConfig) -> Backlog {
        Backlog {
            name,
            config,
            consumer: None,
            messages: SortedMap::new(),
            waiting: VecDeque::new(),
            leases: Vec::new(),
            bytes: 0,
            changed: None,
            counts_leases: false,
            later: None,
        }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn waiting(&self) -> impl Iterator<Item = MessageId> + '_ {
        self.waiting.iter().filter_map(|waiting| self.id(waiting.seq))
    }

    pub fn leased(&self) -> impl Iterator<Item = MessageId> + '_ {
        self.leases.iter().flat_map(|lease| &lease.messages).filter_map(|seq| self.id(*seq))
    }

    pub fn id(&self, seq: u64) -> Option<MessageId> {
        self.messages.get(&seq).map(|message| message.id)
    }

    pub fn in_flight(&self) -> usize {
        self.leases.len()
    }

    pub fn add(
        &mut self,
        now: Time,
        seq: u64,
        (id, timestamp, body): (MessageId, Time, MessageBody),
        delay: Duration,
    ) {
        self.bytes += bytes(&body);
        let (due, attempts, leased) = (now + delay, 0, false);
        let message = Stored { id, timestamp, body, arrived: now, attempts, leased, due };
        self.messages.insert(seq, message);
        self.wait(Waiting { due, seq });
        self.note(seq);
    }

    /// Joins the line behind everything that can be delivered as early.
    fn wait(&mut self, waiting: Waiting) {
        if self.waiting.back().is_none_or(|last| last.due <= waiting.due) {
            self.waiting.push_back(waiting);
            return;
        }
        let place = self.waiting.partition_point(|other| other.due <= waiting.due);
        self.waiting.insert(place, waiting);
    }

    pub fn ready_at(&self) -> Option<Time> {
        let consumer = self.consumer.as_ref()?;
        let size = usize_of(consumer.max_batch_size);
        let full = self.waiting.get(size - 1).map(|last| last.due);
        match &*self.leases {
            [] => {}
            busy if self.config.options.miniflare_one_batch_at_a_time => {
                let beside = busy.len() == 1 && busy[0].messages.len() < size;
                return full.filter(|_| beside);
            }
            busy if busy.len() >= usize_of(consumer.max_concurrency) => return None,
            _ => {}
        }
        let timeout = self.waiting.front()?.due + consumer.max_batch_timeout;
        Some(full.map_or(timeout, |full| full.min(timeout)))
    }

    pub fn take(
        &mut self,
        now: Time,
        (id, queue_id): (BatchId, QueueId),
        pick: &mut dyn FnMut(u32) -> u32,
    ) -> Option<Batch> {
        if self.ready_at()? > now {
            return None;
        }
        let consumer = self.consumer.as_ref()?;
        let ends = now + consumer.lease;
        let eligible = self.waiting.partition_point(|waiting| waiting.due <= now);
        let size = eligible.min(usize_of(consumer.max_batch_size));
        let mut lease = Lease { batch: id, messages: Vec::with_capacity(size), ends };
        let mut messages = Vec::with_capacity(size);
        for left in (eligible - size + 1..=eligible).rev() {
            let picked = pick(u32::try_from(left).unwrap_or(u32::MAX));
            let waiting = self.waiting.remove(usize_of(picked).min(left - 1));
            let Waiting { seq, .. } = waiting.expect("the pick is among the eligible");
            let stored = self.messages.get_mut(&seq).expect("what waits is stored");
            stored.attempts += 1;
            stored.leased = true;
            lease.messages.push(seq);
            messages.push(Delivery {
                seq,
                id: stored.id,
                timestamp: stored.timestamp,
                attempts: stored.attempts,
                body: stored.body.clone(),
            });
        }
        if self.counts_leases {
            lease.messages.iter().for_each(|seq| self.note(*seq));
        }
        self.leases.push(lease);
        let (queue, metrics) = (Arc::clone(&self.name), self.metrics(now));
        Some(Batch { id, queue_id, queue, messages, metrics })
    }

    /// Gives back the place that a batch took, the first time that one of its copies ends.
    pub fn release(&mut self, batch: BatchId) {
        if let Some(place) = self.leases.iter().position(|lease| lease.batch == batch) {
            self.leases.remove(place);
        }
    }

    /// The leases that have ended, which are over with this.
    pub fn lapsed(&mut self, now: Time) -> Vec<Lease> {
        self.leases.extract_if(.., |lease| lease.ends <= now).collect()
    }

    /// Applies a verdict on one delivery, whether or not that delivery is still the current one.
    ///
    /// An ack counts however late it comes. A failure counts only for the current delivery: an
    /// older one has failed already, when its lease ended or another copy of it did.
    pub fn settle(&mut self, now: Time, seq: u64, attempts: u32, verdict: Verdict) -> Settled {
        let Some(stored) = self.messages.get(&seq) else {
            let again = self.config.defect == Some(Defect::SettlesAgain);
            return Settled::Here(if again { Fate::Acked } else { Fate::Gone });
        };
        match verdict {
            Verdict::Ack => {
                self.remove(seq);
                Settled::Here(Fate::Acked)
            }
            Verdict::Retry { delay_seconds } if stored.leased && stored.attempts == attempts => {
                self.fail(now, seq, delay_seconds)
            }
            Verdict::Retry { .. } => Settled::Here(Fate::Gone),
        }
    }

    /// Counts the current delivery of a message as failed.
    pub fn fail(&mut self, now: Time, seq: u64, delay_seconds: Option<u32>) -> Settled {
        let stored = self.messages.get_mut(&seq).filter(|stored| stored.leased);
        let (Some(stored), Some(consumer)) = (stored, &self.consumer) else {
            return Settled::Here(Fate::Gone);
        };
        if stored.attempts <= consumer.max_retries {
            stored.leased = false;
            let delay = delay_seconds.map_or(consumer.retry_delay, |seconds| {
                Duration::from_secs(seconds.min(MAX_DELAY_SECONDS).into())
            });
            let due = now + delay;
            stored.due = due;
            self.note(seq);
            self.wait(Waiting { due, seq });
            return Settled::Here(Fate::Retried { at: due });
        }
        let queue = consumer.dead_letter_queue.clone();
        match (self.remove(seq), queue) {
            (Some(message), Some(queue)) => Settled::DeadLetter { queue, message },
            _ => Settled::Here(Fate::Dropped),
        }
    }

    /// Remembers that a message has to be written down again.
    fn note(&mut self, seq: u64) {
        if let Some(changed) = &mut self.changed {
            changed.insert(seq);
        }
    }

    /// What is written down of a message. A lease is not: it ends with the process, and a delivery that ended so
    /// has not failed.
    pub fn kept(&self, seq: u64) -> Option<Persisted> {
        let stored = self.messages.get(&seq)?;
        Some(Persisted {
            id: stored.id,
            timestamp: stored.timestamp,
            body: stored.body.clone(),
            arrived: stored.arrived,
            attempts: stored.attempts - u32::from(stored.leased && !self.counts_leases),
            due: stored.due,
        })
    }

    /// Puts a message back that was written down.
    pub fn restore(&mut self, seq: u64, kept: Persisted) {
        self.add_bytes(bytes(&kept.body));
        self.put_back(seq, kept);
    }

    /// How many messages are in memory.
    pub fn held(&self) -> usize {
        self.messages.len()
    }

    pub fn add_bytes(&mut self, more: u64) {
        self.bytes += more;
    }

    /// When a message can be delivered that is in memory.
    pub fn due(&self, seq: u64) -> Option<Time> {
        self.messages.get(&seq).map(|stored| stored.due)
    }

    /// Takes a message that waits out of memory; it still counts. Returns when it was sent.
    pub fn forget(&mut self, seq: u64, due: Time) -> Option<Time> {
        let first = self.waiting.partition_point(|waiting| waiting.due < due);
        let place = self.waiting.iter().skip(first).position(|waiting| waiting.seq == seq);
        self.waiting.remove(first + place?);
        self.messages.remove(&seq).map(|stored| stored.timestamp)
    }

    /// Brings a message back into memory that counts already.
    pub fn put_back(&mut self, seq: u64, kept: Persisted) {
        let Persisted { id, timestamp, body, arrived, attempts, due } = kept;
        let message = Stored { id, timestamp, body, arrived, attempts, leased: false, due };
        self.messages.insert(seq, message);
        self.wait(Waiting { due, seq });
    }

    /// A lease may still name the message; it is then skipped there.
    fn remove(&mut self, seq: u64) -> Option<Stored> {
        let stored = self.messages.remove(&seq)?;
        self.note(seq);
        self.bytes -= bytes(&stored.body);
        if !stored.leased {
            self.waiting.retain(|waiting| waiting.seq != seq);
        }
        Some(stored)
    }

    /// Deletes what has been kept too long; a message that is being delivered is left alone.
    pub fn sweep(&mut self, now: Time) -> Vec<MessageId> {
        let retention = self.config.retention;
        let old = |stored: &Stored| stored.arrived + retention <= now;
        if !self.messages.first_key_value().is_some_and(|(_, oldest)| old(oldest)) {
            return Vec::new();
        }
        let oldest_first = self.messages.iter().take_while(|(_, stored)| old(stored));
        let expired: Vec<u64> =
            oldest_first.filter(|(_, stored)| !stored.leased).map(|(seq, _)| *seq).collect();
        expired.into_iter().filter_map(|seq| self.remove(seq)).map(|stored| stored.id).collect()
    }

    pub fn lease_ends(&self) -> Option<Time> {
        self.leases.iter().map(|lease| lease.ends).min()
    }

    pub fn retention_ends(&self) -> Option<Time> {
        let oldest = self.messages.values().find(|stored| !stored.leased)?;
        Some(oldest.arrived + self.config.retention)
    }

    pub fn metrics(&self, now: Time) -> Metrics {
        if self.config.options.miniflare_backlog_is_ready_messages {
            let ready = self.waiting.iter().take_while(|waiting| waiting.due <= now);
            return ready.filter_map(|waiting| self.messages.get(&waiting.seq)).fold(
                Metrics::default(),
                |sum, stored| Metrics {
                    backlog_count: sum.backlog_count + 1,
                    backlog_bytes: sum.backlog_bytes + bytes(&stored.body),
                    oldest_message_timestamp: sum
                        .oldest_message_timestamp
                        .map_or(Some(stored.timestamp), |oldest| {
                            Some(oldest.min(stored.timestamp))
                        }),
                },
            );
        }
        let here = self.messages.first_key_value().map(|(_, stored)| stored.timestamp);
        Metrics {
            backlog_count: self.messages.len() as u64 + self.later_count(),
            backlog_bytes: self.bytes,
            oldest_message_timestamp: here.into_iter().chain(self.oldest_later()).min(),
        }
    }
}

fn bytes(body: &MessageBody) -> u64 {
    body.len() as u64
}

fn usize_of(number: u32) -> usize {
    usize::try_from(number).expect("32 bits fit in memory")
}
