//! Why a data directory is refused, and what to do.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::Identity;

/// Why a data directory cannot be used.
#[derive(Debug)]
pub enum DataError {
    /// Another process serves it.
    Locked(PathBuf),
    /// It cannot be written.
    Unwritable(PathBuf, io::Error),
    /// There is no database in it.
    NotOne(PathBuf),
    /// It has a database that is not one of ours.
    NotOurs(PathBuf),
    /// It was written by a version that writes in another form.
    Format {
        /// The directory.
        path: PathBuf,
        /// The form that it has.
        found: i64,
        /// The form that this version writes.
        known: i64,
    },
    /// It belongs to another system or variant.
    OtherSystem {
        /// The directory.
        path: PathBuf,
        /// What it belongs to.
        found: Identity,
        /// What was asked for.
        wanted: Identity,
    },
    /// This program has no such system.
    Unknown(Identity),
    /// The migrations of the system's databases are not those with which it was written.
    Migrations,
    /// Something in it cannot be read.
    Damaged(String),
    /// SQLite refused.
    Sqlite(rusqlite::Error),
    /// The operating system gave no randomness.
    Random(String),
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataError::Locked(path) => {
                write!(f, "{} is served by another process; stop that one, or choose another --data", path.display())
            }
            DataError::Unwritable(path, error) => write!(
                f,
                "{} cannot be written: {error}; choose a --data directory that this user may write to",
                path.display()
            ),
            DataError::NotOne(path) => {
                write!(f, "{} is no data directory: it has no cloud.db; `serve --data` makes one", path.display())
            }
            DataError::NotOurs(path) => write!(
                f,
                "{}/cloud.db was not written by thunderhead, and is left alone; choose another --data",
                path.display()
            ),
            DataError::Format { path, found, known } => write!(
                f,
                "{} has format {found} and this version knows format {known}; serve it with the version that wrote it",
                path.display()
            ),
            DataError::OtherSystem { path, found, wanted } => write!(
                f,
                "{} belongs to {} --variant {}, not to {} --variant {}; choose another --data",
                path.display(),
                found.system,
                found.variant,
                wanted.system,
                wanted.variant
            ),
            DataError::Unknown(identity) => {
                write!(f, "this program has no system `{}` with a variant `{}`", identity.system, identity.variant)
            }
            DataError::Migrations => f.write_str(
                "the system's databases were set up by other migrations than this program has; serve it with the \
                 program that wrote it",
            ),
            DataError::Damaged(what) => write!(f, "the data is damaged: {what}"),
            DataError::Sqlite(error) => write!(f, "cloud.db: {error}"),
            DataError::Random(error) => write!(f, "the operating system gives no randomness: {error}"),
        }
    }
}

impl std::error::Error for DataError {}

impl From<rusqlite::Error> for DataError {
    fn from(error: rusqlite::Error) -> DataError {
        DataError::Sqlite(error)
    }
}
