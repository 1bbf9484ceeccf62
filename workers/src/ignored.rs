//! What `### ignore` may name: a promise that comes for nothing, or a part of what a run leaves behind.

use thunderhead_props::FREE;
use thunderhead_sim::{EventKind, SortedMap, SortedSet, Trace, closest};

use crate::config::Config;

/// Refuses what is neither a part of what is left behind nor a promise that comes for nothing.
pub fn check(what: &str) -> Result<(), String> {
    let known = FREE.iter().any(|promise| promise.name == *what);
    if known || parts(what).is_some() {
        return Ok(());
    }
    let advice = closest(what, FREE.iter().map(|promise| &*promise.name));
    Err(format!("`{what}` is neither a column, as `table.column`, nor a promise; {advice}"))
}

/// The table and what of it is named: `table.column`, `table.*`, or `table[row]`.
fn parts(what: &str) -> Option<(&str, &str)> {
    let at = what.find(['.', '['])?;
    let (table, rest) = what.split_at(at);
    let is_row = rest.starts_with('[');
    let fits = !table.is_empty() && !table.contains(' ') && (!is_row || rest.ends_with(']'));
    fits.then_some((table, if is_row { "*" } else { &rest[1..] }))
}

/// The tables that a run has written to, with their columns, and the buckets and namespaces.
#[derive(Clone, Debug, Default)]
pub struct Written(SortedMap<String, SortedSet<String>>);

impl Written {
    /// What a run has written to, and what else these Workers could write to.
    pub fn of<'a>(trace: &Trace, configs: impl Iterator<Item = &'a Config>) -> Written {
        let mut tables: SortedMap<String, SortedSet<String>> = SortedMap::new();
        for event in trace.events() {
            let EventKind::Rows { changes } = &event.kind else { continue };
            for change in changes.iter() {
                let columns = tables.entry(change.table.to_string()).or_default();
                let row = change.after.iter().chain(&change.before).flatten();
                columns.extend(row.map(|(column, _)| column.to_string()));
            }
        }
        for config in configs {
            let buckets = config.r2_buckets.iter().map(|r2| r2.bucket());
            let namespaces = config.kv_namespaces.iter().map(|kv| kv.namespace());
            for store in buckets.chain(namespaces) {
                tables.entry(store.to_string()).or_default();
            }
        }
        Written(tables)
    }

    /// What is odd about a part that is ignored: nothing of that name was written to. A promise never is.
    pub fn odd(&self, what: &str) -> Option<String> {
        let (table, column) = parts(what)?;
        let Some(columns) = self.0.get(table) else {
            let advice = closest(table, self.0.keys().map(String::as_str));
            return Some(format!("nothing in the calm writes to `{table}`; {advice}"));
        };
        let column = column.split(['.', '[']).next().unwrap_or_default();
        if column == "*" || columns.is_empty() || columns.contains(column) {
            return None;
        }
        let advice = closest(column, columns.iter().map(String::as_str));
        Some(format!("`{table}` has no column `{column}`; {advice}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_a_column_a_table_or_a_row() {
        for what in ["a.b", "a.*", "a.b.c[].d", "a[lease]", "a[lease/*]", "no message is given up"]
        {
            assert!(check(what).is_ok(), "{what}");
        }
        for what in ["a", "a[lease", "no message is lost", ".b", "[x]"] {
            assert!(check(what).is_err(), "{what}");
        }
    }

    #[test]
    fn a_name_that_nothing_writes_to_is_odd() {
        let columns = SortedSet::from(["what".to_string()]);
        let written = Written(SortedMap::from([
            ("audit".to_string(), columns),
            ("photos".to_string(), SortedSet::new()),
        ]));
        for what in ["audit.what", "audit.what.of", "audit.*", "audit[x]", "photos.size"] {
            assert_eq!(written.odd(what), None, "{what}");
        }
        let said = |what| written.odd(what).unwrap_or_default();
        assert!(said("audti.*").starts_with("nothing in the calm writes to `audti`; "));
        assert!(said("audit.whta").starts_with("`audit` has no column `whta`; "));
    }
}
