//! A connection and the statements that were prepared on it.

use std::cell::RefCell;
use std::sync::Arc;

use rusqlite::{Connection, PrepFlags, Statement, StatementStatus};

use crate::values::sorted_map::SortedMap;

/// More statements than an application has; beyond it they are prepared anew.
const MOST: usize = 512;

type ByText<'a> = RefCell<SortedMap<Box<str>, Ready<'a>>>;

/// A statement that can be run, and the names of its columns once somebody has asked.
pub(super) struct Ready<'a> {
    pub statement: Statement<'a>,
    columns: Option<Columns>,
}

struct Columns {
    names: Vec<Arc<str>>,
    /// How often SQLite had prepared the statement again by then. It may have other columns each time.
    again: i32,
}

impl<'a> From<Statement<'a>> for Ready<'a> {
    fn from(statement: Statement<'a>) -> Ready<'a> {
        Ready { statement, columns: None }
    }
}

impl Ready<'_> {
    /// The names of the columns as the last run had them.
    pub fn columns(&mut self) -> Vec<Arc<str>> {
        let again = self.statement.get_status(StatementStatus::RePrepare);
        let known = self.columns.take().filter(|columns| columns.again == again);
        let read = || self.statement.column_names().map(Arc::from).collect();
        let columns = known.unwrap_or_else(|| Columns { names: read(), again });
        self.columns.insert(columns).names.clone()
    }
}

/// Ours are prepared with everything allowed, so the application must not get at them.
#[derive(Default)]
struct Statements<'a> {
    ours: ByText<'a>,
    theirs: ByText<'a>,
}

// A statement borrows its connection, and here the two live in one place. The cache of rusqlite
// spares that, but takes a statement out and puts it back each time, which costs as much again as
// most of our statements do.
self_cell::self_cell! {
    struct Both {
        owner: Connection,
        #[not_covariant]
        dependent: Statements,
    }
}

pub(super) struct Prepared(Both);

impl Prepared {
    pub fn new(connection: Connection) -> Prepared {
        Prepared(Both::new(connection, |_| Statements::default()))
    }

    pub fn connection(&self) -> &Connection {
        self.0.borrow_owner()
    }

    /// Does `work` with a statement of ours; an error when it cannot be prepared.
    pub fn ours<T>(
        &self,
        sql: &str,
        work: impl FnOnce(&mut Statement<'_>) -> T,
    ) -> rusqlite::Result<T> {
        let work = |ready: &mut Ready<'_>| work(&mut ready.statement);
        self.0.with_dependent(|connection, all| prepared(connection, &all.ours, sql, work))
    }

    /// Does `work` with a statement of the application; an error when it cannot be prepared.
    pub fn theirs<T>(
        &self,
        sql: &str,
        work: impl FnOnce(&mut Ready<'_>) -> T,
    ) -> rusqlite::Result<T> {
        self.0.with_dependent(|connection, all| prepared(connection, &all.theirs, sql, work))
    }
}

fn prepared<'a, T>(
    connection: &'a Connection,
    statements: &ByText<'a>,
    sql: &str,
    work: impl FnOnce(&mut Ready<'_>) -> T,
) -> rusqlite::Result<T> {
    let mut statements = statements.borrow_mut();
    if let Some(ready) = statements.get_mut(sql) {
        return Ok(work(ready));
    }
    let flags = PrepFlags::SQLITE_PREPARE_PERSISTENT;
    let mut ready = Ready::from(connection.prepare_with_flags(sql, flags)?);
    let done = work(&mut ready);
    if statements.len() == MOST {
        statements.clear();
    }
    statements.insert(sql.into(), ready);
    Ok(done)
}
