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

impl RowChange {
    fn tell(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, row) = match (&self.before, &self.after) {
            (None, Some(row)) => ("insert", row),
            (Some(row), None) => ("delete", row),
            (Some(row), Some(_)) => ("update", row),
            (None, None) => return Ok(()),
        };
        write!(f, "{verb} {}#", self.table)?;
        for (at, value) in self.key.iter().enumerate() {
            write!(f, "{}{value:#}", if at == 0 { "" } else { "," })?;
        }
        let told = |value: &Value| *value != Value::Null && !self.key.contains(value);
        let Some((before, after)) = self.before.as_ref().zip(self.after.as_ref()) else {
            let mut columns = row.iter().filter(|(_, value)| told(value));
            return columns.try_for_each(|(name, value)| write!(f, " {name}={value:#}"));
        };
        // A rowid says little about which row it is; the first column is nearly always its name.
        let changed = |old: &Value, name: &str| self.value_after(name) != Some(old);
        match (&self.key[..], before.first()) {
            ([Value::Integer(_)], Some((name, value))) if told(value) && !changed(value, name) => {
                write!(f, " {name}={value:#}")?;
            }
            _ => {}
        }
        let mut both = before.iter().zip(after).filter(|((_, old), (_, new))| old != new);
        both.try_for_each(|((name, old), (_, new))| write!(f, " {name}: {old:#} → {new:#}"))
    }
}

fn find<'a>(row: &'a Row, column: &str) -> Option<&'a Value> {
    row.iter().find(|(name, _)| &**name == column).map(|(_, value)| value)
}

/// `{}` is a glance. `{:#}` is for a history: values in full, no column that is NULL, no key twice, and
/// `column: old → new` for what an update changed.
impl fmt::Display for RowChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return self.tell(f);
        }
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

#[cfg(test)]
mod tests {
    use crate::services::sqlite::Database;

    #[test]
    fn a_history_shows_the_key_and_what_changed_and_no_nulls() {
        let mut db = Database::open(0);
        let tables = "create table cats(name text, age int, toy text);
             create table pairs(one text, two int, primary key (one, two)) without rowid";
        db.exec(tables, &[]).unwrap();
        for sql in [
            "insert into cats values ('Tom', 3, null)",
            "update cats set age = 4",
            "insert into pairs values ('a', 7)",
            "delete from cats",
        ] {
            db.exec(sql, &[]).unwrap();
        }
        let lines: Vec<_> = db.take_changes().iter().map(|change| format!("{change:#}")).collect();
        assert_eq!(
            lines,
            [
                "insert cats#1 name='Tom' age=3",
                "update cats#1 name='Tom' age: 3 → 4",
                "insert pairs#'a',7",
                "delete cats#1 name='Tom' age=4",
            ]
        );
    }
}
