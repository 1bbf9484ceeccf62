//! A row that changed, as the trace hears of it.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Value;

/// One row, named by column; in the order in which the table declares its columns.
pub type Row = Vec<(Arc<str>, Value)>;

/// A row that was inserted (no `before`), updated (both) or deleted (no `after`).
///
/// ```
/// use thunderhead_sim::sqlite::Database;
///
/// let mut db = Database::open(0);
/// db.exec("create table cats(name text); insert into cats values ('Tom')", &[])?;
/// db.exec("update cats set name = 'Felix'", &[])?;
/// let lines: Vec<_> = db.take_changes().iter().map(ToString::to_string).collect();
/// assert_eq!(lines, ["insert cats#1 name='Tom'", "update cats#1 name='Tom' -> 'Felix'"]);
/// # Ok::<(), thunderhead_sim::sqlite::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RowChange {
    /// The table.
    pub table: Arc<str>,
    /// Its rowid, or its primary key where the table has none; the old one, if it changed.
    pub key: Vec<Value>,
    /// The row as it was.
    pub before: Option<Row>,
    /// The row as it is.
    pub after: Option<Row>,
}

impl RowChange {
    /// The value of a column before the change.
    pub fn value_before(&self, column: &str) -> Option<&Value> {
        find(self.before.as_ref()?, column)
    }

    /// The value of a column after the change.
    pub fn value_after(&self, column: &str) -> Option<&Value> {
        find(self.after.as_ref()?, column)
    }
}

fn find<'a>(row: &'a Row, column: &str) -> Option<&'a Value> {
    row.iter().find(|(name, _)| &**name == column).map(|(_, value)| value)
}

/// One line for a trace: of an update only the columns that differ.
impl fmt::Display for RowChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match (&self.before, &self.after) {
            (None, _) => "insert",
            (Some(_), Some(_)) => "update",
            (Some(_), None) => "delete",
        };
        write!(f, "{verb} {}#", self.table)?;
        for (i, value) in self.key.iter().enumerate() {
            write!(f, "{}{value}", if i == 0 { "" } else { "," })?;
        }
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => {
                let both = before.iter().zip(after);
                for ((name, old), (_, new)) in both.filter(|((_, old), (_, new))| old != new) {
                    write!(f, " {name}={old} -> {new}")?;
                }
                Ok(())
            }
            (Some(row), None) | (None, Some(row)) => {
                row.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
            }
            (None, None) => Ok(()),
        }
    }
}
