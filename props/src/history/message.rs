//! What became of the messages of queues.

use thunderhead_sim::queue::{self, Fate, MessageBody, MessageId};
use thunderhead_sim::{EventKind, Op, Outcome, Reply, SortedMap, Trace};

/// One message of a queue. A message that was moved to a dead-letter queue is another one there.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    /// The queue.
    pub queue: &'a str,
    /// Its id.
    pub id: MessageId,
    /// What it says; none before it is first delivered if R2 or another queue has sent it.
    pub body: Option<&'a MessageBody>,
    /// The index of the event with which the queue took it.
    pub sent: Option<usize>,
    /// Whether the queue ever handed it to a consumer, who may not have begun with it.
    pub handed_over: bool,
    /// The indices of the events with which a consumer began to handle it.
    pub deliveries: Vec<usize>,
    /// How it was settled, and by which event; none while it waits.
    pub settled: Option<(usize, &'a Fate)>,
}

/// Every message, by queue and id.
pub fn messages(trace: &Trace) -> impl Iterator<Item = Message<'_>> {
    let mut found: SortedMap<(&str, MessageId), Message> = SortedMap::new();
    let mut told = Vec::new();
    for (at, event) in trace.events().iter().enumerate() {
        match &event.kind {
            EventKind::Effect { call, outcome } => {
                sent(trace.op(*call), trace.outcome(*outcome), &mut told);
                for (queue, id, body) in told.drain(..) {
                    let message = known(&mut found, queue, id);
                    (message.sent, message.body) = (Some(at), message.body.or(body));
                }
            }
            EventKind::Call { call } | EventKind::Begin { call } => {
                let Op::Deliver { batch, .. } = trace.op(*call) else { continue };
                for delivered in &batch.messages {
                    let message = known(&mut found, &batch.queue, delivered.id);
                    message.body = Some(&delivered.body);
                    message.handed_over = true;
                    if matches!(event.kind, EventKind::Begin { .. }) {
                        message.deliveries.push(at);
                    }
                }
            }
            EventKind::Settle { fate: Fate::Retried { .. } | Fate::Gone, .. } => {}
            EventKind::Settle { queue, message, fate, .. } => {
                known(&mut found, queue, *message).settled.get_or_insert((at, fate));
            }
            _ => {}
        }
    }
    found.into_values()
}

fn known<'a, 'm>(
    found: &'m mut SortedMap<(&'a str, MessageId), Message<'a>>,
    queue: &'a str,
    id: MessageId,
) -> &'m mut Message<'a> {
    found.entry((queue, id)).or_insert_with(|| Message {
        queue,
        id,
        body: None,
        sent: None,
        handed_over: false,
        deliveries: Vec::new(),
        settled: None,
    })
}

/// The messages that a queue takes by an effect.
fn sent<'a>(
    op: &'a Op,
    outcome: &'a Outcome,
    told: &mut Vec<(&'a str, MessageId, Option<&'a MessageBody>)>,
) {
    match (op, outcome) {
        (Op::Notify { queue, .. }, Ok(Reply::Queue(queue::Reply::Sent { id, .. }))) => {
            told.push((queue, *id, None));
        }
        (
            Op::Queue(queue::Op::Send { queue, message }),
            Ok(Reply::Queue(queue::Reply::Sent { id, .. })),
        ) => told.push((queue, *id, Some(&message.body))),
        (
            Op::Queue(queue::Op::SendBatch { queue, messages, .. }),
            Ok(Reply::Queue(queue::Reply::SentBatch { ids, .. })),
        ) => {
            let each = ids.iter().zip(messages);
            told.extend(each.map(|(id, message)| (&**queue, *id, Some(&message.body))));
        }
        _ => {}
    }
}
