//! Which events left the rows of tables as they are.

use super::things::statements;
use crate::services::d1;
use crate::services::sqlite::{RowChange, Value};
use crate::values::sorted_map::SortedMap;

/// The last change of every row, by owner, table and key.
#[derive(Default)]
pub(super) struct Rows<'a> {
    tables: SortedMap<(u16, &'a str), SortedMap<&'a [Value], Last<'a>>>,
    /// The last change of any row of an owner.
    last: SortedMap<u16, usize>,
}

struct Last<'a> {
    event: usize,
    change: &'a RowChange,
}

/// A table with more rows than this is looked at as a whole, so that a long history takes no long time.
const ROWS_MAX: usize = 256;

impl<'a> Rows<'a> {
    /// Notes the changes of the event at `at`; the events that last changed the same rows.
    pub fn change(&mut self, owner: u16, at: usize, changes: &'a [RowChange]) -> Vec<usize> {
        let mut before = Vec::new();
        for change in changes {
            let table = self.tables.entry((owner, &change.table)).or_default();
            let last = table.insert(&change.key, Last { event: at, change });
            before.extend(last.map(|last| last.event).filter(|event| *event != at));
        }
        self.last.insert(owner, at);
        before
    }

    /// The last event that changed a row of an owner.
    pub fn last(&self, owner: u16) -> Option<usize> {
        self.last.get(&owner).copied()
    }

    /// The events that wrote what the statements of `op` may have read: the rows that have one of the values that the
    /// statement is given, or the row of its tables that changed last.
    pub fn read(&self, owner: u16, op: &d1::Op) -> Vec<usize> {
        let mut found = Vec::new();
        for statement in statements(op) {
            let words: Vec<&str> =
                statement.sql.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            let named = |table: &str| words.iter().any(|word| word.eq_ignore_ascii_case(table));
            let tables = self.tables.range((owner, "")..).take_while(|((of, _), _)| *of == owner);
            for (_, rows) in tables.filter(|((_, table), _)| named(table)) {
                let having = rows.values().filter(|last| last.has(&statement.bindings));
                let before = found.len();
                if rows.len() <= ROWS_MAX {
                    found.extend(having.map(|last| last.event));
                }
                if found.len() == before {
                    found.extend(rows.values().map(|last| last.event).max());
                }
            }
        }
        found
    }
}

impl Last<'_> {
    fn has(&self, values: &[Value]) -> bool {
        let row = self.change.after.iter().chain(&self.change.before).flatten();
        row.into_iter().any(|(_, value)| *value != Value::Null && values.contains(value))
    }
}
