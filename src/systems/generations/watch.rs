//! The consumer of the messages that look after generations: each goes to its object again and again
//! until there is nothing left to do.

use std::time::Duration;

use thunderhead_sim::queue::ConsumerConfig;
use thunderhead_sim::{Env, Error, Message, MessageBatch};

use super::generation::WATCH_DELAY;
use super::mistakes;
use super::names::{GENERATION, WATCH, WATCH_LATER};
use crate::systems::json;

/// How much longer each pause is than the one before, and the longest, in seconds.
const PAUSE_STEP: u32 = WATCH_DELAY;
const PAUSE_MAX: u32 = 300;
/// How much longer each pause of a dead letter is than the one before, and the longest, in seconds.
const LATER_STEP: u32 = 600;
const LATER_MAX: u32 = 7_200;

/// The two queues it consumes. The first tries for eight hours, which is longer than any generation may take, and the
/// second for days, which is longer than an outage. Tries of which nobody is heard come at the queue's own pace, and
/// there are enough left if those are every second one.
pub fn queues() -> [(&'static str, ConsumerConfig); 2] {
    let watch = ConsumerConfig {
        max_batch_timeout: Duration::from_secs(1),
        max_retries: 100,
        retry_delay: Duration::from_secs(u64::from(WATCH_DELAY)),
        dead_letter_queue: Some(WATCH_LATER.into()),
        ..ConsumerConfig::default()
    };
    let later = ConsumerConfig { dead_letter_queue: None, ..watch.clone() };
    [(WATCH, watch), (WATCH_LATER, later)]
}

/// Settles each message by itself.
pub async fn consume(env: Env, batch: MessageBatch) -> Result<(), Error> {
    for message in batch.messages() {
        match look_after(&env, message).await {
            Ok(true) => message.ack(),
            Err(_) if mistakes::STOPS_WATCHING.is_made(&env) => message.ack(),
            Ok(false) | Err(_) => {
                let (step, longest) = match batch.queue() {
                    WATCH_LATER => (LATER_STEP, LATER_MAX),
                    _ => (PAUSE_STEP, PAUSE_MAX),
                };
                message.retry_with((step * message.attempts()).min(longest));
            }
        }
    }
    Ok(())
}

async fn look_after(env: &Env, message: &Message) -> Result<bool, Error> {
    let Some(id) = message.body().to_text() else { return Ok(true) };
    let done = env.durable_object(GENERATION).get_by_name(&id).rpc("watch", "").await?;
    json::read(&done)
}
