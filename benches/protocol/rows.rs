//! The agent's table: one row per upload, in memory or in SQLite.

use std::cell::RefCell;
use std::collections::BTreeMap;

use rusqlite::{Connection, params};

/// A table that is used by one run after the other.
pub trait Rows {
    /// A run begins, on an empty table.
    fn begin(&self);
    /// Inserts the row of an upload at step 0, or notes its key again.
    fn upsert(&self, upload: u8, key: u8);
    /// Moves the row to `step` if it is at the step before; false when it is elsewhere.
    fn advance(&self, upload: u8, step: u8) -> bool;
    /// The run is over; what it wrote goes away.
    fn end(&self);
}

/// Key and step of each upload.
#[derive(Default)]
pub struct Memory(RefCell<BTreeMap<u8, (u8, u8)>>);

impl Rows for Memory {
    fn begin(&self) {}

    fn upsert(&self, upload: u8, key: u8) {
        self.0.borrow_mut().entry(upload).or_insert((key, 0)).0 = key;
    }

    fn advance(&self, upload: u8, step: u8) -> bool {
        match self.0.borrow_mut().get_mut(&upload) {
            Some((_, at)) if *at + 1 == step => {
                *at = step;
                true
            }
            _ => false,
        }
    }

    fn end(&self) {
        self.0.borrow_mut().clear();
    }
}

/// One connection for all runs. A savepoint that is rolled back leaves the schema and the prepared
/// statements in place, which is what makes it cheaper than a new database.
pub struct Sqlite(Connection);

impl Sqlite {
    pub fn new() -> Sqlite {
        let connection = Connection::open_in_memory().expect("memory is always there");
        let schema = "CREATE TABLE uploads (id INTEGER PRIMARY KEY, key INTEGER, step INTEGER)";
        connection.execute_batch(schema).expect("the schema is valid");
        Sqlite(connection)
    }

    fn execute(&self, sql: &str, upload: u8, value: u8) -> usize {
        let mut statement = self.0.prepare_cached(sql).expect("the statement is valid");
        statement.execute(params![upload, value]).expect("nothing else uses the database")
    }
}

impl Rows for Sqlite {
    fn begin(&self) {
        self.0.execute_batch("SAVEPOINT run").expect("no run is open");
    }

    fn upsert(&self, upload: u8, key: u8) {
        let sql = "INSERT INTO uploads (id, key, step) VALUES (?1, ?2, 0)
                   ON CONFLICT (id) DO UPDATE SET key = excluded.key";
        self.execute(sql, upload, key);
    }

    fn advance(&self, upload: u8, step: u8) -> bool {
        let sql = "UPDATE uploads SET step = ?2 WHERE id = ?1 AND step = ?2 - 1";
        self.execute(sql, upload, step) == 1
    }

    fn end(&self) {
        self.0.execute_batch("ROLLBACK TO run; RELEASE run").expect("a run is open");
    }
}
