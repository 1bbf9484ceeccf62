//! A queue as a producer sees it.

use crate::engine::env::Env;
use crate::protocol::op::Op;
use crate::protocol::outcome::{Error, Reply};
use crate::services::queue;

/// A queue that messages can be sent to.
#[derive(Clone, Debug)]
pub struct Queue {
    env: Env,
    name: String,
}

impl Queue {
    pub(crate) fn new(env: Env, name: &str) -> Queue {
        Queue { env, name: name.into() }
    }

    /// Sends one message. Once this has resolved, the queue does not lose the message. Returns how much the
    /// queue holds.
    pub async fn send(&self, body: queue::MessageBody) -> Result<queue::Metrics, Error> {
        Ok(self.call(queue::Op::send(&self.name, body)).await?.metrics())
    }

    /// Sends one message with options of its own.
    pub async fn send_with(
        &self,
        request: queue::MessageSendRequest,
    ) -> Result<queue::Metrics, Error> {
        let queue = self.name.as_str().into();
        Ok(self.call(queue::Op::Send { queue, message: request }).await?.metrics())
    }

    /// Sends up to 100 messages at once, all or none.
    pub async fn send_batch(
        &self,
        messages: Vec<queue::MessageSendRequest>,
    ) -> Result<queue::Metrics, Error> {
        Ok(self.call(queue::Op::send_batch(&self.name, messages)).await?.metrics())
    }

    /// How many messages are in the queue, and how large they are.
    pub async fn metrics(&self) -> Result<queue::Metrics, Error> {
        Ok(self.call(queue::Op::metrics(&self.name)).await?.metrics())
    }

    async fn call(&self, op: queue::Op) -> Result<queue::Reply, Error> {
        match self.env.call(None, Op::Queue(op)).await? {
            Reply::Queue(reply) => Ok(reply),
            other => unreachable!("a queue answered with {other}"),
        }
    }
}
