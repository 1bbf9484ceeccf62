//! D1, the SQL database: an operation and the time go in, a reply and changed rows come out.
//!
//! Writes go to the primary and are logged; a replica is a position in that log. Which position a
//! read of a session sees is the caller's to choose, within what its bookmark allows. See
//! `docs/platform-d1.md` for what differs from the platform.

mod bookmark;
mod error;
mod op;
mod persistence;
mod reply;
mod store;

use std::fmt;
use std::sync::Arc;

use crate::services::sqlite::{ResultSet, RowChange, Value};
use crate::values::hash::StableHasher;
use crate::values::sorted_map::SortedMap;
use crate::values::time::Time;
use store::Store;

pub use bookmark::{Bookmark, Constraint};
pub use error::{Error, TRANSIENT, Transient, transient_errors};
pub use op::{CALLS, Method, Op, ReadFrom, Session, Statement};
pub use reply::{Answer, D1Result, Meta, Reply};

/// All databases of the account.
///
/// ```
/// use thunderhead_sim::Time;
/// use thunderhead_sim::d1::{D1, Op, Statement};
///
/// let mut d1 = D1::new();
/// d1.create_database("pets")?;
/// let create = Op::exec("pets", "create table cats(name text primary key)");
/// d1.apply(Time::ZERO, &create).reply?;
///
/// let insert = || Statement::new("insert into cats values (?)").bind(["Tom"]);
/// let outcome = d1.apply(Time::ZERO, &Op::batch("pets", [insert(), insert()]));
/// assert_eq!(
///     outcome.reply.unwrap_err().to_string(),
///     "D1_ERROR: UNIQUE constraint failed: cats.name: SQLITE_CONSTRAINT \
///      (extended: SQLITE_CONSTRAINT_PRIMARYKEY)"
/// );
/// assert!(outcome.changes.is_empty(), "a batch is all or nothing");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct D1 {
    databases: SortedMap<Arc<str>, Store>,
    /// Whether the databases are those of a process that runs for long.
    lasting: bool,
}

/// What came of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The answer to the caller.
    pub reply: Result<Reply, Error>,
    /// Rows that changed for good.
    pub changes: Vec<RowChange>,
}

/// There is a database of this name already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseExists(pub Arc<str>);

impl fmt::Display for DatabaseExists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is a database named {:?} already", self.0)
    }
}

impl std::error::Error for DatabaseExists {}

impl D1 {
    /// The name of every database.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.databases.keys().map(|name| &**name)
    }

    /// An account without databases.
    pub fn new() -> D1 {
        D1::default()
    }

    /// Adds an empty database.
    pub fn create_database(&mut self, name: &str) -> Result<(), DatabaseExists> {
        if self.databases.contains_key(name) {
            return Err(DatabaseExists(name.into()));
        }
        let make = if self.lasting { Store::lasting } else { Store::new };
        self.databases.insert(name.into(), make(StableHasher::of(name)));
        Ok(())
    }

    /// Carries out one operation. All of it takes effect or nothing, except that `exec` keeps the
    /// lines before the one that fails.
    pub fn apply(&mut self, now: Time, op: &Op) -> Applied {
        let Some(store) = self.databases.get_mut(op.database()) else {
            let error = Error::NoSuchDatabase(op.database().into());
            return Applied { reply: Err(error), changes: Vec::new() };
        };
        let reply = store.apply(now, op);
        Applied { reply, changes: store.take_changes() }
    }

    /// What the primary answers to a query, for a look from outside.
    pub fn query(&mut self, database: &str, sql: &str) -> Result<Vec<Vec<Value>>, Error> {
        let store = self.databases.get_mut(database);
        let store = store.ok_or_else(|| Error::NoSuchDatabase(database.into()))?;
        let set: ResultSet = store.look(sql)?;
        Ok(set.rows)
    }
}
