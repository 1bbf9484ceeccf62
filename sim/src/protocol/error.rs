//! What an application sees when a call fails.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::protocol::object::ObjectError;
use crate::services::ai;
use crate::services::d1;
use crate::services::queue;
use crate::services::r2;
use crate::services::storage;
use crate::services::workflow::{self, StepError};

/// Why a call failed, as an application can match on it.
///
/// ```
/// use thunderhead_sim::Error;
///
/// assert!(Error::NetworkLost.is_transient());
/// assert_eq!(Error::NetworkLost.to_string(), "Network connection lost.");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[repr(u64)] // as in `body.rs`
pub enum Error {
    /// The object store refused.
    R2(r2::Error),
    /// The queue refused.
    Queue(queue::Error),
    /// The model refused.
    Ai(ai::Error),
    /// A durable object threw, was reset, or cannot be reached.
    Object(ObjectError),
    /// The database refused.
    D1(d1::Error),
    /// The workflow service refused.
    Workflow(workflow::Error),
    /// A step failed for good.
    Step(StepError),
    /// The application's own failure, which trying again will not mend: a step is not retried.
    NonRetryable(Arc<str>),
    /// The storage of an object refused.
    Storage(storage::Error),
    /// Nothing came back. The request may have taken effect, may still, or never will.
    NetworkLost,
    /// The application's own failure.
    App(Arc<str>),
}

impl Error {
    /// An application's own failure.
    pub fn app(message: impl Into<Arc<str>>) -> Error {
        Error::App(message.into())
    }

    /// Whether trying again may help.
    pub fn is_transient(&self) -> bool {
        match self {
            Error::R2(error) => error.is_transient(),
            Error::Queue(error) => error.is_transient(),
            Error::Ai(error) => error.is_transient(),
            Error::Object(error) => error.retryable,
            Error::D1(error) => error.is_transient(),
            Error::Workflow(error) => error.is_transient(),
            Error::NetworkLost => true,
            Error::Storage(_) | Error::Step(_) | Error::NonRetryable(_) | Error::App(_) => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::R2(error) => error.fmt(f),
            Error::Queue(error) => error.fmt(f),
            Error::Ai(error) => error.fmt(f),
            Error::Object(error) => error.fmt(f),
            Error::D1(error) => error.fmt(f),
            Error::Workflow(error) => error.fmt(f),
            Error::Step(error) => error.fmt(f),
            Error::Storage(error) => error.fmt(f),
            // The text that workerd gives to a dropped connection.
            Error::NetworkLost => f.write_str("Network connection lost."),
            Error::App(message) | Error::NonRetryable(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {}

impl From<r2::Error> for Error {
    fn from(error: r2::Error) -> Error {
        Error::R2(error)
    }
}

impl From<queue::Error> for Error {
    fn from(error: queue::Error) -> Error {
        Error::Queue(error)
    }
}

impl From<storage::Error> for Error {
    fn from(error: storage::Error) -> Error {
        Error::Storage(error)
    }
}
