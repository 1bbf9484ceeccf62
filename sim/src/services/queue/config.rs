//! The settings of a queue and of its consumer, with production's defaults and ranges.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The longest delay a message may be given, on sending or on retrying: 24 hours.
pub const MAX_DELAY_SECONDS: u32 = 86_400;

const DAY: Duration = Duration::from_secs(86_400);
const MAX_DELAY: Duration = DAY;

/// The settings of a queue itself, which its producers meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// How long a message waits before its first delivery when the producer names no delay.
    pub delivery_delay: Duration,
    /// How long an unsettled message is kept: 60 seconds to 14 days.
    pub retention: Duration,
    /// Where to follow the local emulator instead of production.
    pub options: Options,
    /// What the queue does wrong, for tests.
    pub defect: Option<Defect>,
}

impl Default for QueueConfig {
    fn default() -> QueueConfig {
        let (delivery_delay, options) = (Duration::ZERO, Options::default());
        QueueConfig { delivery_delay, retention: 4 * DAY, options, defect: None }
    }
}

impl QueueConfig {
    /// A queue that answers as the local emulator does.
    pub fn miniflare() -> QueueConfig {
        QueueConfig { options: Options::miniflare(), ..QueueConfig::default() }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        within("delivery_delay", self.delivery_delay, Duration::ZERO, MAX_DELAY)?;
        within("retention", self.retention, Duration::from_secs(60), 14 * DAY)
    }
}

/// The settings of a queue's push consumer.
///
/// ```
/// use thunderhead_sim::queue::ConsumerConfig;
///
/// let consumer = ConsumerConfig { max_retries: 5, ..ConsumerConfig::default() };
/// assert_eq!(consumer.max_batch_size, 10);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerConfig {
    /// The most messages in a batch: 1 to 100.
    pub max_batch_size: u32,
    /// How long a batch that is not full waits for more, up to 60 seconds.
    pub max_batch_timeout: Duration,
    /// How often a message is delivered again after its first delivery failed: 0 to 100.
    pub max_retries: u32,
    /// The queue that receives what failed for the last time; without one it is deleted.
    pub dead_letter_queue: Option<Arc<str>>,
    /// How long a failed message waits when the handler names no delay.
    pub retry_delay: Duration,
    /// The most batches in progress at once: 1 to 250.
    pub max_concurrency: u32,
    /// How long the result of a batch is awaited before its delivery counts as failed.
    ///
    /// Production does not publish this figure for push consumers. The default is the consumer's
    /// wall-clock limit, after which no honest result can come.
    pub lease: Duration,
}

impl Default for ConsumerConfig {
    fn default() -> ConsumerConfig {
        ConsumerConfig {
            max_batch_size: 10,
            max_batch_timeout: Duration::from_secs(5),
            max_retries: 3,
            dead_letter_queue: None,
            retry_delay: Duration::ZERO,
            max_concurrency: 250,
            lease: Duration::from_secs(15 * 60),
        }
    }
}

impl ConsumerConfig {
    /// The numbers that the local emulator assumes where a configuration is silent.
    pub fn miniflare() -> ConsumerConfig {
        ConsumerConfig {
            max_batch_size: 5,
            max_batch_timeout: Duration::from_secs(1),
            max_retries: 2,
            ..ConsumerConfig::default()
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        within("max_batch_size", self.max_batch_size, 1, 100)?;
        let minute = Duration::from_secs(60);
        within("max_batch_timeout", self.max_batch_timeout, Duration::ZERO, minute)?;
        within("max_retries", self.max_retries, 0, 100)?;
        within("retry_delay", self.retry_delay, Duration::ZERO, MAX_DELAY)?;
        within("max_concurrency", self.max_concurrency, 1, 250)?;
        within("lease", self.lease, Duration::from_millis(1), 14 * DAY)?;
        match &self.dead_letter_queue {
            Some(name) if name.is_empty() => Err(ConfigError::NoName),
            _ => Ok(()),
        }
    }
}

/// Something that no queue may do. A promise about queues cannot be broken by an application, so a test that shows
/// that such a promise sees anything needs a queue that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// A message that was settled is settled again by a second copy of its batch.
    SettlesAgain,
    /// A delivery whose result never came is forgotten, and its message with it.
    ForgetsDeliveries,
}

/// Where a queue follows the local emulator; all off is production as documented.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Options {
    /// A handler that throws takes its `ack()` and `ackAll()` with it.
    pub miniflare_acks_lost_on_throw: bool,
    /// `retryAll()` also retries the messages that were acked before it.
    pub miniflare_retry_all_beats_ack: bool,
    /// The next batch waits for the handler of the last one, whatever the concurrency; but one that is full does
    /// not wait for one that was not.
    pub miniflare_one_batch_at_a_time: bool,
    /// Every refusal by the service has the code 15000.
    pub miniflare_errors_are_15000: bool,
    /// `sendBatch()` takes 288,000 bytes where production documents 256,000.
    pub miniflare_batch_of_288_kb: bool,
    /// A message to a queue without a consumer disappears although `send()` succeeds.
    pub miniflare_no_consumer_drops_message: bool,
    /// The backlog leaves out messages just sent, delayed or being delivered.
    pub miniflare_backlog_is_ready_messages: bool,
}

impl Options {
    /// The emulator in every respect.
    pub fn miniflare() -> Options {
        Options {
            miniflare_acks_lost_on_throw: true,
            miniflare_retry_all_beats_ack: true,
            miniflare_one_batch_at_a_time: true,
            miniflare_errors_are_15000: true,
            miniflare_batch_of_288_kb: true,
            miniflare_no_consumer_drops_message: true,
            miniflare_backlog_is_ready_messages: true,
        }
    }
}

/// Why a queue or a consumer cannot be set up like this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// A queue needs a name.
    NoName,
    /// There is a queue of this name already.
    Exists(Arc<str>),
    /// There is no queue of this name.
    NotFound(Arc<str>),
    /// A number is outside the platform's range.
    OutOfRange {
        /// The name of the setting.
        setting: &'static str,
        /// Its value.
        value: String,
        /// The least it may be.
        min: String,
        /// The most it may be.
        max: String,
    },
}

fn within<T: PartialOrd + fmt::Debug>(
    setting: &'static str,
    value: T,
    min: T,
    max: T,
) -> Result<(), ConfigError> {
    if min <= value && value <= max {
        return Ok(());
    }
    let text = |number: T| format!("{number:?}");
    Err(ConfigError::OutOfRange { setting, value: text(value), min: text(min), max: text(max) })
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::NoName => f.write_str("a queue needs a name"),
            ConfigError::Exists(name) => write!(f, "queue {name:?} exists already"),
            ConfigError::NotFound(name) => write!(f, "there is no queue {name:?}"),
            ConfigError::OutOfRange { setting, value, min, max } => {
                write!(f, "{setting} is {value}, but must be from {min} to {max}")
            }
        }
    }
}

impl std::error::Error for ConfigError {}
