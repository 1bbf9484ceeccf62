//! Rows that `REPLACE` removes in a database whose application has triggers of its own.
//!
//! SQLite tells triggers of such rows only when triggers may recurse, which those of the
//! application would feel. So there, and only there, the tables are compared before and after.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::Connection;

use super::capture::{TRIGGER, quoted};
use super::shared::Shared;
use super::{Row, RowChange, Value};

type Key = (Arc<str>, Vec<Value>);

/// Every row of every table.
#[derive(Default)]
pub(super) struct Snapshot(BTreeMap<Key, Row>);

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
        let mut inserted: BTreeMap<Key, Row> = BTreeMap::new();
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
