//! What of a queue outlives the process that runs it: its unsettled messages, without their leases.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{MessageBody, MessageId, QueueConfig, Queues};
use crate::values::time::Time;

/// A message as it is written down.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Kept {
    pub id: MessageId,
    pub timestamp: Time,
    pub body: MessageBody,
    pub arrived: Time,
    /// How many deliveries have failed.
    pub attempts: u32,
    pub due: Time,
}

impl Queues {
    /// From now on remembers which messages change.
    pub(crate) fn keep_changes(&mut self) {
        self.kept = true;
        for backlog in &mut self.backlogs {
            backlog.changed = Some(BTreeSet::new());
        }
    }

    /// Makes a deliberate mistake: a delivery that a restart cuts off counts as an attempt.
    pub(crate) fn count_leases(&mut self) {
        self.backlogs.iter_mut().for_each(|backlog| backlog.counts_leases = true);
    }

    /// The messages that have changed: the queue, the number, and what there is to write down unless it is settled.
    pub(crate) fn take_kept(&mut self) -> Vec<(Arc<str>, u64, Option<Kept>)> {
        let mut all = Vec::new();
        for backlog in &mut self.backlogs {
            let changed = backlog.changed.as_mut().map(std::mem::take).unwrap_or_default();
            all.extend(
                changed.into_iter().map(|seq| (backlog.name.clone(), seq, backlog.kept(seq))),
            );
        }
        all
    }

    /// Puts a message back into its queue. One that dead letters had made is made again.
    pub(crate) fn restore_message(&mut self, queue: &str, seq: u64, kept: Kept) {
        let id = self.queue_id(queue);
        let id = id.unwrap_or_else(|| self.insert(queue.into(), QueueConfig::default()));
        self.backlog_mut(id).restore(seq, kept);
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
