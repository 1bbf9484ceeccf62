//! What a durable object's storage answers when it refuses.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::services::sqlite;

/// Why the storage refused; shown with the exact text of the platform.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Error {
    /// SQLite refused the statement.
    Sql(sqlite::Error),
    /// `one()` of no rows.
    NoResults,
    /// `one()` of several rows.
    MultipleResults,
    /// A key and value of too many bytes.
    PairTooBig,
    /// `list()` with a limit of zero.
    ListLimit,
    /// `list()` with both `start` and `startAfter`.
    StartAndStartAfter,
}

impl Error {
    /// The JavaScript class of the exception.
    pub fn name(&self) -> &'static str {
        match self {
            Error::ListLimit | Error::StartAndStartAfter => "TypeError",
            _ => "Error",
        }
    }

    /// SQLite's own error, if it is one.
    pub fn sql(&self) -> Option<&sqlite::Error> {
        match self {
            Error::Sql(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Sql(error) => error.fmt(f),
            Error::NoResults => {
                f.write_str("Expected exactly one result from SQL query, but got no results.")
            }
            Error::MultipleResults => {
                f.write_str("Expected exactly one result from SQL query, but got multiple results.")
            }
            Error::PairTooBig => f.write_str("string or blob too big: SQLITE_TOOBIG"),
            Error::ListLimit => f.write_str("List limit must be positive."),
            Error::StartAndStartAfter => {
                f.write_str("list() cannot be called with both start and startAfter values.")
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<sqlite::Error> for Error {
    fn from(error: sqlite::Error) -> Error {
        Error::Sql(error)
    }
}
