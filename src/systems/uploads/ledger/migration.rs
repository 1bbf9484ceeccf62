//! From one row for each name to the history of every event, while everything goes on.

use std::cell::OnceCell;

use thunderhead_sim::sqlite::Value;
use thunderhead_sim::{Env, Error, ObjectStorage};

use super::{ClassificationResult, Current, History, Ledger, UploadStatus, history};
use crate::systems::uploads::names::UploadEvent;

/// The key under which it is written down that the tables have moved.
const MIGRATED: &str = "migrated";
/// What the shelf forgot, the times of an event's beginning, begins anew.
const MOVE: [&str; 5] = [
    "insert into UploadEvent select eventId, name, workflowId, status, classificationLabel, \
     classificationScore, error, createdAt, updatedAt, completedAt from Upload",
    "insert into UploadEvent select eventId, name, 'imgcls_' || eventId, status, \
     classificationLabel, classificationScore, error, coalesce(completedAt, ?1), \
     coalesce(completedAt, ?1), completedAt from Replaced",
    "insert into UploadCurrent select name, eventId, workflowId, status, classificationLabel, \
     classificationScore, error, updatedAt from Upload",
    "delete from Upload",
    "delete from Replaced",
];

/// The old tables until an operator asks for the migration, the new ones from then on.
pub struct Migrating {
    storage: ObjectStorage,
    env: Env,
    old: Current,
    new: OnceCell<History>,
}

macro_rules! either {
    ($self:ident.$method:ident($($arg:expr),*)) => {
        match $self.new.get() {
            Some(new) => new.$method($($arg),*),
            None => $self.old.$method($($arg),*),
        }
    };
}

impl Ledger for Migrating {
    fn open(storage: &ObjectStorage, env: &Env) -> Migrating {
        let new = OnceCell::new();
        if storage.get(MIGRATED).expect("a short key").is_some() {
            let _ = new.set(History::open(storage, env));
        }
        let old = Current::open(storage, env);
        Migrating { storage: storage.clone(), env: env.clone(), old, new }
    }

    fn told(&self, name: &str, event: Option<&UploadEvent>, now: i64) -> Result<bool, Error> {
        either!(self.told(name, event, now))
    }

    fn current(&self, name: &str) -> Result<Option<String>, Error> {
        either!(self.current(name))
    }

    fn status(&self, event_id: &str) -> Result<Option<UploadStatus>, Error> {
        either!(self.status(event_id))
    }

    fn started(&self, event_id: &str, now: i64) -> Result<bool, Error> {
        either!(self.started(event_id, now))
    }

    fn finished(
        &self,
        event_id: &str,
        result: &ClassificationResult,
        now: i64,
    ) -> Result<bool, Error> {
        either!(self.finished(event_id, result, now))
    }

    fn rows(&self) -> Result<Vec<Vec<Value>>, Error> {
        either!(self.rows())
    }

    /// One turn, so the tables move as a whole or not at all.
    fn migrate(&self, now: i64) -> Result<bool, Error> {
        if self.new.get().is_some() {
            return Ok(false);
        }
        self.storage.transaction_sync(|| {
            self.storage.exec(history::SCHEMA, &[])?;
            for sql in MOVE {
                let bindings = if sql.contains('?') { vec![Value::from(now)] } else { vec![] };
                self.storage.exec(sql, &bindings)?;
            }
            self.storage.put(MIGRATED, "yes")
        })?;
        let _ = self.new.set(History::open(&self.storage, &self.env));
        Ok(true)
    }
}
