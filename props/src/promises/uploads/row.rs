//! Rows as the promises see them, whichever of the tables they are in.

use thunderhead_sim::sqlite::{RowChange, Value};
use thunderhead_sim::{SortedMap, SortedSet};

/// What a row says of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upload<'a> {
    /// The name; not every table has it.
    pub name: &'a str,
    /// The id of the event it is about.
    pub event: &'a str,
    /// The status: `queued`, `classified`, `failed`, and those between.
    pub status: &'a str,
    /// The label, if there is one.
    pub label: Option<&'a str>,
    /// The score of the label.
    pub score: Option<&'a Value>,
    /// Why there is no label, if it failed.
    pub error: Option<&'a str>,
}

impl<'a> Upload<'a> {
    /// Whether nothing more is to come.
    pub fn is_final(&self) -> bool {
        matches!(self.status, "classified" | "failed")
    }

    /// The row after a change; none when it was deleted, or is not about an upload.
    pub fn after(change: &'a RowChange) -> Option<Upload<'a>> {
        Upload::read(|column| change.value_after(column))
    }

    /// The row before a change.
    pub fn before(change: &'a RowChange) -> Option<Upload<'a>> {
        Upload::read(|column| change.value_before(column))
    }

    fn read(value: impl Fn(&str) -> Option<&'a Value>) -> Option<Upload<'a>> {
        let text = |column: &str| value(column).and_then(Value::as_str);
        let event = text("eventId").or_else(|| text("latestEventId")).or_else(|| text("id"))?;
        Some(Upload {
            name: text("name")?,
            event,
            status: text("status")?,
            label: text("classificationLabel"),
            score: value("classificationScore").filter(|score| !score.is_null()),
            error: text("error"),
        })
    }
}

/// Whether a table holds what is known of events, or of the current ones.
pub fn tells_of_events(table: &str) -> bool {
    is_current(table) || matches!(table, "UploadEvent" | "Replaced")
}

/// Whether a table has one row for each name that clients see.
fn is_current(table: &str) -> bool {
    matches!(table, "Upload" | "UploadCurrent")
}

/// The rows that clients see. A row that is moved from the old table to the new one stays.
#[derive(Debug, Default)]
pub struct Board<'a> {
    old: SortedMap<(&'a str, &'a str), Upload<'a>>,
    new: SortedMap<(&'a str, &'a str), Upload<'a>>,
}

impl<'a> Board<'a> {
    /// The row of a name.
    pub fn get(&self, organisation: &'a str, name: &'a str) -> Option<&Upload<'a>> {
        let key = (organisation, name);
        self.new.get(&key).or_else(|| self.old.get(&key))
    }

    /// Every row, with its organisation.
    pub fn rows(&self) -> impl Iterator<Item = (&'a str, &Upload<'a>)> {
        self.old.iter().chain(&self.new).map(|((organisation, _), row)| (*organisation, row))
    }

    /// Applies the changes of one transaction and returns the names they are about.
    pub fn apply(&mut self, organisation: &'a str, changes: &'a [RowChange]) -> SortedSet<&'a str> {
        let mut touched = SortedSet::new();
        for change in changes.iter().filter(|change| is_current(&change.table)) {
            let table = if &*change.table == "Upload" { &mut self.old } else { &mut self.new };
            if let Some(row) = Upload::before(change) {
                touched.insert(row.name);
                table.remove(&(organisation, row.name));
            }
            if let Some(row) = Upload::after(change) {
                touched.insert(row.name);
                table.insert((organisation, row.name), row);
            }
        }
        touched
    }
}
