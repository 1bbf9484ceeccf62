//! What of a queue outlives the process that runs it: its unsettled messages, without their leases.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{MessageBody, MessageId, QueueConfig, QueueId, Queues};
use crate::values::sorted_set::SortedSet;
use crate::values::time::Time;

/// A message as it is written down.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Persisted {
    pub id: MessageId,
    pub timestamp: Time,
    pub body: MessageBody,
    pub arrived: Time,
    /// How many deliveries have failed.
    pub attempts: u32,
    pub due: Time,
}

/// A message that has changed.
pub(crate) struct KeptMessage {
    pub queue: Arc<str>,
    pub seq: u64,
    /// What there is to write down, unless it is settled.
    pub kept: Option<Persisted>,
    /// When it is due, and how many bytes it has, if it leaves the memory until then.
    pub later: Option<(Time, u64)>,
}

impl Queues {
    /// From now on remembers which messages change.
    pub(crate) fn keep_changes(&mut self) {
        self.kept = true;
        for backlog in &mut self.backlogs {
            backlog.changed = Some(SortedSet::new());
        }
    }

    /// Makes a deliberate mistake: a delivery that a restart cuts off counts as an attempt.
    pub(crate) fn count_leases(&mut self) {
        self.backlogs.iter_mut().for_each(|backlog| backlog.counts_leases = true);
    }

    /// The messages that have changed. They are written down among the changes of this number.
    pub(crate) fn take_kept(&mut self, now: Time, number: u64) -> Vec<KeptMessage> {
        let mut all = Vec::new();
        for backlog in &mut self.backlogs {
            let changed = backlog.changed.as_mut().map(std::mem::take).unwrap_or_default();
            for seq in changed {
                let (queue, kept) = (backlog.name.clone(), backlog.kept(seq));
                let leaves = |kept: &&Persisted| backlog.is_leaving(now, seq, kept.due, number);
                let later = kept.as_ref().filter(leaves);
                let later = later.map(|kept| (kept.due, kept.body.len() as u64));
                all.push(KeptMessage { queue, seq, kept, later });
            }
        }
        all
    }

    /// Puts a message back into its queue.
    pub(crate) fn restore_message(&mut self, queue: &str, seq: u64, kept: Persisted) {
        let id = self.queue_or_new(queue);
        self.backlog_mut(id).restore(seq, kept);
    }

    /// A queue that was there before the restart. One that dead letters had made is made again.
    pub(super) fn queue_or_new(&mut self, queue: &str) -> QueueId {
        let id = self.queue_id(queue);
        id.unwrap_or_else(|| self.insert(queue.into(), QueueConfig::default()))
    }

    /// How many messages and batches have been numbered.
    pub(crate) fn numbers(&self) -> (u64, u64) {
        (self.messages, self.batches)
    }

    /// Goes on behind numbers that were given before.
    pub(crate) fn set_numbers(&mut self, (messages, batches): (u64, u64)) {
        (self.messages, self.batches) = (messages, batches);
    }
}
