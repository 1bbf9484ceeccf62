//! The consumer of the messages that look after workflows: each asks the agent how its workflow has ended, again and
//! again until it has.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thunderhead_sim::queue::{ConsumerConfig, MessageBody, MessageSendRequest};
use thunderhead_sim::{Env, Error, MessageBatch};

use super::names::{AGENT, WATCH};
use crate::systems::json;

/// How soon a workflow is asked about, in seconds: once nothing that was asked of it can be on its way any more.
const FIRST_S: u32 = 30 * 60;
/// How long it is at most until the next question, in seconds.
const LONGEST_S: u32 = 6 * 60 * 60;

/// A workflow that is to be asked about.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Watch {
    organization: String,
    event_id: String,
    /// How long the message waits before it is delivered, in seconds.
    pause: u32,
}

/// The queue it consumes. Nobody waits for the answer, so that what fails is tried again every hour: that is often
/// enough for an agent that is out of reach for days, and not so often that the tries are used up by then.
pub fn queue() -> (&'static str, ConsumerConfig) {
    let consumer = ConsumerConfig {
        max_batch_timeout: Duration::from_secs(1),
        max_retries: 100,
        retry_delay: Duration::from_secs(60 * 60),
        ..ConsumerConfig::default()
    };
    (WATCH, consumer)
}

impl Watch {
    /// The workflow of this event, which is about to start.
    pub fn new(organization: &str, event_id: &str) -> Watch {
        Watch { organization: organization.into(), event_id: event_id.into(), pause: FIRST_S }
    }

    /// Puts it on the queue.
    pub async fn send(&self, env: &Env) -> Result<(), Error> {
        let body = MessageBody::json(self).expect("plain data with text keys is JSON");
        let message = MessageSendRequest::from(body).delayed(self.pause);
        env.queue(WATCH).send_with(message).await.map(|_| ())
    }

    /// Asks the agent once.
    async fn look_after(self, env: &Env) -> Result<(), Error> {
        let agent = env.durable_object(AGENT).get_by_name(&self.organization);
        let args = serde_json::json!({ "eventId": self.event_id });
        let ended: bool = json::read(&agent.rpc("settle", json::write(&args)).await?)?;
        if ended {
            return Ok(());
        }
        // A message is kept for a few days and a workflow may take longer, so another one goes on from here.
        Watch { pause: (2 * self.pause).min(LONGEST_S), ..self }.send(env).await
    }
}

/// Settles each message by itself.
pub async fn consume(env: Env, batch: MessageBatch) -> Result<(), Error> {
    for message in batch.messages() {
        let looked = match json::read::<Watch>(&message.body().data) {
            Ok(watch) => watch.look_after(&env).await,
            Err(error) => Err(error),
        };
        match looked {
            Ok(()) => message.ack(),
            Err(error) => {
                env.log(format!("message {} fails: {error}", message.id().short()));
                message.retry();
            }
        }
    }
    Ok(())
}
