//! Hears of every row that changes, without the application's help.
//!
//! SQLite's pre-update hook would be the obvious way, but its bindings can only be generated with
//! a C compiler's library at build time. So every table gets three temporary triggers which hand
//! the old and the new row to a function of ours. They are outside the application's schema, are
//! rolled back with it, and also fire for what foreign keys cascade.

use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;

use super::limits::MAX_FUNCTION_ARGUMENTS;
use super::shared::Shared;
use super::{Row, RowChange, Value};
use crate::values::sorted_map::SortedMap;

/// Names that begin so are the platform's own.
pub(super) const RESERVED: &str = "_cf_";
/// The names of our triggers begin so.
pub(super) const TRIGGER: &str = "_cf_capture_";

/// What the triggers have reported.
#[derive(Default)]
pub(super) struct Capture {
    /// Tables as the triggers know them, by number. Numbers are not used twice on a connection, so
    /// that a rolled-back trigger finds its table again.
    pub shapes: Vec<Arc<Shape>>,
    /// Changes since they were last taken.
    pub changes: Vec<RowChange>,
    /// Rows and entries of indexes written since the count was last taken.
    pub written: u64,
    old: Option<(Vec<Value>, Row)>,
}

/// A table as the triggers know it.
pub(super) struct Shape {
    pub table: Arc<str>,
    pub columns: Vec<Arc<str>>,
    /// Where the primary key is, in a table without rowid.
    pub keys: Vec<usize>,
    indexes: u64,
    definition: Definition,
}

/// What the shape of a table follows from: the statement that made it, as the schema has it now, and how many indexes
/// it has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Definition {
    sql: String,
    indexes: u32,
}

