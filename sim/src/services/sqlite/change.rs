//! A row that changed, as the trace hears of it.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::differing::TIED;
use super::{Value, differing};

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
    /// The name of the table.
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

    /// How many bytes the values of the row have, before and after.
    pub(crate) fn bytes(&self) -> usize {
        let rows = self.before.iter().chain(&self.after).flatten();
        rows.map(|(_, value)| value.bytes()).sum()
    }

    /// Which of these rows it changes, each given with the key under which it was last heard of; none when it inserts
    /// one.
    pub fn find<'a>(
        &self,
        rows: impl Iterator<Item = (&'a [Value], &'a Row)> + Clone,
    ) -> Option<usize> {
        let before = self.before.as_ref()?;
        let by_key = rows.clone().position(|(key, row)| *key == self.key && row == before);
        // The key of a row that was renamed is told only by the next change.
        by_key.or_else(|| rows.clone().position(|(_, row)| row == before))
    }
}

impl RowChange {
    /// The change as a history tells it: no column that is NULL, no key twice, `column: old → new` for what an
    /// update changed, and times last. Unless it is told `whole`, ids that other columns have are left out, and so is
    /// what two long texts share.
    pub(crate) fn told(&self, whole: bool) -> String {
        let (verb, row) = match (&self.before, &self.after) {
            (None, Some(row)) => ("insert", row),
            (Some(row), None) => ("delete", row),
            (Some(row), Some(_)) => ("update", row),
            (None, None) => return format!("nothing {}", self.table),
        };
        let key: Vec<String> = self.key.iter().map(|value| format!("{value:#}")).collect();
        let rowid = matches!(self.key[..], [Value::Integer(_)]);
        let mut columns: Vec<(bool, String)> = Vec::new();
        let value =
            |value: &Value| if whole { format!("{value:#}") } else { differing::shown(value) };
        let one = |(name, of): &(Arc<str>, Value)| (moment(of), format!("{name}={}", value(of)));
        let told = |value: &Value| *value != Value::Null && (rowid || !self.key.contains(value));
        if let Some((before, after)) = self.before.as_ref().zip(self.after.as_ref()) {
            // A rowid says little about which row it is; the first column is nearly always its name.
            let named = before.first().zip(after.first()).filter(|(old, new)| rowid && old == new);
            columns.extend(named.filter(|(old, _)| told(&old.1)).map(|(old, _)| one(old)));
            let mut changed = false;
            let mut ids: Vec<(&str, &str)> = Vec::new();
            for ((name, old), (_, new)) in before.iter().zip(after).filter(|(old, new)| old != new)
            {
                let again = |both: (&str, &str)| {
                    ids.iter().any(|shown| same(shown.0, both.0) && same(shown.1, both.1))
                };
                let parts = match id(old).zip(id(new)) {
                    _ if whole => vec![format!("{name}: {old:#} → {new:#}")],
                    Some(both) if again(both) => continue,
                    // The time that it was before is told where it was written.
                    _ if moment(old) && moment(new) => vec![format!("{name}{TIED}→{TIED}{new}")],
                    both => {
                        ids.extend(both);
                        differing::parts(name, old, new)
                    }
                };
                changed |= !parts.is_empty();
                let last = moment(new) || moment(old);
                columns.extend(parts.into_iter().map(|part| (last, part)));
            }
            if !changed {
                columns.push((true, "(unchanged)".into()));
            }
        } else {
            let mut ids: Vec<&str> = self.key.iter().filter_map(id).collect();
            for column in row.iter().filter(|(_, value)| told(value)) {
                match id(&column.1) {
                    Some(again) if !whole && ids.iter().any(|id| same(id, again)) => continue,
                    other => ids.extend(other),
                }
                columns.push(one(column));
            }
        }
        columns.sort_by_key(|(moment, _)| *moment);
        let columns: String = columns.iter().map(|(_, column)| format!(" {column}")).collect();
        format!("{verb} {}#{}{columns}", self.table, key.join(","))
    }
}

/// A text that is long enough to name something, and is not JSON or prose.
fn id(value: &Value) -> Option<&str> {
    let Value::Text(text) = value else { return None };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':');
    (text.len() >= ID_MIN && text.chars().all(plain)).then_some(text)
}

/// Whether one of two ids is part of the other, so that a reader of one knows the other.
fn same(one: &str, two: &str) -> bool {
    one.contains(two) || two.contains(one)
}

/// From so many characters on a text can be an id that is no word.
const ID_MIN: usize = 16;

/// Whether a number is a time of the calendar, in seconds or milliseconds of this century.
fn moment(value: &Value) -> bool {
    let Value::Integer(number) = value else { return false };
    matches!(number, 1_600_000_000..4_000_000_000 | 1_600_000_000_000..4_000_000_000_000)
}

fn find<'a>(row: &'a Row, column: &str) -> Option<&'a Value> {
    row.iter().find(|(name, _)| &**name == column).map(|(_, value)| value)
}

/// `{}` is a glance; `{:#}` is what a history tells.
impl fmt::Display for RowChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return f.write_str(&self.told(true));
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
    use super::*;
    use crate::services::sqlite::Database;

    fn told(change: &RowChange) -> String {
        change.told(false).replace(TIED, " ")
    }

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

    #[test]
    fn an_update_that_changes_nothing_says_so() {
        let mut db = Database::open(0);
        db.exec("create table cats(name text); insert into cats values ('Tom')", &[]).unwrap();
        db.exec("update cats set name = 'Tom'", &[]).unwrap();
        let told: Vec<_> = db.take_changes().iter().map(told).collect();
        assert_eq!(told[1], "update cats#1 name='Tom' (unchanged)");
    }

    #[test]
    fn an_id_is_shown_once() {
        let mut db = Database::open(0);
        db.exec("create table t(event text, workflow text, owner text)", &[]).unwrap();
        let id = "875edc86ebb5c55f11c0e5f2e6fb5e46";
        db.exec(&format!("insert into t values ('{id}', 'imgcls_{id}', 'ann')"), &[]).unwrap();
        let change = &db.take_changes()[0];
        assert_eq!(change.told(false), format!("insert t#1 event='{id}' owner='ann'"));
        assert!(change.told(true).contains("workflow='imgcls_875edc86"), "{}", change.told(true));
    }

    #[test]
    fn times_come_last() {
        let mut db = Database::open(0);
        db.exec("create table t(name text, at int, json text)", &[]).unwrap();
        db.exec("insert into t values ('a', 1767225600000, '0123456789abcdefghij one')", &[])
            .unwrap();
        db.exec("update t set json = '0123456789abcdefghij two', at = 1767225600001", &[]).unwrap();
        let lines: Vec<_> = db.take_changes().iter().map(told).collect();
        assert_eq!(
            lines[0],
            "insert t#1 name='a' json='0123456789abcdefghij one' at=1767225600000"
        );
        assert_eq!(
            lines[1],
            "update t#1 name='a' json: '…9abcdefghij one' → '…9abcdefghij two' at → 1767225600001"
        );
    }
}
