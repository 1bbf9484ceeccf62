//! Hears of every row that changes, without the application's help.
//!
//! SQLite's pre-update hook would be the obvious way, but its bindings can only be generated with
//! a C compiler's library at build time. So every table gets three temporary triggers which hand
//! the old and the new row to a function of ours. They are outside the application's schema, are
//! rolled back with it, and also fire for what foreign keys cascade.

use std::sync::Arc;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};

use super::shape::{Shape, TRIGGER, quoted};
use super::shared::Shared;
use super::{Row, RowChange, Value};
use crate::values::sorted_map::SortedMap;

/// Names that begin so are the platform's own.
pub(super) const RESERVED: &str = "_cf_";
/// More tables than an application has. A connection on which there have been more is not used for another run.
const MAX_TABLES: usize = 1_024;

/// What the triggers have reported.
#[derive(Default)]
pub(super) struct Capture {
    /// Tables as the triggers know them, by number. A number always means the same on a connection, so that a
    /// rolled-back trigger finds its table again.
    pub shapes: Vec<Arc<Shape>>,
    /// The number of a table, by its name and the statement that made it.
    numbers: SortedMap<Definition, usize>,
    /// How many indexes each table has, by number.
    indexes: Vec<u64>,
    /// Changes since they were last taken.
    pub changes: Vec<RowChange>,
    /// Rows and entries of indexes written since the count was last taken.
    pub written: u64,
    old: Option<(Vec<Value>, Row)>,
}

/// The name of a table and the statement that made it, as the schema has it now. The shape of the table follows from
/// these.
type Definition = (String, String);

/// What is asked of the schema after every change of it.
#[derive(Default)]
struct Listing {
    tables: Vec<Definition>,
    /// How many indexes a table has, by its name.
    indexes: SortedMap<String, u64>,
    /// Whether the application has triggers.
    triggers: bool,
    /// Whether some tables are those of a virtual one. Only SQLite can tell which.
    shadows: bool,
}

