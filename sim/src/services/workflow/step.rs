//! How a step is tried: its retries and its timeout.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::duration::{Millis, ms};

/// The retries of a step that names none: production's figures.
pub const DEFAULT_RETRIES: Retries = Retries {
    limit: 5,
    delay: Millis(Duration::from_secs(10)),
    backoff: Some(Backoff::Exponential),
};
/// How long one attempt may take when the step does not say.
pub const DEFAULT_STEP_TIMEOUT: Duration = Duration::from_secs(600);

/// What a step asks for, as the second argument of `step.do`.
///
/// ```
/// use thunderhead_sim::workflow::StepConfig;
///
/// let json = r#"{"retries": {"limit": 3, "delay": "1 second", "backoff": "linear"}}"#;
/// let config: StepConfig = serde_json::from_str(json).unwrap();
/// assert_eq!(config.retries.unwrap().limit, 3);
/// assert!(serde_json::from_str::<StepConfig>(r#"{"foo": 1}"#).is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct StepConfig {
    /// How it is retried; the workflow's default when it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<Retries>,
    /// How long one attempt may take; ten minutes when it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
}

impl StepConfig {
    /// A step that is retried like this.
    pub fn retries(limit: u32, delay: Duration, backoff: Backoff) -> StepConfig {
        let retries = Retries { limit, delay: delay.into(), backoff: Some(backoff) };
        StepConfig { retries: Some(retries), timeout: None }
    }

    /// Limits the time of one attempt.
    pub fn timeout(self, timeout: Duration) -> StepConfig {
        StepConfig { timeout: Some(timeout.into()), ..self }
    }

    /// An attempt that may take no time at all is the one thing the types let through.
    pub(super) fn is_valid(self) -> bool {
        self.timeout.is_none_or(|timeout| !timeout.0.is_zero())
    }

    pub(super) fn resolve(self, default_delay: Duration) -> Policy {
        let default = Retries { delay: default_delay.into(), ..DEFAULT_RETRIES };
        let timeout = self.timeout.unwrap_or(DEFAULT_STEP_TIMEOUT.into());
        Policy { retries: self.retries.unwrap_or(default), timeout }
    }
}

/// The retries of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Retries {
    /// How often it is tried again after its first attempt failed.
    pub limit: u32,
    /// How long the first retry waits.
    pub delay: Millis,
    /// How the wait grows; exponentially when it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
}

/// How the wait grows from retry to retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Backoff {
    /// It does not.
    Constant,
    /// By the first delay each time.
    Linear,
    /// The delay doubles with every retry.
    Exponential,
}

/// A step's settings with nothing left open, as they are frozen when the step first begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    /// How it is retried.
    pub retries: Retries,
    /// How long one attempt may take.
    pub timeout: Millis,
}

impl Policy {
    /// How long to wait after attempt number `attempt` failed.
    pub fn delay(&self, attempt: u32) -> Duration {
        let first = ms(self.retries.delay.0);
        Duration::from_millis(match self.retries.backoff.unwrap_or(Backoff::Exponential) {
            Backoff::Constant => first,
            Backoff::Linear => first.saturating_mul(attempt.into()),
            Backoff::Exponential => {
                first.saturating_mul(2u64.saturating_pow(attempt.saturating_sub(1)))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(backoff: Option<Backoff>) -> Vec<u64> {
        let delay = Duration::from_millis(100).into();
        let config =
            StepConfig { retries: Some(Retries { limit: 9, delay, backoff }), timeout: None };
        let policy = config.resolve(Duration::ZERO);
        (1..=4).map(|attempt| ms(policy.delay(attempt))).collect()
    }

    #[test]
    fn the_wait_grows_as_its_backoff_says() {
        assert_eq!(delays(Some(Backoff::Constant)), [100, 100, 100, 100]);
        assert_eq!(delays(Some(Backoff::Linear)), [100, 200, 300, 400]);
        assert_eq!(delays(Some(Backoff::Exponential)), [100, 200, 400, 800]);
        assert_eq!(delays(None), [100, 200, 400, 800]);
    }

    #[test]
    fn a_wait_that_grows_for_ever_does_not_wrap() {
        let policy = StepConfig::default().resolve(Duration::from_secs(10));
        assert_eq!(ms(policy.delay(5_000)), u64::MAX);
    }
}
