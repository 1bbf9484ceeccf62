//! A durable object's storage: SQL, keys and values, and one alarm, all in one transaction.
//!
//! The storage is synchronous, as the platform's is under an object with SQLite. What it does not
//! know is when a turn ends: the engine that runs the object calls [`Storage::commit_turn`] there, or
//! [`Storage::reset`] when the object dies in the middle of one. See `docs/platform-storage.md` for
//! what differs from the platform.

mod cursor;
mod error;
mod image;
mod kv;
mod redo;

use std::sync::Arc;

use crate::services::sqlite::{Database, RowChange, Value};
use crate::values::body::Body;
use crate::values::sorted_map::SortedMap;
use crate::values::time::Time;

pub use cursor::SqlCursor;
pub(crate) use cursor::named;
pub use error::Error;
pub(crate) use image::Beside;
pub use kv::{ListOptions, MAX_PAIR_BYTES};
pub(crate) use redo::Redo;

/// What `ctx.storage` is to a durable object.
///
/// ```
/// use thunderhead_sim::storage::{Error, Storage};
///
/// let mut storage = Storage::new(0);
/// storage.sql().exec("create table hits(n integer)", &[])?;
/// storage.put("greeting", "hello")?;
/// storage.commit_turn()?;
///
/// storage.put("greeting", "goodbye")?;
/// storage.reset();
/// assert_eq!(storage.get("greeting"), Some("hello".into()), "the last turn is lost");
///
/// let failed: Result<(), Error> = storage.transaction_sync(|storage| {
///     storage.sql().exec("insert into hits values (1)", &[])?;
///     storage.sql().exec("insert into misses values (1)", &[])?;
///     Ok(())
/// });
/// assert_eq!(failed.unwrap_err().to_string(), "no such table: misses: SQLITE_ERROR");
/// assert_eq!(storage.sql().exec("select * from hits", &[])?.to_array().len(), 0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Storage {
    db: Database,
    kv: SortedMap<Arc<str>, Body>,
    alarm: Option<Time>,
    /// Whether the alarm was set or deleted since [`Storage::watch_alarm`].
    alarm_touched: bool,
    /// How to take back what happened to keys and alarm in this turn, newest last.
    undo: Vec<Undo>,
    /// How long `undo` was when each open transaction began; the turn's own is not among them.
    marks: Vec<usize>,
    in_turn: bool,
    /// How to do the turn again, if anybody writes that down.
    redo: Option<redo::Log>,
}

#[derive(Debug)]
enum Undo {
    Key(Arc<str>, Option<Body>),
    Alarm { alarm: Option<Time>, touched: bool },
}

/// SQL on a durable object's storage: `ctx.storage.sql`.
#[derive(Debug)]
pub struct SqlStorage<'a> {
    storage: &'a mut Storage,
}

impl SqlStorage<'_> {
    /// Runs every statement of `query` and answers with the rows of the last, which alone may have
    /// parameters. Numbers are bound as JavaScript binds them, as doubles.
    pub fn exec(&mut self, query: &str, bindings: &[Value]) -> Result<SqlCursor, Error> {
        self.storage.ensure_turn();
        let bindings: Vec<Value> = bindings.iter().map(Value::bound).collect();
        if self.storage.redo.is_some() {
            return Ok(SqlCursor::new(self.storage.exec_noted(query, bindings)?));
        }
        Ok(SqlCursor::new(self.storage.db.exec(query, &bindings)?))
    }
}

impl Storage {
    /// Storage of an object that was never there before; `seed` is what SQL's `random()` derives
    /// from.
    pub fn new(seed: u64) -> Storage {
        Storage {
            db: Database::open(seed),
            kv: SortedMap::new(),
            alarm: None,
            alarm_touched: false,
            undo: Vec::new(),
            marks: Vec::new(),
            in_turn: false,
            redo: None,
        }
    }

    /// Sets the time that SQL's `'now'` means.
    pub fn set_now(&mut self, now: Time) {
        self.db.set_now(now);
        self.note_now(now);
    }

