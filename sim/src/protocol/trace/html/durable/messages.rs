//! Messages that wait in queues.

use super::Reader;
use crate::protocol::op::Op;
use crate::services::queue::{self, Batch, Fate, MessageBody, MessageId};

impl<'a> Reader<'a, '_> {
    /// A queue took messages.
    pub(super) fn sent(&mut self, op: &'a Op, reply: &'a queue::Reply) {
        match (op, reply) {
            (Op::Notify { queue, event }, queue::Reply::Sent { id, .. }) => {
                let says = format!("{} {}", event.action.name(), event.object.key);
                self.waits(queue, *id, self.text.plain(&says));
            }
            (Op::Queue(queue::Op::Send { queue, message }), queue::Reply::Sent { id, .. }) => {
                self.waits(queue, *id, self.body(&message.body));
            }
            (
                Op::Queue(queue::Op::SendBatch { queue, messages, .. }),
                queue::Reply::SentBatch { ids, .. },
            ) => {
                for (id, message) in ids.iter().zip(messages) {
                    self.waits(queue, *id, self.body(&message.body));
                }
            }
            _ => {}
        }
    }

    fn waits(&mut self, queue: &str, id: MessageId, says: String) {
        let fields = vec![("body".into(), says), state("waits".into())];
        self.set("queue", queue, &id.to_string(), Some(fields));
    }

    /// A queue hands messages over.
    pub(super) fn delivered(&mut self, to: &str, batch: &'a Batch) {
        let to = self.text.plain(to);
        for message in &batch.messages {
            let id = message.id.to_string();
            if self.fields("queue", &batch.queue, &id).is_none() {
                self.arrived(&batch.queue);
            }
            let body = ("body".to_string(), self.body(&message.body));
            let fields = vec![body, state(format!("handed to {to}, attempt {}", message.attempts))];
            self.set("queue", &batch.queue, &id, Some(fields));
        }
    }

    /// A message that was moved here has the id by which it is delivered.
    fn arrived(&mut self, queue: &'a str) {
        if let Some(at) = self.moved.iter().position(|(moved, _)| *moved == queue) {
            let (queue, id) = self.moved.remove(at);
            self.set("queue", queue, &id.to_string(), None);
        }
    }

    /// A queue decided what becomes of a message.
    pub(super) fn settled(&mut self, queue: &'a str, message: MessageId, fate: &'a Fate) {
        let id = message.to_string();
        match fate {
            Fate::Gone => {}
            Fate::Retried { at } => {
                self.update("queue", queue, &id, ("state", format!("waits until {at}")));
            }
            Fate::Acked | Fate::Dropped | Fate::Expired => self.set("queue", queue, &id, None),
            Fate::DeadLettered { queue: to } => {
                let fields = self.fields("queue", queue, &id);
                self.set("queue", queue, &id, None);
                if let Some(mut fields) = fields {
                    fields.retain(|(name, _)| name != "state");
                    fields.push(state(format!("waits, from {queue}")));
                    self.set("queue", to, &id, Some(fields));
                    self.moved.push((to, message));
                }
            }
        }
    }

    fn body(&self, body: &MessageBody) -> String {
        self.text.plain(&format!("{body:#}"))
    }
}

fn state(said: String) -> (String, String) {
    ("state".into(), said)
}
