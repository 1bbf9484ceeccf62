//! Queues push: when a batch is due, the consumer is called with it.

use std::sync::Arc;
use std::time::Duration;

use crate::choices::Odds;
use crate::engine::agenda::Scheduled;
use crate::engine::world::{QUEUES_ACTOR, State};
use crate::protocol::fault::Fault;
use crate::protocol::op::Op;
use crate::protocol::site::{ChoiceKind, OpCode};
use crate::protocol::trace::EventKind;
use crate::services::queue::{BatchResult, Fate, MessageId, QueueId};
use crate::values::time::Time;

impl State {
    /// Makes sure that every queue with a consumer will be looked at when a batch can be due.
    pub fn schedule_pumps(&mut self) {
        let queues: Vec<QueueId> = self.consumers.keys().copied().collect();
        for queue in queues {
            self.schedule_pump(queue);
        }
    }

    fn schedule_pump(&mut self, queue: QueueId) {
        let Some(due) = self.queues.ready_at(queue) else { return };
        let due = due.max(self.now);
        let now = self.now;
        let Some(consumer) = self.consumers.get_mut(&queue) else { return };
        if due < consumer.scheduled {
            consumer.scheduled = due;
            self.schedule(due - now, Scheduled::Pump { queue });
        }
    }

    /// Hands over every batch that is due.
    pub fn pump(&mut self, queue: QueueId) {
        let Some(consumer) = self.consumers.get_mut(&queue) else { return };
        if consumer.scheduled > self.now {
            return;
        }
        consumer.scheduled = Time::NEVER;
        let host = consumer.host;
        self.expire();
        // A host that is down gets its batches when it is back: `restart` plans the pumps again.
        while self.host(host).up {
            let Some(op) = self.take(queue, host) else { break };
            self.request(QUEUES_ACTOR, Some(host), None, op);
        }
        if self.host(host).up {
            self.schedule_pump(queue);
        }
        self.schedule_expiry();
    }

    fn take(&mut self, queue: QueueId, host: u16) -> Option<Op> {
        let (key, to) = (self.key(host), self.host(host).name.clone());
        let reorders = self.storm.reorders();
        let scripted = self.storm.scripted_reorder(self.queues.queue_name(queue));
        let rate = self.choices.swarm().rate(Fault::Reorder);
        let choices = &mut self.choices;
        let mut overtaken = false;
        let mut pick = |of: u32| {
            let picked = if scripted {
                of - 1
            } else if reorders {
                choices.choose(ChoiceKind::Pick, key, OpCode::NONE, of, Odds::Rare(rate))
            } else {
                0
            };
            overtaken |= picked > 0;
            picked
        };
        let batch = self.queues.take(self.now, queue, &mut pick)?;
        if overtaken {
            self.record(
                QUEUES_ACTOR,
                EventKind::Fault { call: None, fault: Fault::Reorder, by: None },
            );
        }
        Some(Op::Deliver { to, batch })
    }

    /// The result of a delivery has reached the queue.
    pub fn finish(&mut self, call: u32, result: &BatchResult) {
        let Op::Deliver { batch, .. } = self.trace.op(call) else {
            unreachable!("only deliveries finish")
        };
        let fates = self.queues.finish(self.now, batch, result);
        let ids = batch.messages.iter().map(|delivery| delivery.id);
        let settled: Vec<(MessageId, Fate)> = ids.zip(fates).collect();
        let queue = batch.queue.clone();
        for (message, fate) in settled {
            let (call, queue) = (Some(call), queue.clone());
            self.record(QUEUES_ACTOR, EventKind::Settle { call, queue, message, fate });
        }
        self.schedule_pumps();
        self.schedule_expiry();
    }

    /// Leases whose result never came, and messages kept too long.
    pub fn expire(&mut self) {
        for expiry in self.queues.expire(self.now) {
            let queue: Arc<str> = self.queues.queue_name(expiry.queue_id).clone();
            let (message, fate) = (expiry.id, expiry.fate);
            self.record(QUEUES_ACTOR, EventKind::Settle { call: None, queue, message, fate });
        }
    }

    /// Plans the next end of a lease. Retention is not waited for: an old message vanishes when its
    /// queue is next looked at, and a run does not go on for days to see it.
    pub fn schedule_expiry(&mut self) {
        let ends = self.consumers.keys().filter_map(|queue| self.queues.lease_ends(*queue)).min();
        let Some(ends) = ends else { return };
        if self.expiry_scheduled <= self.now || ends < self.expiry_scheduled {
            self.expiry_scheduled = ends;
            let after: Duration = ends - self.now;
            self.schedule(after, Scheduled::Expire);
        }
    }
}
