//! The consumer of the bucket's notifications, and of those that failed too often.

use std::time::Duration;

use serde_json::json;
use thunderhead_sim::queue::ConsumerConfig;
use thunderhead_sim::r2::{Date, EventType, Notification};
use thunderhead_sim::{Env, Error, Message, MessageBatch};

use super::mistakes;
use super::names::{AGENT, BUCKET, DEAD_LETTERS, OPERATOR, QUEUE, parse_key};
use crate::systems::backoff::Backoff;
use crate::systems::json;

/// With dead letters, of which there are a hundred tries. A message of the other queue is dead before it gets there.
const BACKOFF: Backoff =
    Backoff { pause: Duration::from_secs(60), even: 5, longest: Duration::from_secs(3 * 3600) };

/// The two queues it consumes. A dead letter is tried again at leisure: whatever made it fail was
/// not its own fault, since what is wrong with a message itself is never tried again.
pub fn queues() -> [(&'static str, ConsumerConfig); 2] {
    let uploads = ConsumerConfig {
        max_batch_timeout: Duration::from_secs(1),
        max_retries: 3,
        retry_delay: Duration::from_secs(5),
        dead_letter_queue: Some(DEAD_LETTERS.into()),
        ..ConsumerConfig::default()
    };
    let dead = ConsumerConfig {
        max_retries: 100,
        retry_delay: BACKOFF.pause,
        dead_letter_queue: None,
        ..uploads.clone()
    };
    [(QUEUE, uploads), (DEAD_LETTERS, dead)]
}

/// Settles each message by itself, so that none holds up its neighbours.
pub async fn consume(env: Env, batch: MessageBatch) -> Result<(), Error> {
    for message in batch.messages() {
        if mistakes::ACKS_FIRST.is_made(&env) {
            message.ack();
            handle(&env, message).await?;
            continue;
        }
        match handle(&env, message).await {
            Ok(()) => message.ack(),
            Err(_) if mistakes::ACKS_FAILURES.is_made(&env) => message.ack(),
            Err(error) => {
                env.log(format!("message {} fails: {error}", message.id().short()));
                BACKOFF.retry(message);
            }
        }
    }
    Ok(())
}

async fn handle(env: &Env, message: &Message) -> Result<(), Error> {
    match read(message) {
        Ok(Read { method: "onDelete", .. }) if mistakes::IGNORES_DELETIONS.is_made(env) => Ok(()),
        Ok(Read { organisation, name, method, event_time }) => {
            let organisation = match mistakes::ONE_AGENT.is_made(env) {
                true => "acme".into(),
                false => organisation,
            };
            let agent = env.durable_object(AGENT).get_by_name(&organisation);
            let args = match method {
                "onDelete" => json!({ "name": name, "eventTime": event_time.to_string() }),
                _ => json!({ "name": name }),
            };
            agent.rpc(method, json::write(&args)).await.map(|_| ())
        }
        Err(reason) if mistakes::RETRIES_MALFORMED.is_made(env) => Err(Error::app(reason)),
        Err(reason) => reject(env, message, &reason).await,
    }
}

/// Whose upload a message is about, which, what to call there, and when it happened.
struct Read {
    organisation: String,
    name: String,
    method: &'static str,
    event_time: Date,
}

fn read(message: &Message) -> Result<Read, String> {
    let event = Notification::parse(&message.body().data).map_err(|error| error.to_string())?;
    if &*event.bucket != BUCKET {
        return Err(format!("not about `{BUCKET}` but about `{}`", event.bucket));
    }
    let key = &*event.object.key;
    let (organisation, name) =
        parse_key(key).ok_or_else(|| format!("no organisation and name in the key `{key}`"))?;
    let method = match event.action.event_type() {
        EventType::ObjectCreate => "ingestUploadEvent",
        EventType::ObjectDelete => "onDelete",
    };
    let event_time = event.event_time;
    Ok(Read { organisation: organisation.into(), name: name.into(), method, event_time })
}

/// Writes down what can never be handled, under its id: it counts once, however often it comes.
async fn reject(env: &Env, message: &Message, reason: &str) -> Result<(), Error> {
    env.log(format!("rejected {}: {reason}", message.id().short()));
    let id = match mistakes::REJECTS_ATTEMPTS.is_made(env) {
        true => format!("{}-{}", message.id(), message.attempts()),
        false => message.id().to_string(),
    };
    let args = json!({ "message": id, "reason": reason });
    let operator = env.durable_object(OPERATOR).get_by_name(QUEUE);
    operator.rpc("reject", json::write(&args)).await.map(|_| ())
}