/// Registers the functions that the triggers call.
pub(super) fn install(connection: &Connection, shared: &Arc<Shared>) -> rusqlite::Result<()> {
    type Report = fn(&mut Capture, usize, &mut dyn Iterator<Item = ValueRef<'_>>);
    let functions: [(&str, Report); 5] = [
        ("_cf_insert", |capture, number, values| {
            let (key, row) = capture.shapes[number].row(values);
            capture.push(number, key, None, Some(row));
        }),
        ("_cf_delete", |capture, number, values| {
            let (key, row) = capture.shapes[number].row(values);
            capture.push(number, key, Some(row), None);
        }),
        ("_cf_update", |capture, number, values| {
            let shape = &capture.shapes[number];
            let (key, old) = shape.row(values);
            let new = shape.columns_after(&old, values);
            capture.push(number, key, Some(old), Some(new));
        }),
        ("_cf_old", |capture, number, values| {
            capture.old = Some(capture.shapes[number].row(values))
        }),
        ("_cf_new", |capture, number, values| {
            let (key, old) = capture.old.take().expect("the trigger reports the old row first");
            let (_, new) = capture.shapes[number].row(values);
            capture.push(number, key, Some(old), Some(new));
        }),
    ];
    for (name, report) in functions {
        let shared = Arc::clone(shared);
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_INNOCUOUS;
        connection.create_scalar_function(name, -1, flags, move |context| {
            let mut capture = shared.capture();
            let number: u32 = context.get(0)?;
            let mut values = (1..context.len()).map(|i| context.get_raw(i));
            report(&mut capture, number as usize, &mut values);
            Ok(rusqlite::types::Null)
        })?;
    }
    Ok(())
}

impl Capture {
    /// Whether there were so many tables that all of this should be forgotten. It grows with every table that is new.
    pub fn is_full(&self) -> bool {
        self.shapes.len() > MAX_TABLES
    }

    fn push(&mut self, number: usize, key: Vec<Value>, before: Option<Row>, after: Option<Row>) {
        let moved = before.is_some() && after.is_some();
        self.written += 1 + if moved { 0 } else { self.indexes[number] };
        let table = Arc::clone(&self.shapes[number].table);
        self.changes.push(RowChange { table, key, before, after });
    }

    /// Takes note of how many indexes the tables have.
    fn count_indexes(&mut self, listing: &Listing) {
        for table in &listing.tables {
            if let Some(&number) = self.numbers.get(table) {
                self.indexes[number] = listing.indexes.get(&table.0).copied().unwrap_or(0);
            }
        }
    }
}

/// Gives every table its triggers. A table that is as it was keeps those that it has: an application that makes many
/// tables would otherwise pay for all of them with each. Takes and returns whether our triggers hear of rows that
/// `REPLACE` removes. All that is asked here is prepared again with every change of the schema, so little is asked.
pub(super) fn refresh(
    connection: &Connection,
    shared: &Arc<Shared>,
    recursing: bool,
) -> rusqlite::Result<bool> {
    let listing = Listing::read(connection)?;
    let mut present = present(connection)?;
    for table in &listing.tables {
        let Some(number) = numbered(connection, shared, table, listing.shadows)? else { continue };
        let triggers = present.remove(&table.0).unwrap_or_default();
        let ending = format!("_{number}");
        if !triggers.iter().any(|name| name.ends_with(&ending)) {
            drop_all(connection, &triggers)?;
            let shape = Arc::clone(&shared.capture().shapes[number]);
            connection.execute_batch(&shape.triggers)?;
        }
    }
    shared.capture().count_indexes(&listing);
    present.values().try_for_each(|gone| drop_all(connection, gone))?;
    listing.recurse(connection, recursing)
}

/// The number of a table, whose shape is read when it is new; none for a table whose rows are not heard of.
fn numbered(
    connection: &Connection,
    shared: &Arc<Shared>,
    table: &Definition,
    shadows: bool,
) -> rusqlite::Result<Option<usize>> {
    let known = shared.capture().numbers.get(table).copied();
    if known.is_some() && !shadows {
        return Ok(known);
    }
    let sql = "select wr from pragma_table_list(?) where schema = 'main' and type = 'table'";
    let mut list = connection.prepare_cached(sql)?;
    let Some(without_rowid) = list.query_row([&table.0], |row| row.get(0)).optional()? else {
        return Ok(None);
    };
    if known.is_some() {
        return Ok(known);
    }
    let number = shared.capture().shapes.len();
    let shape = Arc::new(Shape::read(connection, &table.0, without_rowid, number)?);
    let mut capture = shared.capture();
    capture.shapes.push(shape);
    capture.indexes.push(0);
    capture.numbers.insert(table.clone(), number);
    Ok(Some(number))
}

impl Listing {
    fn read(connection: &Connection) -> rusqlite::Result<Listing> {
        let sql = "select type, tbl_name, sql from sqlite_master";
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        let mut listing = Listing::default();
        while let Some(row) = rows.next()? {
            match row.get_ref(0)?.as_str()? {
                "table" => {
                    let (name, sql): (String, String) = (row.get(1)?, row.get(2)?);
                    if is_virtual(&sql) {
                        listing.shadows = true;
                    } else if !name.starts_with("sqlite_") {
                        listing.tables.push((name, sql));
                    }
                }
                "index" => *listing.indexes.entry(row.get(1)?).or_default() += 1,
                "trigger" => listing.triggers = true,
                _ => {}
            }
        }
        Ok(listing)
    }

    /// Lets the triggers see the rows that `REPLACE` removes, which SQLite reports to triggers only when they may
    /// recurse. That would be felt by triggers of the application, so with any of those the setting stays as it is by
    /// default, and the answer is false.
    fn recurse(&self, connection: &Connection, recursing: bool) -> rusqlite::Result<bool> {
        let alone = !self.triggers;
        if alone != recursing {
            connection.execute_batch(match alone {
                true => "pragma recursive_triggers = on",
                false => "pragma recursive_triggers = off",
            })?;
        }
        Ok(alone)
    }
}

/// Whether SQLite keeps a table elsewhere. It writes the first words of a statement itself.
fn is_virtual(sql: &str) -> bool {
    sql.starts_with("CREATE VIRTUAL TABLE")
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

/// Reads again what follows from a schema, when triggers of ours are as they should be: they are rolled back with it.
/// Returns what [`refresh`] does.
pub(super) fn recount(connection: &Connection, shared: &Arc<Shared>) -> rusqlite::Result<bool> {
    let listing = Listing::read(connection)?;
    shared.capture().count_indexes(&listing);
    let mut recursing = connection.prepare_cached("pragma recursive_triggers")?;
    listing.recurse(connection, recursing.query_row([], |row| row.get(0))?)
}
