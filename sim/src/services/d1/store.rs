//! One database: its primary, the log of what was written, and a replica.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::reply::{named, shown};
use super::{Answer, Bookmark, D1Result, Error, Meta, Method, Op, ReadFrom, Reply, Statement};
use crate::services::sqlite::{self, Database, ErrorKind, ResultSet, RowChange, Value, Whole};
use crate::values::time::Time;

#[derive(Debug)]
pub(super) struct Store {
    seed: u64,
    primary: Database,
    log: Vec<Commit>,
    /// How many commits came before those of the log.
    forgotten: usize,
    /// In a process that runs for long, the commits that nobody has written down yet. Its log stays empty, and no
    /// replica lags behind.
    unwritten: Option<Vec<Commit>>,
    /// The copy that last answered for a replica, and how much of the log it has seen.
    replica: Option<(usize, Database)>,
}

/// What was written at once.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Commit {
    now: Time,
    /// Where `random()` was on the primary.
    draws: u64,
    statements: Vec<Statement>,
}

/// What an image has beside the pages of the database.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Beside {
    draws: u64,
    /// How many commits there were: bookmarks count them.
    commits: usize,
}

impl Store {
    pub fn new(seed: u64) -> Store {
        let (primary, log) = (Database::open(seed), Vec::new());
        Store { seed, primary, log, forgotten: 0, unwritten: None, replica: None }
    }

    /// A database of a process that runs for long.
    pub fn lasting(seed: u64) -> Store {
        let primary = Database::lasting(seed);
        Store { primary, unwritten: Some(Vec::new()), ..Store::new(seed) }
    }

    /// The commits since this was last asked.
    pub fn take_unwritten(&mut self) -> Vec<Commit> {
        self.unwritten.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Applies a commit again that was written down.
    pub fn restore(&mut self, commit: &Commit) {
        commit.apply_to(&mut self.primary);
        drop(self.primary.take_changes());
        self.forgotten += 1;
    }

    /// Everything, in a process that runs for long. No operation is under way.
    pub fn image(&mut self, to: Option<&Path>) -> Result<(Beside, Vec<u8>), sqlite::Error> {
        let beside = Beside { draws: self.primary.draws(), commits: self.head() };
        Ok((beside, self.primary.image(to)?))
    }

    /// How many bytes an image has.
    pub fn bytes(&mut self) -> u64 {
        self.primary.bytes()
    }

    pub fn load_image(&mut self, beside: Beside, whole: Whole<'_>) -> Result<(), sqlite::Error> {
        self.primary.load_image(beside.draws, whole)?;
        self.forgotten = beside.commits;
        Ok(())
    }

    fn head(&self) -> usize {
        self.forgotten + self.log.len()
    }

    pub fn take_changes(&mut self) -> Vec<RowChange> {
        self.primary.take_changes()
    }

    pub fn look(&mut self, sql: &str) -> Result<ResultSet, Error> {
        Ok(self.primary.exec(sql, &[])?)
    }

    pub fn apply(&mut self, now: Time, op: &Op) -> Result<Reply, Error> {
        let position = self.position(op);
        let on_primary = position == self.head();
        let db = match on_primary {
            true => &mut self.primary,
            false => replay(&mut self.replica, self.seed, &self.log[..position]),
        };
        db.set_now(now);
        let draws = db.draws();
        let mut work = Work { db, on_primary, written: Vec::new(), wrote: false };
        let answer = work.perform(&op.method);
        let (statements, wrote) = (work.written, work.wrote);
        if wrote {
            let commit = Commit { now, draws, statements };
            match &mut self.unwritten {
                None => self.log.push(commit),
                Some(unwritten) => {
                    unwritten.push(commit);
                    self.forgotten += 1;
                }
            }
        }
        let seen = if on_primary { self.head() } else { position };
        let bookmark = op.session.is_some().then(|| Bookmark::at(seen as u64));
        answer.map(|answer| Reply { answer, bookmark })
    }

    /// How much of the log the operation sees.
    fn position(&self, op: &Op) -> usize {
        let head = self.head();
        if self.unwritten.is_some() {
            return head;
        }
        let (Some(session), ReadFrom::Replica { lag }) = (&op.session, op.read_from) else {
            return head;
        };
        if !op.may_lag() {
            return head;
        }
        let lag = usize::try_from(lag).unwrap_or(usize::MAX);
        let seen = session.get_bookmark().map_or(0, Bookmark::position);
        let seen = usize::try_from(seen).unwrap_or(usize::MAX);
        head.saturating_sub(lag).max(seen).min(head)
    }
}

/// Brings a replica to the end of `log`, from the beginning if it is further already.
fn replay<'a>(
    replica: &'a mut Option<(usize, Database)>,
    seed: u64,
    log: &[Commit],
) -> &'a mut Database {
    if replica.as_ref().is_some_and(|(position, _)| *position > log.len()) {
        *replica = None;
    }
    let (position, db) = replica.get_or_insert_with(|| (0, Database::open(seed)));
    log[*position..].iter().for_each(|commit| commit.apply_to(db));
    *position = log.len();
    drop(db.take_changes());
    db
}

