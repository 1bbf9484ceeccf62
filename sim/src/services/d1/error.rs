//! What D1 answers when it refuses, in the platform's own words.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Op;
use crate::services::sqlite::{self, ErrorKind};

/// Why an operation was refused; shown with the exact text of the platform.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Error {
    /// SQLite refused the statement.
    Sql(sqlite::Error),
    /// There is nothing to run.
    NoStatements,
    /// A line of `exec()` failed; the lines before it have taken effect.
    Exec {
        /// Which, counting from 1.
        line: u64,
        /// The text of the line.
        sql: Arc<str>,
        /// The message of the error behind it.
        cause: Arc<str>,
    },
    /// `first()` of a column that is not there.
    ColumnNotFound(Arc<str>),
    /// A value that SQL has no type for. Our values all have one: this is for callers in other
    /// languages.
    Type {
        /// What JavaScript's `typeof` says.
        type_of: Arc<str>,
        /// The value as text.
        value: Arc<str>,
    },
    /// `dump()` of a database that has none.
    Dump,
    /// The platform failed, for the moment.
    Transient(Transient),
    /// There is no such database. On the platform such a Worker would not deploy.
    NoSuchDatabase(Arc<str>),
}

impl Error {
    /// SQLite's own error, if it is one.
    pub fn sql(&self) -> Option<&sqlite::Error> {
        match self {
            Error::Sql(error) => Some(error),
            _ => None,
        }
    }

    /// The message of the exception's `cause`: the text without its prefix.
    pub fn cause(&self) -> String {
        match self {
            Error::Sql(error) => error.to_string(),
            Error::NoStatements => "No SQL statements detected.".into(),
            Error::Exec { line, sql, cause } => format!("Error in line {line}: {sql}: {cause}"),
            Error::ColumnNotFound(_) => "Column not found".into(),
            Error::Type { type_of, value } => {
                format!("Type '{type_of}' not supported for value '{value}'")
            }
            Error::Dump => "Status 404".into(),
            Error::Transient(transient) => transient.text().into(),
            Error::NoSuchDatabase(name) => format!("no such database: {name}"),
        }
    }

    /// Whether the same operation may succeed when it is tried again.
    pub fn is_transient(&self) -> bool {
        matches!(self, Error::Transient(_))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The commit failed, which the platform reports without a prefix.
            Error::Sql(error) if error.kind == ErrorKind::Deferred => error.fmt(f),
            Error::Exec { .. } => write!(f, "D1_EXEC_ERROR: {}", self.cause()),
            Error::ColumnNotFound(name) => {
                write!(f, "D1_COLUMN_NOTFOUND: {} ({name})", self.cause())
            }
            Error::Type { .. } => write!(f, "D1_TYPE_ERROR: {}", self.cause()),
            Error::Dump => f.write_str("D1_DUMP_ERROR: Status + 404"),
            _ => write!(f, "D1_ERROR: {}", self.cause()),
        }
    }
}

impl std::error::Error for Error {}

impl From<sqlite::Error> for Error {
    fn from(error: sqlite::Error) -> Error {
        Error::Sql(error)
    }
}

/// The passing failures of D1, as its documentation lists them.
///
/// After any but the last two the caller cannot know whether a write took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Transient {
    /// The connection broke.
    NetworkConnectionLost,
    /// D1 itself was deployed.
    CodeUpdated,
    /// The storage failed.
    StorageReset,
    /// The storage took too long.
    StorageTimeout,
    /// The database used too much memory.
    MemoryExceeded,
    /// The database used too much processor time.
    CpuExceeded,
    /// A request waited too long for its turn.
    QueuedTooLong,
    /// Too many requests wait for their turn.
    TooManyQueued,
}

impl Transient {
    /// The platform's sentence.
    pub const fn text(self) -> &'static str {
        match self {
            Transient::NetworkConnectionLost => "Network connection lost.",
            Transient::CodeUpdated => "D1 DB reset because its code was updated.",
            Transient::StorageReset => "Internal error in D1 DB storage caused object to be reset.",
            Transient::StorageTimeout => {
                "D1 DB storage operation exceeded timeout which caused object to be reset."
            }
            Transient::MemoryExceeded => "D1 DB exceeded its memory limit and was reset.",
            Transient::CpuExceeded => "D1 DB exceeded its CPU time limit and was reset.",
            Transient::QueuedTooLong => "D1 DB is overloaded. Requests queued for too long.",
            Transient::TooManyQueued => "D1 DB is overloaded. Too many requests queued.",
        }
    }

    /// Whether it says that nothing was done.
    pub const fn refuses(self) -> bool {
        matches!(self, Transient::QueuedTooLong | Transient::TooManyQueued)
    }
}

/// What the platform may answer instead of applying `op`, or although it applied it, however
/// correct `op` is.
pub fn transient_errors(op: &Op) -> &'static [Transient] {
    match op.method {
        super::Method::Dump => &[],
        _ => &TRANSIENT,
    }
}

/// All of them; a script names one by its place, counting from 1.
pub const TRANSIENT: [Transient; 8] = [
    Transient::NetworkConnectionLost,
    Transient::CodeUpdated,
    Transient::StorageReset,
    Transient::StorageTimeout,
    Transient::MemoryExceeded,
    Transient::CpuExceeded,
    Transient::QueuedTooLong,
    Transient::TooManyQueued,
];
