//! Delivery of queued messages: when a batch is due, its consumer is called with it.

use crate::choices::Odds;
use crate::engine::agenda::Scheduled;
use crate::engine::ids::{CallId, HostId};
use crate::engine::services::Service;
use crate::engine::world::State;
use crate::protocol::fault::Fault;
use crate::protocol::op::Op;
use crate::protocol::site::{ChoiceKind, OpCode};
use crate::protocol::trace::EventKind;
use crate::services::queue::{BatchResult, Fate, MessageId, QueueId};

impl State {
    /// Makes sure that every queue with a consumer is looked at when its next batch is due.
    pub fn schedule_pumps(&mut self) {
        let queues: Vec<QueueId> = self.queueing.consumed().collect();
        for queue in queues {
            self.schedule_pump(queue);
        }
    }

    fn schedule_pump(&mut self, queue: QueueId) {
        let Some(due) = self.services.queues.ready_at(queue) else { return };
        let due = due.max(self.now);
        if self.queueing.needs_pump(queue, due) {
            self.agenda.schedule(due, Scheduled::Pump { queue });
        }
    }

    /// Delivers every batch of a queue that is due.
    pub fn pump(&mut self, queue: QueueId) {
        let Some(host) = self.queueing.begin_pump(queue, self.now) else { return };
        self.expire();
        // A host that is down gets its batches after its restart, which schedules the pumps again.
        while self.host(host).up {
            let Some(op) = self.take_batch(queue, host) else { break };
            self.request(Service::Queues.host(), Some(host), None, op);
        }
        if self.host(host).up {
            self.schedule_pump(queue);
        }
        self.schedule_expiry();
    }

    /// Takes the next batch that is due, in an order that a fault may change.
    fn take_batch(&mut self, queue: QueueId, host: HostId) -> Option<Op> {
        let (key, to) = (self.key(host), self.host(host).name.clone());
        let queues = &mut self.services.queues;
        let reorders = self.storm.reorders();
        let scripted = self.storm.scripted_reorder(queues.queue_name(queue));
        let rate = self.choices.swarm().rate(Fault::Reorder);
        let mut overtaken = false;
        let mut pick = |of: u32| {
            let picked = if scripted {
                of - 1
            } else if reorders {
                self.choices.choose(ChoiceKind::Pick, key, OpCode::NONE, of, Odds::Rare(rate))
            } else {
                0
            };
            overtaken |= picked > 0;
            picked
        };
        let batch = queues.take(self.now, queue, &mut pick)?;
        if overtaken {
            let reordered = EventKind::Fault { call: None, fault: Fault::Reorder, by: None };
            self.record(Service::Queues.host(), reordered);
        }
        Some(Op::Deliver { to, batch })
    }

    /// The result of a delivery reaches the queue.
    pub fn finish_delivery(&mut self, call: CallId, result: &BatchResult) {
        let Op::Deliver { batch, .. } = self.trace.op(call.0) else {
            unreachable!("only deliveries finish")
        };
        let fates = self.services.queues.finish(self.now, batch, result);
        let ids = batch.messages.iter().map(|delivery| delivery.id);
        let settled: Vec<(MessageId, Fate)> = ids.zip(fates).collect();
        let queue = batch.queue.clone();
        for (message, fate) in settled {
            let (call, queue) = (Some(call.0), queue.clone());
            let settle = EventKind::Settle { call, queue, message, fate };
            self.record(Service::Queues.host(), settle);
        }
        self.over(call);
        self.schedule_pumps();
        self.schedule_expiry();
    }

    /// Settles the messages whose lease has ended without a result, or that were retained too long.
    pub fn expire(&mut self) {
        for expiry in self.services.queues.expire(self.now) {
            let queue = self.services.queues.queue_name(expiry.queue_id).clone();
            let (message, fate) = (expiry.id, expiry.fate);
            let settle = EventKind::Settle { call: None, queue, message, fate };
            self.record(Service::Queues.host(), settle);
        }
    }

    /// Makes sure that leases are looked at when the next one ends. No event waits for the end of a
    /// retention: an old message expires when its queue is next looked at, so that a run does not go on
    /// for days to see it.
    pub fn schedule_expiry(&mut self) {
        let queues = &self.services.queues;
        let ends = self.queueing.consumed().filter_map(|queue| queues.lease_ends(queue)).min();
        let Some(ends) = ends else { return };
        if self.queueing.needs_expiry(ends, self.now) {
            self.agenda.schedule(ends.max(self.now), Scheduled::Expire);
        }
    }
}