impl Commit {
    /// Writes to a copy of the database what was written to the primary.
    fn apply_to(&self, db: &mut Database) {
        db.set_now(self.now);
        db.set_draws(self.draws);
        db.savepoint();
        let done = self.statements.iter().try_for_each(|statement| {
            let bindings: Vec<Value> = statement.bindings.iter().map(bound).collect();
            db.exec(&statement.sql, &bindings).map(drop)
        });
        // What the primary let pass by a setting of its connection, or because of rows that `OR FAIL`
        // has kept there, can be refused here; then the copy does without it.
        match done {
            Ok(()) => drop(db.release()),
            Err(_) => db.rollback_to(),
        }
    }
}

/// A value as D1's binding sends it: in JSON, which knows no infinity.
fn bound(value: &Value) -> Value {
    match value.bound() {
        Value::Real(real) if !real.get().is_finite() => Value::Null,
        value => value,
    }
}

/// One operation on one copy of the database.
struct Work<'a> {
    db: &'a mut Database,
    on_primary: bool,
    /// What has to be in the log, if anything changed.
    written: Vec<Statement>,
    wrote: bool,
}

impl Work<'_> {
    fn perform(&mut self, method: &Method) -> Result<Answer, Error> {
        match method {
            Method::All(statement) | Method::Run(statement) => {
                let set = self.alone(statement)?;
                Ok(Answer::Result(self.result(set)))
            }
            Method::First { statement, column } => {
                let set = self.alone(statement)?;
                let row = named(&set.columns, set.rows).into_iter().next();
                let Some(column) = column else { return Ok(Answer::Row(row)) };
                let Some(row) = row else { return Ok(Answer::Column(Value::Null)) };
                let value = row.into_iter().find(|(name, _)| name == column);
                let value = value.ok_or_else(|| Error::ColumnNotFound(column.clone()))?;
                Ok(Answer::Column(value.1))
            }
            Method::Raw { statement, column_names } => {
                let set = self.alone(statement)?;
                let names = set.columns.into_iter().map(Value::from).collect();
                let rows = set.rows.into_iter();
                let rows = rows.map(|row| row.into_iter().map(shown).collect());
                Ok(Answer::Raw(column_names.then_some(names).into_iter().chain(rows).collect()))
            }
            Method::Batch(statements) => self.batch(statements),
            Method::Exec(sql) => self.exec(sql),
            Method::Dump => Err(Error::Dump),
        }
    }

    /// One text, in a transaction of its own. It may have several statements; the last answers.
    fn alone(&mut self, statement: &Statement) -> Result<ResultSet, Error> {
        match sqlite::is_one_statement(&statement.sql) {
            true => self.statement(statement),
            false => self.atomically(|work| work.statement(statement)),
        }
    }

    fn batch(&mut self, statements: &[Statement]) -> Result<Answer, Error> {
        if statements.is_empty() {
            return Err(Error::NoStatements);
        }
        let sets: Vec<ResultSet> = self.atomically(|work| {
            statements.iter().map(|statement| work.statement(statement)).collect()
        })?;
        Ok(Answer::Batch(sets.into_iter().map(|set| self.result(set)).collect()))
    }

    fn exec(&mut self, sql: &str) -> Result<Answer, Error> {
        let mut count = 0;
        for line in sql.trim().split('\n') {
            count += 1;
            self.alone(&Statement::new(line)).map_err(|error| {
                let cause = error.cause().into();
                Error::Exec { line: count, sql: line.into(), cause }
            })?;
        }
        Ok(Answer::Exec { count })
    }

    fn atomically<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.db.savepoint();
        let (before, wrote) = (self.written.len(), self.wrote);
        let result = work(self);
        let result = match result {
            Ok(value) => self.db.release().map(|()| value).map_err(Error::from),
            Err(error) => {
                self.db.rollback_to();
                Err(error)
            }
        };
        if result.is_err() {
            self.written.truncate(before);
            self.wrote = wrote;
        }
        result
    }

    fn statement(&mut self, statement: &Statement) -> Result<ResultSet, Error> {
        let bindings: Vec<Value> = statement.bindings.iter().map(bound).collect();
        let set = self.db.exec(&statement.sql, &bindings).map_err(|error| match error.kind {
            ErrorKind::NoStatement => Error::NoStatements,
            _ => Error::Sql(error),
        })?;
        // A pragma changes nothing by itself, but may be why the next statement is allowed.
        let wrote = set.changes > 0 || set.schema_changed;
        if wrote || sqlite::is_pragma(&statement.sql) {
            self.written.push(statement.clone());
            self.wrote |= wrote;
        }
        Ok(set)
    }

    fn result(&self, set: ResultSet) -> D1Result {
        let meta = Meta {
            served_by_primary: self.on_primary,
            changes: set.changes,
            last_row_id: set.last_row_id,
            changed_db: set.changes > 0 || set.schema_changed,
            rows_read: set.rows_read,
            rows_written: set.rows_written,
        };
        D1Result { results: named(&set.columns, set.rows), meta }
    }
}