    /// The SQL side.
    pub fn sql(&mut self) -> SqlStorage<'_> {
        SqlStorage { storage: self }
    }

    /// When the alarm is to run, if one is set.
    pub fn get_alarm(&self) -> Option<Time> {
        self.alarm
    }

    /// The alarm as the platform knows it: without what an open turn has done to it.
    pub(crate) fn kept_alarm(&self) -> Option<Time> {
        let first = self.undo.iter().find_map(|undo| match undo {
            Undo::Alarm { alarm, .. } => Some(*alarm),
            Undo::Key(..) => None,
        });
        first.unwrap_or(self.alarm)
    }

    /// Changes the alarm on behalf of the platform. It is no part of an open turn: it is kept when that is
    /// lost, and does not commit it.
    pub(crate) fn set_kept_alarm(&mut self, at: Option<Time>) {
        let first = self.undo.iter_mut().find_map(|undo| match undo {
            Undo::Alarm { alarm, .. } => Some(alarm),
            Undo::Key(..) => None,
        });
        *first.unwrap_or(&mut self.alarm) = at;
    }

    /// Begins to watch whether the alarm is set or deleted. A turn that is lost takes back that it was.
    pub(crate) fn watch_alarm(&mut self) {
        self.alarm_touched = false;
        for undo in &mut self.undo {
            if let Undo::Alarm { touched, .. } = undo {
                *touched = false;
            }
        }
    }

    /// Whether the alarm was set or deleted since it is watched.
    pub(crate) fn alarm_touched(&self) -> bool {
        self.alarm_touched
    }

    /// Sets the alarm, in place of one that was set. Running it is the object runtime's part.
    pub fn set_alarm(&mut self, at: Time) {
        self.replace_alarm(Some(at));
        self.alarm_touched = true;
    }

    /// Removes the alarm, if one was set.
    pub fn delete_alarm(&mut self) {
        self.replace_alarm(None);
        self.alarm_touched = true;
    }

    fn replace_alarm(&mut self, alarm: Option<Time>) {
        self.ensure_turn();
        let before = std::mem::replace(&mut self.alarm, alarm);
        self.undo.push(Undo::Alarm { alarm: before, touched: self.alarm_touched });
        let row = |at: Time| {
            let unix = i64::try_from(at.unix_ms()).unwrap_or(i64::MAX);
            vec![(Arc::from("alarm"), Value::Integer(unix))]
        };
        if before != alarm {
            self.db.note(RowChange {
                table: "_cf_METADATA".into(),
                key: vec![Value::from("alarm")],
                before: before.map(row),
                after: alarm.map(row),
            });
        }
    }

    /// Removes every table, every key and the alarm.
    pub fn delete_all(&mut self) {
        self.ensure_turn();
        self.note(|| Redo::Clear);
        self.db.clear();
        let keys: Vec<_> = self.kv.keys().cloned().collect();
        keys.iter().for_each(|key| drop(self.replace_key(key, None)));
        self.replace_alarm(None);
    }

    /// Runs `work` in a transaction, which is rolled back when it fails. Transactions nest.
    pub fn transaction_sync<T, E>(
        &mut self,
        work: impl FnOnce(&mut Storage) -> Result<T, E>,
    ) -> Result<T, E> {
        self.begin_transaction();
        let result = work(self);
        match result.is_ok() {
            true => self.commit_transaction(),
            false => self.rollback_transaction(),
        }
        result
    }

    /// Begins a transaction, for a caller that cannot do its work in one call, as `transaction()`.
    pub fn begin_transaction(&mut self) {
        self.ensure_turn();
        self.note(|| Redo::Begin);
        self.db.savepoint();
        self.marks.push(self.undo.len());
    }

    /// Ends the innermost transaction and keeps its writes.
    pub fn commit_transaction(&mut self) {
        self.marks.pop().expect("a transaction was begun");
        self.note(|| Redo::Commit);
        self.db.release().expect("only the end of a turn checks foreign keys");
    }

    /// Ends the innermost transaction and undoes its writes, those to the alarm included.
    pub fn rollback_transaction(&mut self) {
        let mark = self.marks.pop().expect("a transaction was begun");
        self.note(|| Redo::Rollback);
        self.db.rollback_to();
        self.undo_to(mark);
    }

    /// Ends the turn and keeps its writes for good.
    ///
    /// It fails, and the turn is lost as by [`Storage::reset`], when a deferred foreign key is
    /// still broken. A transaction that is still open keeps the turn open: nothing of it is kept
    /// before the transaction has ended.
    pub fn commit_turn(&mut self) -> Result<(), Error> {
        if !self.in_turn || !self.marks.is_empty() {
            return Ok(());
        }
        self.in_turn = false;
        if let Err(error) = self.db.commit_turn() {
            self.undo_to(0);
            self.lose_redo();
            return Err(error.into());
        }
        self.undo.clear();
        self.keep_redo();
        Ok(())
    }

    /// Whether the present turn has written anything, or may have.
    pub fn is_dirty(&self) -> bool {
        self.in_turn
    }

    /// Loses the writes of the present turn and every open transaction, as when the object dies.
    pub fn reset(&mut self) {
        if !std::mem::take(&mut self.in_turn) {
            return;
        }
        for _ in self.marks.drain(..) {
            self.db.rollback_to();
        }
        self.db.rollback_turn();
        self.undo_to(0);
        self.lose_redo();
    }

    /// Rows, keys and alarms that changed since this was last asked, once their turn is committed.
    ///
    /// Keys show as rows of `_cf_KV`, the alarm as a row of `_cf_METADATA`.
    pub fn take_changes(&mut self) -> Vec<RowChange> {
        self.db.take_changes()
    }

    fn ensure_turn(&mut self) {
        if !self.in_turn {
            self.in_turn = true;
            self.db.begin_turn();
        }
    }

    fn undo_to(&mut self, mark: usize) {
        for undo in self.undo.drain(mark..).rev() {
            match undo {
                Undo::Alarm { alarm, touched } => {
                    (self.alarm, self.alarm_touched) = (alarm, touched)
                }
                Undo::Key(key, Some(body)) => drop(self.kv.insert(key, body)),
                Undo::Key(key, None) => drop(self.kv.remove(&key)),
            }
        }
    }
}
