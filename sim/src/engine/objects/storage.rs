//! The storage of an object, as its own code uses it.

use std::cell::RefCell;
use std::fmt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use crate::protocol::outcome::Error;
use crate::services::sqlite::{RowChange, Value, Whole};
use crate::services::storage::{self, Beside, ListOptions, Redo, SqlCursor, Storage};
use crate::values::body::Body;
use crate::values::time::Time;

/// SQL, keys and values, and the alarm of one object. Every call takes effect at once; the writes of a
/// turn are committed or lost as one.
#[derive(Clone)]
pub struct ObjectStorage {
    storage: Rc<RefCell<Storage>>,
    alarms: bool,
}

impl ObjectStorage {
    /// The storage of a new object. One that is `lasting` remembers how its turns are done again.
    pub(crate) fn new(seed: u64, alarms: bool, lasting: bool) -> ObjectStorage {
        let storage = if lasting { Storage::lasting(seed) } else { Storage::new(seed) };
        let storage = Rc::new(RefCell::new(storage));
        ObjectStorage { storage, alarms }
    }

    /// Runs SQL: every statement of `query`, of which the last may have parameters.
    ///
    /// Statements such as `BEGIN` are refused; use [`ObjectStorage::transaction_sync`].
    pub fn exec(&self, query: &str, bindings: &[Value]) -> Result<SqlCursor, Error> {
        self.with(|storage| storage.sql().exec(query, bindings))
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Result<Option<Body>, Error> {
        Ok(self.storage.borrow().get(key))
    }

    /// Those of the keys that there are, with their values, in the order of the keys.
    pub fn get_multiple(&self, keys: &[&str]) -> Result<Vec<(Arc<str>, Body)>, Error> {
        Ok(self.storage.borrow().get_multiple(keys))
    }

    /// Stores a value under a key.
    pub fn put(&self, key: &str, value: impl Into<Body>) -> Result<(), Error> {
        self.with(|storage| storage.put(key, value))
    }

    /// Stores several values, all or none.
    pub fn put_multiple(&self, pairs: &[(&str, Body)]) -> Result<(), Error> {
        self.with(|storage| storage.put_multiple(pairs))
    }

    /// Deletes a key. Returns whether it existed.
    pub fn delete(&self, key: &str) -> Result<bool, Error> {
        Ok(self.storage.borrow_mut().delete(key))
    }

    /// Deletes several keys. Returns how many of them existed.
    pub fn delete_multiple(&self, keys: &[&str]) -> Result<usize, Error> {
        Ok(self.storage.borrow_mut().delete_multiple(keys))
    }

    /// Keys and values in the order of the keys.
    pub fn list(&self, options: &ListOptions) -> Result<Vec<(Arc<str>, Body)>, Error> {
        self.with(|storage| storage.list_with_options(options))
    }

    /// Removes every table, every key and the alarm.
    pub fn delete_all(&self) {
        self.storage.borrow_mut().delete_all();
    }

    /// The time of the alarm; none inside its own handler, unless that has set a new one.
    pub fn get_alarm(&self) -> Option<Time> {
        self.storage.borrow().get_alarm()
    }

    /// Sets the alarm, in place of one that was set before. One for a time that has passed is sent soon.
    pub fn set_alarm(&self, at: Time) -> Result<(), Error> {
        if !self.alarms {
            return Err(Error::app(
                "Your Durable Object class must have an alarm() handler in order to call setAlarm()",
            ));
        }
        self.storage.borrow_mut().set_alarm(at);
        Ok(())
    }

    /// Deletes the alarm.
    pub fn delete_alarm(&self) {
        self.storage.borrow_mut().delete_alarm();
    }

    /// Does `work` and keeps or undoes its writes as one. Transactions nest.
    pub fn transaction_sync<T>(&self, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        self.begin();
        let result = work();
        self.end(result.is_ok());
        result
    }

    pub(crate) fn begin(&self) {
        self.storage.borrow_mut().begin_transaction();
    }

    pub(crate) fn end(&self, keep: bool) {
        let mut storage = self.storage.borrow_mut();
        if keep { storage.commit_transaction() } else { storage.rollback_transaction() }
    }

    fn with<T>(
        &self,
        work: impl FnOnce(&mut Storage) -> Result<T, storage::Error>,
    ) -> Result<T, Error> {
        work(&mut self.storage.borrow_mut()).map_err(Error::Storage)
    }
}

/// The part that the engine uses.
impl ObjectStorage {
    pub(crate) fn set_now(&self, now: Time) {
        self.storage.borrow_mut().set_now(now);
    }

    /// Whether the current turn has written anything.
    pub(crate) fn is_dirty(&self) -> bool {
        self.storage.borrow().is_dirty()
    }

    /// Commits the writes of the turn and returns the changed rows.
    pub(crate) fn commit_turn(&self) -> Result<Vec<RowChange>, Error> {
        let mut storage = self.storage.borrow_mut();
        storage.commit_turn().map_err(Error::Storage)?;
        Ok(storage.take_changes())
    }

    /// How to do again what the turns since the last question did.
    pub(crate) fn take_redo(&self) -> Vec<Redo> {
        self.storage.borrow_mut().take_redo()
    }

    /// Does a turn again.
    pub(crate) fn do_again(&self, turn: Vec<Redo>) -> Result<(), Error> {
        self.storage.borrow_mut().do_again(turn).map_err(Error::Storage)
    }

    /// Everything but the alarm, with its pages in a new file if there is a path; none while a turn is open.
    pub(crate) fn image(&self, to: Option<&Path>) -> Option<(Beside, Vec<u8>)> {
        self.storage.borrow_mut().image(to)
    }

    /// How many bytes the pages of an image have; none while a turn is open.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.storage.borrow_mut().bytes()
    }

    /// Replaces everything but the alarm.
    pub(crate) fn load_image(&self, beside: Beside, whole: Whole<'_>) -> Result<(), Error> {
        self.storage.borrow_mut().load_image(beside, whole).map_err(Error::Storage)
    }

    /// Discards the writes of the turn.
    pub(crate) fn reset(&self) {
        self.storage.borrow_mut().reset();
    }

    /// The alarm as the platform knows it: without what an open turn has done to it.
    pub(crate) fn kept_alarm(&self) -> Option<Time> {
        self.storage.borrow().kept_alarm()
    }

    /// Changes the alarm on behalf of the platform, whatever becomes of an open turn.
    pub(crate) fn set_kept_alarm(&self, at: Option<Time>) {
        self.storage.borrow_mut().set_kept_alarm(at);
    }

    /// Begins to watch whether the handler sets or deletes the alarm.
    pub(crate) fn watch_alarm(&self) {
        self.storage.borrow_mut().watch_alarm();
    }

    /// Whether the alarm was set or deleted since it is watched, in turns that were not lost.
    pub(crate) fn alarm_touched(&self) -> bool {
        self.storage.borrow().alarm_touched()
    }
}

impl fmt::Debug for ObjectStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ObjectStorage")
    }
}
