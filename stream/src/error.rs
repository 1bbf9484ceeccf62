//! What a store answers when it cannot do as it was asked.

use std::fmt;

/// Why an operation of a store failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The stream is not as long as the caller believes; nothing was appended.
    Conflict {
        /// How long it is.
        actual: i64,
    },
    /// Some of the batch is in a stream already, but not all of it in this order; nothing was
    /// appended.
    DuplicateId {
        /// One of those that are there.
        message_id: String,
    },
    /// No store would accept this; nothing was done.
    Invalid(String),
    /// The database is of a newer version of this library, which may mean other things by the same words. Nothing
    /// was done.
    NewerSchema {
        /// The version of the database.
        found: i64,
        /// The newest version that is known here.
        known: i64,
    },
    /// There is no connection that is as safe as was asked for. Nothing was sent.
    Tls(String),
    /// No answer. What was asked for may have been done or not: ask again, every operation bears
    /// it.
    Unavailable(String),
    /// The database refused, and would do so again.
    Refused(String),
    /// What is stored is not what any store writes.
    Corrupt(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Conflict { actual } => {
                write!(f, "the stream has moved on: its version is {actual}")
            }
            Error::DuplicateId { message_id } => {
                write!(f, "message {message_id:?} is in a stream already, in other company")
            }
            Error::Invalid(why) => write!(f, "no store accepts this: {why}"),
            Error::NewerSchema { found, known } => write!(
                f,
                "the schema has version {found} and this program knows {known}: use a newer program"
            ),
            Error::Tls(why) => write!(f, "no safe connection: {why}"),
            Error::Unavailable(why) => write!(f, "the database did not answer: {why}"),
            Error::Refused(why) => write!(f, "the database refused: {why}"),
            Error::Corrupt(what) => write!(f, "the stream is damaged: {what}"),
        }
    }
}

impl std::error::Error for Error {}
