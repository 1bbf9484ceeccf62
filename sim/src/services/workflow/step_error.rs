//! What a step or a body throws.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::config::{MAX_STEP_NAME_LEN, Options};
use super::duration::{Millis, ms};
use super::id::StepKey;

const NON_RETRYABLE: &str = "NonRetryableError";
const FATAL: &str = "WorkflowFatalError";
const TIMEOUT: &str = "WorkflowTimeoutError";
const INTERNAL: &str = "WorkflowInternalError";

/// An error as JavaScript knows it: a name and a message.
///
/// ```
/// use thunderhead_sim::workflow::StepError;
///
/// assert_eq!(StepError::new("TypeError", "no").to_string(), "TypeError: no");
/// assert!(StepError::non_retryable("no").is_non_retryable());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepError {
    /// `error.name`.
    pub name: Arc<str>,
    /// `error.message`.
    pub message: Arc<str>,
}

impl StepError {
    /// An error of this name.
    pub fn new(name: &str, message: impl Into<Arc<str>>) -> StepError {
        StepError { name: name.into(), message: message.into() }
    }

    /// A plain `Error`.
    pub fn error(message: impl Into<Arc<str>>) -> StepError {
        StepError::new("Error", message)
    }

    /// The error that ends a step without a retry.
    pub fn non_retryable(message: impl Into<Arc<str>>) -> StepError {
        StepError::new(NON_RETRYABLE, message)
    }

    /// What `step.do` throws when its settings make no sense.
    pub fn invalid_config(step: &str) -> StepError {
        let text = format!(
            "Step config for \"{step}\" is in a invalid format. See https://developers.cloudflare.com/workflows/build/sleeping-and-retrying/"
        );
        StepError::new(FATAL, text).over_rpc()
    }

    pub(super) fn invalid_name(step: &str) -> StepError {
        let text = format!(
            "Step name \"{step}\" exceeds max length ({MAX_STEP_NAME_LEN} chars) or invalid \
             characters found"
        );
        StepError::new(FATAL, text).over_rpc()
    }

    pub(super) fn step_limit(limit: u32) -> StepError {
        let text = format!(
            "The limit of {limit} steps has been reached. This limit can be changed in your \
             worker configuration."
        );
        StepError::new(FATAL, text).over_rpc()
    }

    pub(super) fn invalid_event_type(kind: &str) -> StepError {
        StepError::new(FATAL, format!("Event type {kind:?} is invalid")).over_rpc()
    }

    pub(super) fn wait_too_long(step: &str) -> StepError {
        StepError::new(FATAL, format!("Step \"{step}\" waits for more than 365 days")).over_rpc()
    }

    pub(super) fn time_traveler() -> StepError {
        StepError::error("You can't sleep until a time in the past, time-traveler")
    }

    pub(super) fn timed_out(after: Millis) -> StepError {
        StepError::new(TIMEOUT, format!("Execution timed out after {}ms", ms(after.0)))
    }

    pub(super) fn too_large(step: &StepKey) -> StepError {
        let (name, count) = (&step.name, step.count);
        let text =
            format!("Step {name}-{count} output is too large. Maximum allowed size is 1MiB.");
        StepError::new(INTERNAL, text)
    }

    /// Whether it ends a step at once: by its name, or by its message when the name was lost.
    pub fn is_non_retryable(&self) -> bool {
        [NON_RETRYABLE, FATAL].contains(&&*self.name) || self.message.starts_with(NON_RETRYABLE)
    }

    /// The error as it arrives after crossing between the engine and the body.
    ///
    /// Only the classes that every runtime knows keep their name. The name of any other becomes
    /// the beginning of the message.
    pub(super) fn over_rpc(&self) -> StepError {
        match &*self.name {
            "Error" | "EvalError" | "RangeError" | "ReferenceError" | "SyntaxError"
            | "TypeError" | "DataCloneError" => self.clone(),
            _ => StepError::error(self.to_string()),
        }
    }

    /// The error that the status of an instance shows when its body threw this.
    pub(super) fn as_status(&self, options: Options) -> StepError {
        if !self.is_non_retryable() {
            return self.over_rpc();
        }
        if &*self.name == FATAL {
            return self.clone();
        }
        if options.miniflare_non_retryable_is_fatal {
            let text = "The execution of the Workflow instance was terminated, as a step threw an \
                        NonRetryableError and it was not handled";
            return StepError::new(FATAL, text);
        }
        if &*self.name == NON_RETRYABLE {
            return self.clone();
        }
        let message = self.message.strip_prefix(NON_RETRYABLE).unwrap_or(&self.message);
        StepError::non_retryable(message.strip_prefix(':').unwrap_or(message).trim_start())
    }
}

impl fmt::Display for StepError {
    /// As JavaScript prints an error: the name, a colon, the message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&*self.name, &*self.message) {
            (name, "") => f.write_str(name),
            ("", message) => f.write_str(message),
            (name, message) => write!(f, "{name}: {message}"),
        }
    }
}

impl std::error::Error for StepError {}
