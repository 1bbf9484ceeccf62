//! How the turns of an object are done again after a restart: the statements that wrote, with the time and the place in
//! the random numbers that they had.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Storage;
use crate::services::sqlite::{self, Database, ResultSet, Value, is_one_statement, is_pragma};
use crate::values::body::Body;
use crate::values::time::Time;

/// One thing that a turn did.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Redo {
    Exec {
        now: Time,
        draws: u64,
        sql: Arc<str>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        bindings: Vec<Value>,
    },
    Key {
        key: Arc<str>,
        body: Option<Body>,
    },
    Begin,
    Commit,
    Rollback,
    Clear,
}

/// What has been done: in the turns that are kept, and in the one that is open.
#[derive(Debug, Default)]
pub(super) struct Log {
    now: Time,
    kept: Vec<Redo>,
    open: Vec<Redo>,
}

impl Storage {
    /// Storage of an object of a process that runs for long: how to do its turns again is remembered.
    pub(crate) fn lasting(seed: u64) -> Storage {
        let redo = Some(Log::default());
        Storage { db: Database::lasting(seed), redo, ..Storage::new(seed) }
    }

    /// What the turns did that ended since this was last asked.
    pub(crate) fn take_redo(&mut self) -> Vec<Redo> {
        self.redo.as_mut().map(|log| std::mem::take(&mut log.kept)).unwrap_or_default()
    }

    /// Does a turn again. What failed then fails again, and left as much behind.
    pub(crate) fn do_again(&mut self, turn: Vec<Redo>) -> Result<(), super::Error> {
        for redo in turn {
            match redo {
                Redo::Exec { now, draws, sql, bindings } => {
                    self.ensure_turn();
                    self.db.set_now(now);
                    self.db.set_draws(draws);
                    drop(self.db.exec(&sql, &bindings));
                }
                Redo::Key { key, body } => drop(self.replace_key(&key, body)),
                Redo::Begin => self.begin_transaction(),
                Redo::Commit => self.commit_transaction(),
                Redo::Rollback => self.rollback_transaction(),
                Redo::Clear => {
                    self.ensure_turn();
                    self.db.clear();
                }
            }
        }
        self.commit_turn()?;
        drop(self.take_changes());
        drop(self.take_redo());
        Ok(())
    }

    pub(super) fn note(&mut self, redo: impl FnOnce() -> Redo) {
        if let Some(log) = &mut self.redo {
            log.open.push(redo());
        }
    }

    /// Runs SQL and notes it if it wrote. Of several statements those before one that fails have taken effect, so
    /// these are noted in any case; and a pragma may be why the next statement is allowed.
    pub(super) fn exec_noted(
        &mut self,
        sql: &str,
        bindings: Vec<Value>,
    ) -> Result<ResultSet, sqlite::Error> {
        let draws = self.db.draws();
        let result = self.db.exec(sql, &bindings);
        let wrote = match &result {
            Ok(set) => set.changes > 0 || set.schema_changed,
            Err(_) => !is_one_statement(sql),
        };
        if wrote || is_pragma(sql) {
            let now = self.redo.as_ref().map_or(Time::ZERO, |log| log.now);
            self.note(|| Redo::Exec { now, draws, sql: sql.into(), bindings });
        }
        result
    }

    pub(super) fn keep_redo(&mut self) {
        if let Some(log) = &mut self.redo {
            log.kept.append(&mut log.open);
        }
    }

    pub(super) fn lose_redo(&mut self) {
        if let Some(log) = &mut self.redo {
            log.open.clear();
        }
    }

    pub(super) fn note_now(&mut self, now: Time) {
        if let Some(log) = &mut self.redo {
            log.now = now;
        }
    }
}
