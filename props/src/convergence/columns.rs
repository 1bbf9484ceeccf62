//! Columns that are not compared.

use thunderhead_sim::SortedSet;

/// Names of columns, each as `table.column`, as `table.column.field` for a part of JSON, or as `table.*`; and of rows, as
/// `table[name]`. The places in a list are not told apart: `steps.value.tasks[].status` is the status of every task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns(SortedSet<String>);

impl Columns {
    pub fn of<'a>(names: impl Iterator<Item = &'a str>) -> Columns {
        Columns(names.map(String::from).collect())
    }

    /// Whether this column is among them, by itself or as a part of one.
    pub fn has(&self, table: &str, column: &str) -> bool {
        let full = name(table, column);
        self.0.iter().any(|known| {
            let rest = full.strip_prefix(&**known);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }

    /// Whether the whole table is among them: then not even the number of its rows counts.
    pub fn has_table(&self, table: &str) -> bool {
        self.0.iter().any(|known| known.strip_suffix(".*") == Some(table))
    }

    /// Whether the row of that name is among them, as `table[name]` or `table[start*]`.
    pub fn has_row(&self, table: &str, name: &str) -> bool {
        let named = |known: &str| {
            let row = known.strip_prefix(table)?.strip_prefix('[')?.strip_suffix(']')?;
            Some(row.strip_suffix('*').map_or(row == name, |start| name.starts_with(start)))
        };
        self.0.iter().any(|known| named(known) == Some(true))
    }

    pub fn add(&mut self, name: String) -> bool {
        self.0.insert(name)
    }

    pub fn extend(&mut self, others: &Columns) {
        self.0.extend(others.0.iter().cloned());
    }
}

/// The name under which a column is left out.
pub fn name(table: &str, column: &str) -> String {
    let mut name = format!("{table}.");
    let mut within = false;
    for letter in column.chars() {
        match letter {
            '[' => within = true,
            ']' => within = false,
            _ if within && letter.is_ascii_digit() => continue,
            _ => {}
        }
        name.push(letter);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_its_parts_and_a_table_is_named_with_a_star() {
        let columns = Columns::of(["a.b", "c.*", "d.tasks[].at"].into_iter());
        for (table, column) in [("a", "b"), ("a", "b.c"), ("a", "b[3]"), ("d", "tasks[12].at")] {
            assert!(columns.has(table, column), "{table}.{column}");
        }
        for (table, column) in [("a", "bc"), ("a", "c"), ("aa", "b"), ("d", "tasks[0].by")] {
            assert!(!columns.has(table, column), "{table}.{column}");
        }
        let rows = Columns::of(["a[lease]", "b[old/*]"].into_iter());
        assert!(rows.has_row("a", "lease") && rows.has_row("b", "old/1"));
        assert!(
            !rows.has_row("a", "leases") && !rows.has_row("b", "new/1") && !rows.has("a", "lease")
        );
        assert!(columns.has_table("c") && !columns.has_table("a") && !columns.has_table("d"));
    }
}
