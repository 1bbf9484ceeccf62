//! What is known of a table whose rows are heard of, and the triggers that hear of them (`capture`).

use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::limits::MAX_FUNCTION_ARGUMENTS;
use super::{Row, Value};

/// The names of our triggers begin so.
pub(super) const TRIGGER: &str = "_cf_capture_";

/// A table as the triggers know it.
pub(super) struct Shape {
    pub table: Arc<str>,
    pub columns: Vec<Arc<str>>,
    /// Where the primary key is, in a table without rowid.
    pub keys: Vec<usize>,
    /// The statements that make its triggers.
    pub triggers: String,
}

impl Shape {
    pub fn read(
        connection: &Connection,
        table: &str,
        without_rowid: bool,
        number: usize,
    ) -> rusqlite::Result<Shape> {
        let sql = "select name, pk from pragma_table_xinfo(?) where hidden <> 1 order by cid";
        let mut columns = connection.prepare_cached(sql)?;
        let columns: Vec<(String, u32)> = columns
            .query_map([table], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        let keyed = columns.iter().enumerate().filter(|(_, (_, pk))| *pk > 0);
        let mut keys: Vec<(u32, usize)> = keyed.map(|(i, (_, pk))| (*pk, i)).collect();
        keys.sort_unstable();
        let columns: Vec<Arc<str>> = columns.into_iter().map(|(name, _)| name.into()).collect();
        Ok(Shape {
            triggers: triggers_of(table, &columns, number, without_rowid),
            table: table.into(),
            columns,
            keys: keys.into_iter().filter(|_| without_rowid).map(|(_, i)| i).collect(),
        })
    }

    /// The key and the columns of a row, given as its rowid followed by its columns.
    pub fn row<T: Into<Value>>(&self, values: &mut dyn Iterator<Item = T>) -> (Vec<Value>, Row) {
        let rowid = values.next().expect("the rowid comes first").into();
        let row: Row = self.columns.iter().cloned().zip(values.map(T::into)).collect();
        let key = match self.keys.is_empty() {
            true => vec![rowid],
            false => self.keys.iter().map(|&i| row[i].1.clone()).collect(),
        };
        (key, row)
    }

    /// The columns of a row that was changed, each with its name. Most are as they were.
    pub fn columns_after(&self, old: &Row, values: &mut dyn Iterator<Item = ValueRef<'_>>) -> Row {
        let column = |((name, old), new): (&(Arc<str>, Value), ValueRef<'_>)| {
            let same = matches!((old, new), (Value::Text(old), ValueRef::Text(new)) if old.as_bytes() == new);
            (Arc::clone(name), if same { old.clone() } else { new.into() })
        };
        old.iter().zip(values).map(column).collect()
    }
}

fn triggers_of(table: &str, columns: &[Arc<str>], number: usize, without_rowid: bool) -> String {
    let named = |row: &str| -> String {
        columns.iter().map(|name| format!(",{row}.{}", quoted(name))).collect()
    };
    let call = |function: &str, row: &str, more: &str| {
        let rowid = if without_rowid { "null".into() } else { format!("{row}.rowid") };
        format!("select _cf_{function}({number},{rowid}{}{more});", named(row))
    };
    let trigger = |verb: &str, body: String| {
        let table = quoted(table);
        let name = quoted(&format!("{TRIGGER}{verb}_{number}"));
        format!("create temp trigger {name} after {verb} on main.{table} begin {body} end;")
    };
    // One call takes both rows, unless there are more columns than a function has arguments.
    let fits = 2 + 2 * columns.len() <= MAX_FUNCTION_ARGUMENTS as usize;
    let updated = match fits {
        true => call("update", "old", &named("new")),
        false => call("old", "old", "") + &call("new", "new", ""),
    };
    [
        trigger("insert", call("insert", "new", "")),
        trigger("update", updated),
        trigger("delete", call("delete", "old", "")),
    ]
    .concat()
}

pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
