//! The queues that a Worker sends to and that it consumes.

use std::time::Duration;

use serde::Deserialize;
use thunderhead_sim::queue::ConsumerConfig;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Queues {
    pub(crate) producers: Vec<Producer>,
    pub(crate) consumers: Vec<Consumer>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Producer {
    pub(crate) binding: String,
    pub(crate) queue: String,
    #[serde(default)]
    pub(crate) delivery_delay: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Consumer {
    pub(crate) queue: String,
    max_batch_size: Option<u32>,
    max_batch_timeout: Option<f64>,
    max_retries: Option<u32>,
    pub(crate) dead_letter_queue: Option<String>,
    retry_delay: Option<u64>,
    max_concurrency: Option<u32>,
}

impl Consumer {
    /// As the simulator takes it; `local` is the emulator on a developer's machine.
    pub fn config(&self, local: bool) -> ConsumerConfig {
        let default = if local { ConsumerConfig::miniflare() } else { ConsumerConfig::default() };
        ConsumerConfig {
            max_batch_size: self.max_batch_size.unwrap_or(default.max_batch_size),
            max_batch_timeout: self
                .max_batch_timeout
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
                .unwrap_or(default.max_batch_timeout),
            max_retries: self.max_retries.unwrap_or(default.max_retries),
            dead_letter_queue: self.dead_letter_queue.as_deref().map(Into::into),
            retry_delay: self.retry_delay.map_or(default.retry_delay, Duration::from_secs),
            max_concurrency: self.max_concurrency.unwrap_or(default.max_concurrency),
            ..default
        }
    }
}
