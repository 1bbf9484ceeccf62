//! What KV answers when it refuses, in the platform's own words.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::limits::{MAX_KEY_BYTES, MAX_METADATA_BYTES, MAX_VALUE_BYTES};

/// The method that an error names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verb {
    /// A read, or a page of keys.
    Get,
    /// A read of several keys.
    GetBulk,
    /// A write.
    Put,
    /// A deletion.
    Delete,
}

/// Why an operation was refused; shown with the exact text of the platform.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Error {
    /// The service answered with this status.
    Status {
        /// What was asked.
        verb: Verb,
        /// The status.
        code: u32,
        /// What the service says.
        text: Arc<str>,
    },
    /// There is no such namespace. On the platform such a Worker would not deploy.
    NoSuchNamespace(Arc<str>),
}

/// The statuses that reads may be answered with on a bad day.
pub(super) const READS: &[u32] = &[500, 503];
/// Those of writes. A key takes one write a second.
pub(super) const WRITES: &[u32] = &[429, 500, 503];

impl Error {
    pub(super) fn status(verb: Verb, code: u32, text: impl Into<Arc<str>>) -> Error {
        Error::Status { verb, code, text: text.into() }
    }

    /// A failure that passes.
    pub(super) fn passing(verb: Verb, code: u32) -> Error {
        let text = match code {
            429 => "Too Many Requests",
            500 => "Internal Server Error",
            _ => "Service Unavailable",
        };
        Error::status(verb, code, text)
    }

    pub(super) fn key_too_long(verb: Verb, bytes: usize) -> Error {
        let text =
            format!("UTF-8 encoded length of {bytes} exceeds key length limit of {MAX_KEY_BYTES}.");
        Error::status(verb, 414, text)
    }

    pub(super) fn value_too_large(bytes: usize) -> Error {
        let text = format!("Value length of {bytes} exceeds limit of {MAX_VALUE_BYTES}.");
        Error::status(Verb::Put, 413, text)
    }

    pub(super) fn metadata_too_large(bytes: usize) -> Error {
        let text = format!("Metadata length of {bytes} exceeds limit of {MAX_METADATA_BYTES}.");
        Error::status(Verb::Put, 413, text)
    }

    pub(super) fn bulk_too_large() -> Error {
        Error::status(Verb::GetBulk, 413, "Total size of request exceeds the limit of 25MB")
    }

    pub(super) fn invalid(verb: Verb, text: String) -> Error {
        Error::status(verb, 400, text)
    }

    /// Whether the same operation may succeed when it is tried again.
    pub fn is_transient(&self) -> bool {
        matches!(self, Error::Status { code, .. } if WRITES.contains(code))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Status { verb, code, text } => {
                let verb = match verb {
                    Verb::Get => "GET",
                    Verb::GetBulk => "GET_BULK",
                    Verb::Put => "PUT",
                    Verb::Delete => "DELETE",
                };
                write!(f, "KV {verb} failed: {code} {text}")
            }
            Error::NoSuchNamespace(name) => write!(f, "no such namespace: {name}"),
        }
    }
}

impl std::error::Error for Error {}
