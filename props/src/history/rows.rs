//! What tables hold: those of databases and those of objects.

use thunderhead_sim::sqlite::{Row, RowChange, Value};
use thunderhead_sim::{EventKind, SortedMap, Trace};

/// The rows of every table at a moment.
#[derive(Clone, Debug, Default)]
pub struct Rows<'a> {
    /// By owner and table.
    tables: SortedMap<(&'a str, &'a str), Vec<Keyed<'a>>>,
}

/// A row, and the key under which it was last heard of.
type Keyed<'a> = (&'a [Value], &'a Row);

/// A row, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held<'a> {
    /// The database service, `d1`, or the name of an object.
    pub owner: &'a str,
    /// The table.
    pub table: &'a str,
    /// The columns and their values.
    pub row: &'a Row,
}

impl<'a> Held<'a> {
    /// The value of a column.
    pub fn value(&self, column: &str) -> Option<&'a Value> {
        self.row.iter().find(|(name, _)| &**name == column).map(|(_, value)| value)
    }

    /// The text of a column; empty when it is no text.
    pub fn text(&self, column: &str) -> &'a str {
        self.value(column).and_then(Value::as_str).unwrap_or_default()
    }
}

/// What the tables hold in the end.
pub fn rows(trace: &Trace) -> Rows<'_> {
    rows_before(trace, trace.events().len())
}

/// What the tables hold just before an event, which is told by its index.
pub fn rows_before(trace: &Trace, event: usize) -> Rows<'_> {
    let mut rows = Rows::default();
    for event in trace.events().iter().take(event) {
        if let EventKind::Rows { changes } = &event.kind {
            changes.iter().for_each(|change| rows.apply(trace.actor(event), change));
        }
    }
    rows
}

/// Every change of a row of a table, of all owners, with the index of the event that kept it.
pub fn changes<'a>(trace: &'a Trace, table: &str) -> impl Iterator<Item = (usize, &'a RowChange)> {
    trace.events().iter().enumerate().flat_map(move |(at, event)| {
        let changes: &[RowChange] = match &event.kind {
            EventKind::Rows { changes } => changes,
            _ => &[],
        };
        let of_table = move |change: &&RowChange| *change.table == *table;
        changes.iter().filter(of_table).map(move |change| (at, change))
    })
}

impl<'a> Rows<'a> {
    /// The rows of a table of any owner, in the order in which they were inserted.
    pub fn of(&self, table: &str) -> impl Iterator<Item = Held<'a>> {
        self.iter().filter(move |held| held.table == table)
    }

    /// All rows, by owner and table.
    pub fn iter(&self) -> impl Iterator<Item = Held<'a>> {
        self.tables.iter().flat_map(|(&(owner, table), rows)| {
            rows.iter().map(move |&(_, row)| Held { owner, table, row })
        })
    }

    /// Applies a change, for a promise that follows the tables from event to event.
    pub fn apply(&mut self, owner: &'a str, change: &'a RowChange) {
        let rows = self.tables.entry((owner, &change.table)).or_default();
        let known = change.find(rows.iter().copied());
        match (known, &change.after) {
            (Some(at), Some(after)) => rows[at] = (&change.key, after),
            (Some(at), None) => drop(rows.remove(at)),
            (None, Some(after)) => rows.push((&change.key, after)),
            (None, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::mutant::History;

    fn row(name: &str) -> Option<Row> {
        Some(vec![(Arc::from("name"), Value::from(name))])
    }

    fn change(key: i64, before: Option<Row>, after: Option<Row>) -> EventKind {
        let change =
            RowChange { table: "cats".into(), key: vec![Value::Integer(key)], before, after };
        EventKind::Rows { changes: vec![change].into() }
    }

    #[test]
    fn tables_hold_what_was_inserted_changed_and_not_deleted() {
        let mut history = History::default();
        history.push(change(1, None, row("Tom"))).push(change(2, None, row("Tom")));
        history.push(change(2, row("Tom"), row("Felix"))).push(change(1, row("Tom"), None));
        let trace = history.trace();
        let names = |rows: &Rows| -> Vec<String> {
            rows.of("cats").map(|cat| cat.text("name").to_string()).collect()
        };
        assert_eq!(names(&rows_before(&trace, 2)), ["Tom", "Tom"]);
        assert_eq!(names(&rows_before(&trace, 3)), ["Tom", "Felix"]);
        assert_eq!(names(&rows(&trace)), ["Felix"]);
        assert_eq!(rows(&trace).of("dogs").count(), 0);
        let events: Vec<usize> = changes(&trace, "cats").map(|(at, _)| at).collect();
        assert_eq!(events, [0, 1, 2, 3]);
        assert_eq!(changes(&trace, "dogs").count(), 0);
    }
}
