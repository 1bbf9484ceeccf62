//! Changes of rows that no trigger hears of: all tables are compared before and after a statement.
//!
//! SQLite tells triggers of the rows that `REPLACE` removes only when triggers may recurse, which those of the
//! application would feel. And it tells none of what becomes of rows when their table is dropped, renamed or gets
//! other columns.

use std::sync::Arc;

use rusqlite::Connection;

use super::shape::{TRIGGER, quoted};
use super::shared::Shared;
use super::{Row, RowChange, Value};
use crate::values::sorted_map::SortedMap;

type Key = (Arc<str>, Vec<Value>);

/// Every row of every table.
#[derive(Default)]
pub(super) struct Snapshot(SortedMap<Key, Row>);

impl Snapshot {
    pub fn take(connection: &Connection, shared: &Arc<Shared>) -> rusqlite::Result<Snapshot> {
        let mut snapshot = Snapshot::default();
        let mut names = connection.prepare_cached("select name from sqlite_temp_master")?;
        let names: Vec<String> =
            names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let numbers = names.iter().filter_map(|name| {
            name.strip_prefix(TRIGGER)?.strip_prefix("insert_")?.parse::<usize>().ok()
        });
        for number in numbers {
            let shape = Arc::clone(&shared.capture().shapes[number]);
            let rowid = if shape.keys.is_empty() { "rowid" } else { "null" };
            let columns: String =
                shape.columns.iter().map(|name| ",".to_owned() + &quoted(name)).collect();
            let sql = format!("select {rowid}{columns} from main.{}", quoted(&shape.table));
            let mut statement = connection.prepare(&sql)?;
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next()? {
                let value = |i: usize| row.get_ref(i).map(Value::from);
                let values = (0..=shape.columns.len()).map(value).collect::<Result<Vec<_>, _>>()?;
                let (key, row) = shape.row(&mut values.into_iter());
                snapshot.0.insert((Arc::clone(&shape.table), key), row);
            }
        }
        Ok(snapshot)
    }

    /// The changes that lead from `self` to `after`. A row that has other columns now is another row.
    pub fn changes_to(&self, after: &Snapshot) -> Vec<RowChange> {
        let change = |(table, key): &Key, before: Option<&Row>, after: Option<&Row>| RowChange {
            table: Arc::clone(table),
            key: key.clone(),
            before: before.cloned(),
            after: after.cloned(),
        };
        let columns = |row: &Row| row.iter().map(|(name, _)| Arc::clone(name)).collect::<Vec<_>>();
        let mut changes = Vec::new();
        for (key, row) in &self.0 {
            match after.0.get(key) {
                Some(now) if now == row => {}
                Some(now) if columns(now) == columns(row) => {
                    changes.push(change(key, Some(row), Some(now)));
                }
                now => {
                    changes.push(change(key, Some(row), None));
                    changes.extend(now.map(|now| change(key, None, Some(now))));
                }
            }
        }
        let new = after.0.iter().filter(|(key, _)| !self.0.contains_key(key));
        changes.extend(new.map(|(key, row)| change(key, None, Some(row))));
        changes
    }

    /// Adds to the changes that led from `self` to `after` the deletions that were not heard of.
    ///
    /// Rows that were there before go first. A row that the same statement inserted and replaced
    /// goes where its key is taken again, or last.
    pub fn complete(&self, after: &Snapshot, changes: Vec<RowChange>) -> Vec<RowChange> {
        let key = |change: &RowChange| (Arc::clone(&change.table), change.key.clone());
        let delete = |(table, key): &Key, row: &Row| RowChange {
            table: Arc::clone(table),
            key: key.clone(),
            before: Some(row.clone()),
            after: None,
        };
        let heard: Vec<Key> = changes.iter().filter(|c| c.before.is_some()).map(key).collect();
        let gone =
            |(key, row): &(&Key, &Row)| after.0.get(key) != Some(row) && !heard.contains(key);
        let mut all: Vec<RowChange> =
            self.0.iter().filter(gone).map(|(key, row)| delete(key, row)).collect();
        let mut inserted: SortedMap<Key, Row> = SortedMap::new();
        for change in changes {
            let at = key(&change);
            match (&change.before, &change.after) {
                (None, Some(row)) => {
                    let earlier = inserted.insert(at.clone(), row.clone());
                    all.extend(earlier.map(|row| delete(&at, &row)));
                }
                _ => drop(inserted.remove(&at)),
            }
            all.push(change);
        }
        let lost = inserted.iter().filter(|(key, _)| !after.0.contains_key(key));
        all.extend(lost.map(|(key, row)| delete(key, row)));
        all
    }
}
