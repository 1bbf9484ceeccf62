//! What a producer is told when a queue will not take its messages.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Why an operation on a queue failed.
///
/// ```
/// use thunderhead_sim::queue::Error;
///
/// let overloaded = Error::service(10250);
/// assert_eq!(overloaded.to_string(), "Queue is overloaded (10250)");
/// assert!(overloaded.is_transient());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Error {
    /// The queue service refused or failed; the code is one of production's documented ones.
    Service(u32),
    /// The runtime refused the call before it left the Worker.
    Type(Arc<str>),
}

pub(super) const QUEUE_NOT_FOUND: u32 = 10104;
pub(super) const BATCH_DELAY_INVALID: u32 = 10202;
pub(super) const MESSAGE_METADATA_INVALID: u32 = 10203;
pub(super) const MESSAGE_SIZE_OUT_OF_BOUNDS: u32 = 10204;
pub(super) const BATCH_SIZE_OUT_OF_BOUNDS: u32 = 10205;
pub(super) const BATCH_COUNT_OUT_OF_BOUNDS: u32 = 10206;
pub(super) const STORAGE_LIMIT_EXCEEDED: u32 = 10251;
pub(super) const UNKNOWN: u32 = 15000;

pub(super) const TRANSIENT: &[u32] = &[10250, STORAGE_LIMIT_EXCEEDED, UNKNOWN];

/// The codes after which a program should send again.
pub fn transient_errors() -> &'static [u32] {
    TRANSIENT
}

impl Error {
    /// The service's error with this code.
    pub fn service(code: u32) -> Error {
        Error::Service(code)
    }

    pub(super) fn type_error(message: impl Into<Arc<str>>) -> Error {
        Error::Type(message.into())
    }

    /// The documented code, which a refusal by the runtime does not have.
    pub fn code(&self) -> Option<u32> {
        match self {
            Error::Service(code) => Some(*code),
            Error::Type(_) => None,
        }
    }

    /// What `error.name` would say.
    pub fn name(&self) -> &'static str {
        match self {
            Error::Service(_) => "Error",
            Error::Type(_) => "TypeError",
        }
    }

    /// Whether the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        self.code().is_some_and(|code| transient_errors().contains(&code))
    }
}

/// The documentation's short description of a code; the exact production text is not published.
fn cause(code: u32) -> &'static str {
    match code {
        QUEUE_NOT_FOUND => "Queue does not exist",
        10201 => "Client disconnected during request processing",
        BATCH_DELAY_INVALID => "Invalid batch delay",
        MESSAGE_METADATA_INVALID => "Invalid message metadata",
        MESSAGE_SIZE_OUT_OF_BOUNDS => "Message size out of bounds",
        BATCH_SIZE_OUT_OF_BOUNDS => "Batch size out of bounds",
        BATCH_COUNT_OUT_OF_BOUNDS => "Batch count out of bounds",
        10250 => "Queue is overloaded",
        STORAGE_LIMIT_EXCEEDED => "Queue storage limit exceeded",
        10252 => "Queue disabled",
        10253 => "Free tier limit exceeded",
        _ => "Unknown Internal Error",
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Service(code) => write!(f, "{} ({code})", cause(*code)),
            Error::Type(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {}
