//! The settings of a workflow, with production's defaults, and where to follow the emulator.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::AlreadyExists;
use super::id::is_valid_name;

/// The most characters in an instance's id.
pub const MAX_ID_LEN: usize = 100;
/// The most characters in a workflow's name.
pub const MAX_WORKFLOW_NAME_LEN: usize = 64;
/// The most characters in a step's name.
pub const MAX_STEP_NAME_LEN: usize = 256;
/// The most characters in the type of an event.
pub const MAX_EVENT_TYPE_LEN: usize = 100;
/// The most instances in one `createBatch()`.
pub const MAX_BATCH_INSTANCES: usize = 100;
/// The most bytes in the result of a step, in parameters and in the payload of an event.
pub const MAX_VALUE_BYTES: usize = 1024 * 1024;
/// The longest sleep, and the longest wait for an event.
pub const MAX_WAIT: Duration = Duration::from_secs(365 * 86_400);
/// How long `waitForEvent` waits when it does not say.
pub const DEFAULT_EVENT_TIMEOUT: Duration = Duration::from_secs(86_400);

const DAY: Duration = Duration::from_secs(86_400);

/// The settings of one workflow.
///
/// ```
/// use std::time::Duration;
/// use thunderhead_sim::workflow::WorkflowConfig;
///
/// assert_eq!(WorkflowConfig::default().step_limit, 10_000);
/// assert_eq!(WorkflowConfig::free().retention, Duration::from_secs(3 * 86_400));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowConfig {
    /// How long an instance is kept after it has ended, when it does not say itself.
    pub retention: Duration,
    /// The most steps of one instance: 1 to 25,000. Sleeps and waits are not counted.
    pub step_limit: u32,
    /// The most instances that run at once; the rest is queued. One that waits does not count.
    pub concurrency: u32,
    /// Where to follow the local emulator, or another reading of production.
    pub options: Options,
}

impl Default for WorkflowConfig {
    fn default() -> WorkflowConfig {
        WorkflowConfig {
            retention: 30 * DAY,
            step_limit: 10_000,
            concurrency: 50_000,
            options: Options::default(),
        }
    }
}

impl WorkflowConfig {
    /// The limits of an account that pays nothing.
    pub fn free() -> WorkflowConfig {
        WorkflowConfig {
            retention: 3 * DAY,
            step_limit: 1_024,
            concurrency: 100,
            ..WorkflowConfig::default()
        }
    }

    /// A workflow that answers as the local emulator does.
    pub fn miniflare() -> WorkflowConfig {
        WorkflowConfig { options: Options::miniflare(), ..WorkflowConfig::default() }
    }

    pub(super) fn check(&self, name: &str) -> Result<(), ConfigError> {
        if !is_valid_name(name, MAX_WORKFLOW_NAME_LEN) {
            return Err(ConfigError::Name(name.into()));
        }
        if !(1..=25_000).contains(&self.step_limit) {
            return Err(ConfigError::StepLimit(self.step_limit));
        }
        if self.concurrency == 0 {
            return Err(ConfigError::Concurrency);
        }
        Ok(())
    }
}

/// Where a workflow departs from production as documented; all off is production.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Options {
    /// How the error of a duplicate id is worded.
    pub already_exists: AlreadyExists,
    /// Refusals begin with `WorkflowError: `, as they do from the emulator of late 2026.
    pub miniflare_error_prefix: bool,
    /// `create` of an existing id resolves, and nothing happens, as it did until August 2026.
    pub miniflare4_create_accepts_existing: bool,
    /// `create` of an existing id resolves as long as the body has not begun.
    pub miniflare_racing_creates_all_resolve: bool,
    /// Nothing ever leaves by age.
    pub miniflare_ids_are_kept_for_ever: bool,
    /// The first retry waits 1 s by default where production waits 10 s.
    pub miniflare_retry_delay_of_1_s: bool,
    /// Results, parameters and payloads may have any size.
    pub miniflare_values_of_any_size: bool,
    /// An uncaught `NonRetryableError` is replaced by a `WorkflowFatalError` that says nothing of
    /// it, as it was in production for compatibility dates before 2026-05-14.
    pub miniflare_non_retryable_is_fatal: bool,
    /// `sleepUntil` looks at the clock again on replay, and throws when its time has passed.
    pub miniflare_sleep_until_fails_on_replay: bool,
    /// A new life of the engine finds events again that an earlier one has consumed.
    pub miniflare_events_come_again: bool,
    /// `sendEvent` to a finished instance resolves, and the event is lost.
    pub miniflare_finished_instance_takes_events: bool,
    /// `sendEvent` takes an event of any type.
    pub miniflare_events_of_any_type: bool,
    /// `resume` of a running instance does nothing, where production documents an error.
    pub miniflare_resume_never_throws: bool,
    /// `status` carries the results of the steps.
    pub miniflare_status_has_step_outputs: bool,
    /// An instance that is parked is `waiting`, as documented, and not `running`, as observed.
    pub parked_is_waiting: bool,
    /// Where a storm lets `create` say that an instance exists, there is one in the end. One project has reported the
    /// contrary; no documentation tells a program to expect it.
    pub exists_means_made: bool,
}

impl Options {
    /// The emulator of late 2026 in every respect.
    pub fn miniflare() -> Options {
        Options {
            already_exists: AlreadyExists::WithId,
            miniflare_error_prefix: true,
            miniflare4_create_accepts_existing: false,
            miniflare_racing_creates_all_resolve: true,
            miniflare_ids_are_kept_for_ever: true,
            miniflare_retry_delay_of_1_s: true,
            miniflare_values_of_any_size: true,
            miniflare_non_retryable_is_fatal: true,
            miniflare_sleep_until_fails_on_replay: true,
            miniflare_events_come_again: true,
            miniflare_finished_instance_takes_events: true,
            miniflare_events_of_any_type: true,
            miniflare_resume_never_throws: true,
            miniflare_status_has_step_outputs: true,
            parked_is_waiting: false,
            exists_means_made: false,
        }
    }

    /// The emulator as it was until August 2026.
    pub fn miniflare4() -> Options {
        Options {
            miniflare_error_prefix: false,
            miniflare4_create_accepts_existing: true,
            miniflare_values_of_any_size: false,
            ..Options::miniflare()
        }
    }

    pub(super) fn default_delay(self) -> Duration {
        Duration::from_secs(if self.miniflare_retry_delay_of_1_s { 1 } else { 10 })
    }

    pub(super) fn fits(self, bytes: usize) -> bool {
        self.miniflare_values_of_any_size || bytes <= MAX_VALUE_BYTES
    }
}

/// Why a workflow cannot be set up like this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// The name is empty, too long, or has characters that a name may not have.
    Name(Arc<str>),
    /// There is a workflow of this name already.
    Exists(Arc<str>),
    /// A limit on steps outside the platform's range.
    StepLimit(u32),
    /// A workflow of which nothing may run.
    Concurrency,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Name(name) => write!(f, "{name:?} is not a name for a workflow"),
            ConfigError::Exists(name) => write!(f, "workflow {name:?} exists already"),
            ConfigError::StepLimit(limit) => {
                write!(f, "step_limit is {limit}, but must be from 1 to 25000")
            }
            ConfigError::Concurrency => f.write_str("concurrency must be at least 1"),
        }
    }
}

impl std::error::Error for ConfigError {}
