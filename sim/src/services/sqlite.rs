//! Real SQLite under every durable object and D1 database.
//!
//! A [`Database`] is one logical database of one run. Opening one costs next to nothing: a
//! connection is taken from a pool that survives runs, already has the schema which the application
//! is about to create, and is rolled back when the run is over. None of this can be seen from SQL.
//! Every changed row is captured, and nothing in it reads a clock or the operating system's
//! randomness.

mod authority;
mod capture;
mod change;
mod connection;
mod database;
mod differing;
mod error;
mod functions;
mod image;
mod limited;
pub mod limits;
mod pool;
mod prepared;
mod script;
mod shape;
mod shared;
mod snapshot;
mod value;

use std::sync::Arc;

pub use change::{Row, RowChange};
pub use database::Database;
pub(crate) use differing::TIED;
pub use error::{Error, ErrorKind, USE_TRANSACTION_API};
pub(crate) use image::Whole;
pub(crate) use script::{is_one_statement, is_pragma, only_reads};
pub use value::{Real, Value};

/// What a statement answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultSet {
    /// The names of the columns; none when the statement does not return rows.
    pub columns: Vec<Arc<str>>,
    /// The rows of the result, in order.
    pub rows: Vec<Vec<Value>>,
    /// An estimate of how many rows were looked at.
    pub rows_read: u64,
    /// Rows and entries of indexes that were written.
    pub rows_written: u64,
    /// Rows that were changed, by triggers and foreign keys too.
    pub changes: u64,
    /// `last_insert_rowid()` afterwards.
    pub last_row_id: i64,
    /// Whether a table, index, view or trigger came, went or changed.
    pub schema_changed: bool,
}
