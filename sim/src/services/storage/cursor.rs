//! The rows that a query answered.

use std::sync::Arc;

use super::Error;
use crate::services::sqlite::{ResultSet, Row, Value};

/// The rows of one [`exec`](super::SqlStorage::exec), read once from front to back.
///
/// They are all there already: a later write does not change them, where the platform's cursor
/// would read on as it goes.
#[derive(Clone, Debug)]
pub struct SqlCursor {
    columns: Vec<Arc<str>>,
    rows: std::vec::IntoIter<Vec<Value>>,
    rows_read: u64,
    rows_written: u64,
}

impl SqlCursor {
    pub(super) fn new(set: ResultSet) -> SqlCursor {
        let shown = |row: Vec<Value>| row.into_iter().map(Value::shown).collect();
        let rows: Vec<Vec<Value>> = set.rows.into_iter().map(shown).collect();
        SqlCursor {
            columns: set.columns,
            rows: rows.into_iter(),
            rows_read: set.rows_read,
            rows_written: set.rows_written,
        }
    }

    /// The rows not yet read, by column name. Of columns with the same name the last one shows.
    pub fn to_array(&mut self) -> Vec<Row> {
        self.by_ref().collect()
    }

    /// The only row; an error when there is none, or another.
    pub fn one(&mut self) -> Result<Row, Error> {
        let row = self.next().ok_or(Error::NoResults)?;
        match self.next() {
            Some(_) => Err(Error::MultipleResults),
            None => Ok(row),
        }
    }

    /// The rows not yet read, as plain values.
    pub fn raw(&mut self) -> impl Iterator<Item = Vec<Value>> + '_ {
        self.rows.by_ref()
    }

    /// The names of the columns, also when there are no rows.
    pub fn column_names(&self) -> &[Arc<str>] {
        &self.columns
    }

    /// How many rows the query has looked at so far: an estimate. The platform's cursor is always
    /// one row ahead of its reader.
    pub fn rows_read(&self) -> u64 {
        self.rows_read - (self.rows.len() as u64).saturating_sub(1).min(self.rows_read)
    }

    /// How many rows, and entries of indexes, the query wrote.
    pub fn rows_written(&self) -> u64 {
        self.rows_written
    }
}

impl Iterator for SqlCursor {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        let values = self.rows.next()?;
        Some(named(&self.columns, values))
    }
}

/// A row as a JavaScript object holds it: one value per name, the last.
pub(crate) fn named(columns: &[Arc<str>], values: Vec<Value>) -> Row {
    let mut row: Row = Vec::with_capacity(values.len());
    for (name, value) in columns.iter().zip(values) {
        match row.iter_mut().find(|(other, _)| other == name) {
            Some(entry) => entry.1 = value,
            None => row.push((Arc::clone(name), value)),
        }
    }
    row
}
