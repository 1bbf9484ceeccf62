//! What D1 answers, as plain data.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Bookmark;
use crate::services::sqlite::{Row, Value};
use crate::values::count::count;

/// The answer to an [`Op`](super::Op) that was not refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reply {
    /// What the method returns.
    pub answer: Answer,
    /// What a session has seen with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bookmark: Option<Bookmark>,
}

/// What a method returns.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Answer {
    /// `all()` and `run()`.
    Result(D1Result),
    /// `first()`: a row, or `null`.
    Row(Option<Row>),
    /// `first(column)`: its value; `null` too when there is no row.
    Column(Value),
    /// `raw()`.
    Raw(Vec<Vec<Value>>),
    /// `batch()`: one for each statement.
    Batch(Vec<D1Result>),
    /// `exec()`.
    Exec {
        /// How many lines were run.
        count: u64,
    },
}

/// The rows of a statement and what it cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct D1Result {
    /// The rows, by column name. Of columns with the same name the last one shows.
    pub results: Vec<Row>,
    /// What it cost.
    pub meta: Meta,
}

/// What a statement cost and did; its `duration` is always 0 here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Meta {
    /// Whether the primary answered.
    pub served_by_primary: bool,
    /// Rows changed, by triggers and foreign keys too.
    pub changes: u64,
    /// `last_insert_rowid()`, whichever statement of the connection inserted that row.
    pub last_row_id: i64,
    /// Whether anything changed, the schema included.
    pub changed_db: bool,
    /// An estimate of how many rows were looked at.
    pub rows_read: u64,
    /// Rows and entries of indexes that were written.
    pub rows_written: u64,
}

impl Reply {
    /// The rows and cost of `all()` and `run()`.
    pub fn result(&self) -> Option<&D1Result> {
        match &self.answer {
            Answer::Result(result) => Some(result),
            _ => None,
        }
    }
}

impl D1Result {
    /// The value of a column in the `i`th row.
    pub fn get(&self, i: usize, column: &str) -> Option<&Value> {
        let row = self.results.get(i)?;
        row.iter().find(|(name, _)| &**name == column).map(|(_, value)| value)
    }
}

/// One line for a trace.
impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = |f: &mut fmt::Formatter<'_>, row: &Row| {
            let mut separator = "";
            row.iter().try_for_each(|(name, value)| {
                write!(f, "{}{name}=", std::mem::replace(&mut separator, " "))?;
                value.fmt(f)
            })
        };
        match &self.answer {
            Answer::Result(result) => result.fmt(f),
            Answer::Row(None) => f.write_str("null"),
            Answer::Row(Some(row)) => values(f, row),
            Answer::Column(value) => value.fmt(f),
            Answer::Raw(rows) => f.write_str(&count(rows.len(), "row")),
            Answer::Batch(results) => {
                let mut separator = "";
                results.iter().try_for_each(|result| {
                    f.write_str(std::mem::replace(&mut separator, "; "))?;
                    result.fmt(f)
                })
            }
            Answer::Exec { count } => write!(f, "{count} lines"),
        }
    }
}

impl fmt::Display for D1Result {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, changes) = (self.results.len(), self.meta.changes);
        if !f.alternate() {
            return write!(f, "{rows} rows, {changes} changes");
        }
        let mut parts = Vec::new();
        if rows > 0 || changes == 0 {
            parts.push(count(rows, "row"));
        }
        if changes > 0 {
            parts.push(count(changes as usize, "change"));
        }
        f.write_str(&parts.join(", "))
    }
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Reply {
        Reply { answer, bookmark: None }
    }
}

/// A value as JSON carries it, which knows no infinity.
pub(super) fn shown(value: Value) -> Value {
    match value.shown() {
        Value::Real(real) if !real.get().is_finite() => Value::Null,
        value => value,
    }
}

/// The named rows of a result.
pub(super) fn named(columns: &[Arc<str>], rows: Vec<Vec<Value>>) -> Vec<Row> {
    let row = |row: Vec<Value>| {
        crate::services::storage::named(columns, row.into_iter().map(shown).collect())
    };
    rows.into_iter().map(row).collect()
}