/// Registers the functions that the triggers call.
pub(super) fn install(connection: &Connection, shared: &Arc<Shared>) -> rusqlite::Result<()> {
    type Report = fn(&mut Capture, &Shape, &mut dyn Iterator<Item = ValueRef<'_>>);
    let functions: [(&str, Report); 5] = [
        ("_cf_insert", |capture, shape, values| {
            let (key, row) = shape.row(values);
            capture.push(shape, key, None, Some(row));
        }),
        ("_cf_delete", |capture, shape, values| {
            let (key, row) = shape.row(values);
            capture.push(shape, key, Some(row), None);
        }),
        ("_cf_update", |capture, shape, values| {
            let (key, old) = shape.row(values);
            let new = shape.columns_after(&old, values);
            capture.push(shape, key, Some(old), Some(new));
        }),
        ("_cf_old", |capture, shape, values| capture.old = Some(shape.row(values))),
        ("_cf_new", |capture, shape, values| {
            let (key, old) = capture.old.take().expect("the trigger reports the old row first");
            let (_, new) = shape.row(values);
            capture.push(shape, key, Some(old), Some(new));
        }),
    ];
    for (name, report) in functions {
        let shared = Arc::clone(shared);
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_INNOCUOUS;
        connection.create_scalar_function(name, -1, flags, move |context| {
            let mut capture = shared.capture();
            let number: u32 = context.get(0)?;
            let shape = Arc::clone(&capture.shapes[number as usize]);
            let mut values = (1..context.len()).map(|i| context.get_raw(i));
            report(&mut capture, &shape, &mut values);
            Ok(rusqlite::types::Null)
        })?;
    }
    Ok(())
}

impl Capture {
    /// Whether a trigger was made for a table as it is defined.
    fn is_of(&self, trigger: &str, definition: &Definition) -> bool {
        let number = trigger.rsplit_once('_').and_then(|(_, number)| number.parse::<usize>().ok());
        let shape = number.and_then(|number| self.shapes.get(number));
        shape.is_some_and(|shape| shape.definition == *definition)
    }

    fn push(&mut self, shape: &Shape, key: Vec<Value>, before: Option<Row>, after: Option<Row>) {
        let moved = before.is_some() && after.is_some();
        self.written += 1 + if moved { 0 } else { shape.indexes };
        self.changes.push(RowChange { table: Arc::clone(&shape.table), key, before, after });
    }
}

impl Shape {
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
    fn columns_after(&self, old: &Row, values: &mut dyn Iterator<Item = ValueRef<'_>>) -> Row {
        let column = |((name, old), new): (&(Arc<str>, Value), ValueRef<'_>)| {
            let same = matches!((old, new), (Value::Text(old), ValueRef::Text(new)) if old.as_bytes() == new);
            (Arc::clone(name), if same { old.clone() } else { new.into() })
        };
        old.iter().zip(values).map(column).collect()
    }
}

/// Gives every table its triggers. A table that is as it was keeps those that it has: an application that makes many
/// tables would otherwise pay for all of them with each. Takes and returns what [`recurse`] returns. All that is asked
/// here is prepared again with every change of the schema, so little is asked.
pub(super) fn refresh(
    connection: &Connection,
    shared: &Arc<Shared>,
    recursing: bool,
) -> rusqlite::Result<bool> {
    let sql = "select name, wr from pragma_table_list where schema = 'main' and type = 'table' \
               and name not like 'sqlite\\_%' escape '\\' order by name";
    let mut tables = connection.prepare_cached(sql)?;
    let tables: Vec<(String, bool)> =
        tables.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let (mut definitions, alone) = definitions(connection)?;
    let mut present = present(connection)?;
    for (table, without_rowid) in tables {
        let definition = definitions.remove(&table).unwrap_or_default();
        let triggers = present.remove(&table).unwrap_or_default();
        if triggers.iter().any(|name| shared.capture().is_of(name, &definition)) {
            continue;
        }
        drop_all(connection, &triggers)?;
        let shape = Shape { definition, ..shape(connection, &table, without_rowid)? };
        let number = shared.capture().shapes.len();
        connection.execute_batch(&triggers_of(&shape, number, without_rowid))?;
        shared.capture().shapes.push(Arc::new(shape));
    }
    present.values().try_for_each(|gone| drop_all(connection, gone))?;
    if alone != recursing {
        set_recursive(connection, alone)?;
    }
    Ok(alone)
}

/// The definitions of all tables, by name, and whether the application has no triggers.
fn definitions(connection: &Connection) -> rusqlite::Result<(SortedMap<String, Definition>, bool)> {
    let sql = "select type, tbl_name, sql from sqlite_master";
    let mut schema = connection.prepare_cached(sql)?;
    let mut rows = schema.query([])?;
    let (mut definitions, mut alone) = (SortedMap::<String, Definition>::new(), true);
    while let Some(row) = rows.next()? {
        match row.get_ref(0)?.as_str()? {
            "table" => {
                let sql: Option<String> = row.get(2)?;
                definitions.entry(row.get(1)?).or_default().sql = sql.unwrap_or_default();
            }
            "index" => definitions.entry(row.get(1)?).or_default().indexes += 1,
            "trigger" => alone = false,
            _ => {}
        }
    }
    Ok((definitions, alone))
}

/// The names of our triggers, by the table that they are of.
fn present(connection: &Connection) -> rusqlite::Result<SortedMap<String, Vec<String>>> {
    let sql = "select tbl_name, name from sqlite_temp_master where type = 'trigger'";
    let mut triggers = connection.prepare_cached(sql)?;
    let triggers = triggers.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut present: SortedMap<String, Vec<String>> = SortedMap::new();
    for trigger in triggers {
        let (table, name): (String, String) = trigger?;
        if name.starts_with(TRIGGER) {
            present.entry(table).or_default().push(name);
        }
    }
    Ok(present)
}

fn drop_all(connection: &Connection, triggers: &[String]) -> rusqlite::Result<()> {
    let drop = |name: &String| format!("drop trigger temp.{};", quoted(name));
    connection.execute_batch(&triggers.iter().map(drop).collect::<String>())
}

/// Removes the triggers, which would be in the way of `ALTER TABLE`.
pub(super) fn remove(connection: &Connection) -> rusqlite::Result<()> {
    present(connection)?.values().try_for_each(|triggers| drop_all(connection, triggers))
}

/// Lets the triggers see the rows that `REPLACE` removes, which SQLite reports to triggers only
/// when they may recurse. That would be felt by triggers of the application, so with any of those
/// the setting stays as it is by default, and the answer is false.
pub(super) fn recurse(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "select not exists(select 1 from sqlite_master where type = 'trigger')";
    let alone: bool = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    let now: bool =
        connection.prepare_cached("pragma recursive_triggers")?.query_row([], |row| row.get(0))?;
    if alone != now {
        set_recursive(connection, alone)?;
    }
    Ok(alone)
}

fn set_recursive(connection: &Connection, recursive: bool) -> rusqlite::Result<()> {
    connection.execute_batch(match recursive {
        true => "pragma recursive_triggers = on",
        false => "pragma recursive_triggers = off",
    })
}

fn shape(connection: &Connection, table: &str, without_rowid: bool) -> rusqlite::Result<Shape> {
    let sql = "select name, pk from pragma_table_xinfo(?) where hidden <> 1 order by cid";
    let mut columns = connection.prepare_cached(sql)?;
    let columns: Vec<(String, u32)> = columns
        .query_map([table], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let mut keys: Vec<(u32, usize)> =
        columns.iter().enumerate().filter(|(_, (_, pk))| *pk > 0).map(|(i, c)| (c.1, i)).collect();
    keys.sort_unstable();
    let sql = "select count(*) from pragma_index_list(?)";
    let indexes: u32 = connection.prepare_cached(sql)?.query_row([table], |row| row.get(0))?;
    Ok(Shape {
        table: table.into(),
        columns: columns.into_iter().map(|(name, _)| name.into()).collect(),
        keys: if without_rowid { keys.into_iter().map(|(_, i)| i).collect() } else { Vec::new() },
        // The primary key of a table without rowid is listed, but it is the table.
        indexes: u64::from(indexes) - u64::from(without_rowid),
        definition: Definition::default(),
    })
}

fn triggers_of(shape: &Shape, number: usize, without_rowid: bool) -> String {
    let columns = |row: &str| -> String {
        shape.columns.iter().map(|name| format!(",{row}.{}", quoted(name))).collect()
    };
    let call = |function: &str, row: &str, more: &str| {
        let rowid = if without_rowid { "null".into() } else { format!("{row}.rowid") };
        format!("select _cf_{function}({number},{rowid}{}{more});", columns(row))
    };
    let trigger = |verb: &str, body: String| {
        let table = quoted(&shape.table);
        let name = quoted(&format!("{TRIGGER}{verb}_{number}"));
        format!("create temp trigger {name} after {verb} on main.{table} begin {body} end;")
    };
    // One call takes both rows, unless there are more columns than a function has arguments.
    let fits = 2 + 2 * shape.columns.len() <= MAX_FUNCTION_ARGUMENTS as usize;
    let updated = match fits {
        true => call("update", "old", &columns("new")),
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
