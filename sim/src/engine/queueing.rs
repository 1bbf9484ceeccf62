//! The consumers of queues, and what is on the agenda for them.

use crate::engine::ids::HostId;
use crate::services::queue::QueueId;
use crate::values::sorted_map::SortedMap;
use crate::values::time::Time;

pub(crate) struct Queueing {
    consumers: SortedMap<QueueId, Consumer>,
    /// When the leases are looked at next.
    expiry_scheduled: Time,
}

/// The consumer of one queue.
#[derive(Clone, Copy, Debug)]
struct Consumer {
    host: HostId,
    /// When the queue is looked at next for a batch that is due.
    scheduled: Time,
}

impl Default for Queueing {
    fn default() -> Queueing {
        Queueing { consumers: SortedMap::new(), expiry_scheduled: Time::NEVER }
    }
}

impl Queueing {
    pub fn set_consumer(&mut self, queue: QueueId, host: HostId) {
        self.consumers.insert(queue, Consumer { host, scheduled: Time::NEVER });
    }

    /// The queues that have a consumer.
    pub fn consumed(&self) -> impl Iterator<Item = QueueId> {
        self.consumers.keys().copied()
    }

    /// Whether an event has to be scheduled so that the queue is looked at by `due`.
    pub fn needs_pump(&mut self, queue: QueueId, due: Time) -> bool {
        let Some(consumer) = self.consumers.get_mut(&queue) else { return false };
        let earlier = due < consumer.scheduled;
        if earlier {
            consumer.scheduled = due;
        }
        earlier
    }

    /// The host that consumes a queue, if the queue is to be looked at now. An event that an earlier one
    /// has made superfluous finds nothing to do.
    pub fn begin_pump(&mut self, queue: QueueId, now: Time) -> Option<HostId> {
        let consumer = self.consumers.get_mut(&queue)?;
        if consumer.scheduled > now {
            return None;
        }
        consumer.scheduled = Time::NEVER;
        Some(consumer.host)
    }

    /// Whether an event has to be scheduled so that leases are looked at when the next one ends.
    pub fn needs_expiry(&mut self, ends: Time, now: Time) -> bool {
        let needed = self.expiry_scheduled <= now || ends < self.expiry_scheduled;
        if needed {
            self.expiry_scheduled = ends;
        }
        needed
    }
}
