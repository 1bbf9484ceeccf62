//! What SQLite answers when it refuses, in the words of the platform around it.

use std::fmt;
use std::sync::Arc;

use rusqlite::ffi;
use serde::{Deserialize, Serialize};

/// Why a statement was refused; shown with the exact text of the platform.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Error {
    /// The reason, to match on.
    pub kind: ErrorKind,
    /// The platform's text.
    pub message: Arc<str>,
}

/// The reasons an application may want to tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ErrorKind {
    /// A `UNIQUE` constraint.
    Unique,
    /// A primary key that is there already.
    PrimaryKey,
    /// A `NOT NULL` constraint.
    NotNull,
    /// A `CHECK` constraint.
    Check,
    /// A foreign key without its parent.
    ForeignKey,
    /// A value of the wrong type in a strict table.
    Datatype,
    /// Another constraint, such as `RAISE(ABORT, …)` in a trigger.
    Constraint,
    /// A statement, a value or a row over the limit.
    TooBig,
    /// The platform does not let applications do this.
    NotAuthorized,
    /// `BEGIN`, `SAVEPOINT` and their kin.
    Transaction,
    /// Not as many values as the statement has parameters.
    Bindings,
    /// No statement at all.
    NoStatement,
    /// A broken statement, or one that names what is not there.
    Sql,
    /// A foreign key was still broken when the writes were to be committed.
    Deferred,
    /// The simulation cannot do it.
    Unsupported,
}

/// The platform's answer to transaction statements.
pub const USE_TRANSACTION_API: &str = "To execute a transaction, please use the \
    state.storage.transaction() or state.storage.transactionSync() APIs instead of the SQL BEGIN \
    TRANSACTION or SAVEPOINT statements. The JavaScript API is safer because it will automatically \
    roll back on exceptions, and because it interacts correctly with Durable Objects' automatic \
    atomic write coalescing.";

impl Error {
    pub(super) fn new(kind: ErrorKind, message: &str) -> Error {
        Error { kind, message: message.into() }
    }

    pub(super) fn transaction() -> Error {
        Error::new(ErrorKind::Transaction, USE_TRANSACTION_API)
    }

    pub(super) fn bindings() -> Error {
        Error::new(ErrorKind::Bindings, "Wrong number of parameter bindings for SQL query.")
    }

    /// The error of a statement that SQLite refused.
    pub(super) fn from_sqlite(error: rusqlite::Error) -> Error {
        let (code, message) = match error {
            rusqlite::Error::SqlInputError { error, msg, offset, .. } => {
                (error.extended_code, format!("{msg} at offset {offset}"))
            }
            rusqlite::Error::SqliteFailure(error, message) => {
                let text = message.unwrap_or_else(|| ffi::code_to_str(error.extended_code).into());
                (error.extended_code, text)
            }
            rusqlite::Error::InvalidParameterCount(..) => return Error::bindings(),
            rusqlite::Error::NulError(_) => {
                (ffi::SQLITE_ERROR, "unrecognized token: \"\0\"".into())
            }
            other => (ffi::SQLITE_ERROR, other.to_string()),
        };
        let (kind, extended) = extended(code);
        let suffix = extended.map(|name| format!(" (extended: {name})")).unwrap_or_default();
        let message = format!("{message}: {}{suffix}", primary(code));
        Error { kind, message: message.into() }
    }

    /// Whether a row with this key was there already.
    pub fn is_unique_violation(&self) -> bool {
        matches!(self.kind, ErrorKind::Unique | ErrorKind::PrimaryKey)
    }
}

fn extended(code: i32) -> (ErrorKind, Option<&'static str>) {
    match code {
        ffi::SQLITE_CONSTRAINT_UNIQUE => (ErrorKind::Unique, Some("SQLITE_CONSTRAINT_UNIQUE")),
        ffi::SQLITE_CONSTRAINT_PRIMARYKEY => {
            (ErrorKind::PrimaryKey, Some("SQLITE_CONSTRAINT_PRIMARYKEY"))
        }
        ffi::SQLITE_CONSTRAINT_ROWID => (ErrorKind::PrimaryKey, Some("SQLITE_CONSTRAINT_ROWID")),
        ffi::SQLITE_CONSTRAINT_NOTNULL => (ErrorKind::NotNull, Some("SQLITE_CONSTRAINT_NOTNULL")),
        ffi::SQLITE_CONSTRAINT_CHECK => (ErrorKind::Check, Some("SQLITE_CONSTRAINT_CHECK")),
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => {
            (ErrorKind::ForeignKey, Some("SQLITE_CONSTRAINT_FOREIGNKEY"))
        }
        ffi::SQLITE_CONSTRAINT_DATATYPE => {
            (ErrorKind::Datatype, Some("SQLITE_CONSTRAINT_DATATYPE"))
        }
        ffi::SQLITE_CONSTRAINT_TRIGGER => {
            (ErrorKind::Constraint, Some("SQLITE_CONSTRAINT_TRIGGER"))
        }
        ffi::SQLITE_TOOBIG => (ErrorKind::TooBig, None),
        ffi::SQLITE_AUTH => (ErrorKind::NotAuthorized, None),
        _ if code & 0xff == ffi::SQLITE_CONSTRAINT => (ErrorKind::Constraint, None),
        _ => (ErrorKind::Sql, None),
    }
}

fn primary(code: i32) -> &'static str {
    match code & 0xff {
        ffi::SQLITE_CONSTRAINT => "SQLITE_CONSTRAINT",
        ffi::SQLITE_TOOBIG => "SQLITE_TOOBIG",
        ffi::SQLITE_AUTH => "SQLITE_AUTH",
        ffi::SQLITE_MISMATCH => "SQLITE_MISMATCH",
        ffi::SQLITE_RANGE => "SQLITE_RANGE",
        ffi::SQLITE_FULL => "SQLITE_FULL",
        ffi::SQLITE_LOCKED => "SQLITE_LOCKED",
        ffi::SQLITE_READONLY => "SQLITE_READONLY",
        ffi::SQLITE_CORRUPT => "SQLITE_CORRUPT",
        _ => "SQLITE_ERROR",
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
