//! One logical database of one run.

use std::path::Path;
use std::rc::Rc;

use super::connection::Connection;
use super::pool::Schema;
use super::script::{self, Kind, Statement};
use super::{Error, ErrorKind, ResultSet, RowChange, Value, Whole};
use crate::values::time::Time;

/// One logical database of one run: a durable object's, or one of D1.
///
/// ```
/// use thunderhead_sim::sqlite::{Database, Value};
///
/// let mut db = Database::open(0);
/// db.exec("create table cats(name text primary key, lives integer)", &[])?;
/// db.exec("insert into cats values (?, ?)", &["Tom".into(), 9.into()])?;
///
/// db.begin_turn();
/// db.exec("update cats set lives = lives - 1", &[])?;
/// db.rollback_turn();
///
/// let set = db.exec("select lives from cats", &[])?;
/// assert_eq!(set.rows, [[Value::Integer(9)]]);
/// assert_eq!(db.take_changes().len(), 1, "the insert, and not the update that was rolled back");
/// # Ok::<(), thunderhead_sim::sqlite::Error>(())
/// ```
pub struct Database {
    state: State,
    /// Open turns and savepoints, outermost first.
    marks: Vec<Mark>,
    committed: Vec<RowChange>,
    /// Changes inside open turns and savepoints.
    pending: Vec<RowChange>,
    now: Time,
    seed: u64,
    draws: u64,
}

enum State {
    /// Nothing but `CREATE` and `SELECT` statements has run, so there is no need for a connection yet.
    Schema(Rc<Schema>),
    Open {
        connection: Connection,
        /// What the connection is given back to; none for a database that lasts.
        base: Option<Rc<Schema>>,
    },
}

struct Mark {
    /// How many changes were pending.
    pending: usize,
    /// The schema to go back to, when there was no connection yet.
    schema: Option<Rc<Schema>>,
}

impl Database {
    /// An empty database; `seed` is what `random()` derives from.
    pub fn open(seed: u64) -> Database {
        Database {
            state: State::Schema(Schema::empty()),
            marks: Vec::new(),
            committed: Vec::new(),
            pending: Vec::new(),
            now: Time::ZERO,
            seed,
            draws: 0,
        }
    }

    /// An empty database that is kept for as long as the process runs. It has a connection of its own: one from the
    /// pool is in a transaction that never ends, whose journal would grow with every write.
    pub(crate) fn lasting(seed: u64) -> Database {
        let connection = Connection::open_lasting();
        connection.shared.set_random(seed, 0);
        let mut database = Database::open(seed);
        database.state = State::Open { connection, base: None };
        database
    }

    /// Everything that is in the database, as bytes, or in a new file if there is a path. No turn is open.
    pub(crate) fn image(&mut self, to: Option<&Path>) -> Result<Vec<u8>, Error> {
        assert!(self.marks.is_empty(), "what an open turn has written may still be lost");
        self.connection().image(to)
    }

    /// How many bytes an image has.
    pub(crate) fn bytes(&mut self) -> u64 {
        self.connection().bytes()
    }

    /// Replaces everything by what an image has, in a database that lasts.
    pub(crate) fn load_image(&mut self, draws: u64, image: Whole<'_>) -> Result<(), Error> {
        let connection = Connection::from_image(image)?;
        connection.shared.set_random(self.seed, draws);
        self.state = State::Open { connection, base: None };
        Ok(())
    }

    /// Sets the time that `'now'` and `CURRENT_TIMESTAMP` mean.
    pub fn set_now(&mut self, now: Time) {
        self.now = now;
        if let State::Open { connection, .. } = &self.state {
            connection.shared.set_now(now);
        }
    }

    /// Runs every statement of `sql` and answers with the result of the last.
    ///
    /// Only the last may have parameters. A statement that fails ends it; those before it have
    /// taken effect.
    pub fn exec(&mut self, sql: &str, bindings: &[Value]) -> Result<ResultSet, Error> {
        let places = script::places(sql);
        let Some((last, before)) = places.split_last() else {
            return Err(Error::new(
                ErrorKind::NoStatement,
                "SQL code did not contain a statement.",
            ));
        };
        let (mut read, mut written, mut changes, mut schema_changed) = (0, 0, 0, false);
        for place in before {
            let set = self.run(&place.of(sql), &[]).map_err(|error| match error.kind {
                ErrorKind::Bindings => Error::new(ErrorKind::Bindings, ONLY_LAST_HAS_PARAMETERS),
                _ => error,
            })?;
            read += set.rows_read;
            written += set.rows_written;
            changes += set.changes;
            schema_changed |= set.schema_changed;
        }
        let mut set = self.run(&last.of(sql), bindings)?;
        set.rows_read += read;
        set.rows_written += written;
        set.changes += changes;
        set.schema_changed |= schema_changed;
        Ok(set)
    }

    fn run(&mut self, statement: &Statement<'_>, bindings: &[Value]) -> Result<ResultSet, Error> {
        if let State::Schema(schema) = &self.state
            && bindings.is_empty()
            && let Some((next, answer)) = schema.after(statement)?
        {
            self.state = State::Schema(next);
            return Ok(answer);
        }
        if statement.kind == Kind::Select
            && let State::Schema(schema) = &self.state
        {
            return self.look(&Rc::clone(schema), statement, bindings);
        }
        let alone = self.marks.is_empty();
        let defers = statement.kind == Kind::Pragma && statement.sql.contains("defer_foreign_keys");
        let connection = self.connection();
        let guarded = alone && connection.deferrable && !statement.changes_schema();
        if guarded {
            connection.savepoint();
        }
        let mut result = connection.run(statement, bindings);
        if guarded {
            result = result.and_then(|set| connection.check_foreign_keys().map(|()| set));
            if result.is_err() {
                connection.rollback_to();
                drop(connection.take_changes());
            }
            connection.release();
        }
        if alone && defers {
            // Its own transaction ends with the statement, and the deferral with it.
            connection.stop_deferring();
        }
        let changes = connection.take_changes();
        match alone {
            true => self.committed.extend(changes),
            false => self.pending.extend(changes),
        }
        result
    }

    /// Reads a database that has nothing but a schema. It needs no connection of its own yet: a program that looks
    /// which tables there are is about to make those that are missing.
    fn look(
        &mut self,
        schema: &Schema,
        statement: &Statement<'_>,
        bindings: &[Value],
    ) -> Result<ResultSet, Error> {
        let mut connection = schema.outside_of_a_run();
        connection.shared.set_now(self.now);
        connection.shared.set_random(self.seed, self.draws);
        let result = connection.run(statement, bindings);
        self.draws = connection.shared.draws();
        schema.give_back(connection);
        result
    }

    /// The connection, which is taken from the pool when the first statement that writes needs one.
    fn connection(&mut self) -> &mut Connection {
        if let State::Schema(base) = &self.state {
            let connection = base.connection();
            connection.shared.set_now(self.now);
            connection.shared.set_random(self.seed, self.draws);
            let base = Some(Rc::clone(base));
            self.state = State::Open { connection, base };
        }
        match &mut self.state {
            State::Open { connection, .. } => connection,
            State::Schema(_) => unreachable!("opened above"),
        }
    }

    /// Begins a turn: writes that are kept or lost together.
    pub fn begin_turn(&mut self) {
        let schema = match &self.state {
            State::Schema(schema) => Some(Rc::clone(schema)),
            State::Open { connection, .. } => {
                connection.savepoint();
                None
            }
        };
        self.marks.push(Mark { pending: self.pending.len(), schema });
    }

    /// Keeps the writes of the innermost turn; of the outermost, for good.
    ///
    /// It fails, and the turn is rolled back, when a deferred foreign key is still broken.
    pub fn commit_turn(&mut self) -> Result<(), Error> {
        let outermost = self.marks.len() == 1;
        if outermost && let State::Open { connection, .. } = &self.state {
            let deferring = connection.shared.deferring.load(std::sync::atomic::Ordering::Relaxed);
            if (deferring || connection.deferrable)
                && let Err(error) = connection.check_foreign_keys()
            {
                connection.stop_deferring();
                self.rollback_turn();
                return Err(error);
            }
            connection.stop_deferring();
        }
        let mark = self.marks.pop().expect("a turn was begun");
        if mark.schema.is_none()
            && let State::Open { connection, .. } = &self.state
        {
            connection.release();
        }
        if outermost {
            self.committed.append(&mut self.pending);
        }
        Ok(())
    }

    /// Loses the writes of the innermost turn. The database is as if opened anew: what a
    /// connection counts, such as `changes()`, begins at zero.
    pub fn rollback_turn(&mut self) {
        self.undo();
        if let State::Open { connection, .. } = &mut self.state {
            connection.stop_deferring();
            connection.reset_counters();
        }
    }

    /// Begins a nested transaction.
    pub fn savepoint(&mut self) {
        self.connection();
        self.begin_turn();
    }

    /// Keeps the writes of the innermost nested transaction, if what is around it is kept.
    ///
    /// It fails as [`Database::commit_turn`] does, when there is nothing around it.
    pub fn release(&mut self) -> Result<(), Error> {
        self.commit_turn()
    }

    /// Loses the writes of the innermost nested transaction, and ends it.
    pub fn rollback_to(&mut self) {
        self.undo();
    }

    fn undo(&mut self) {
        let mark = self.marks.pop().expect("a turn or savepoint was begun");
        self.pending.truncate(mark.pending);
        match (mark.schema, &mut self.state) {
            (None, State::Open { connection, .. }) => {
                connection.rollback_to();
                connection.release();
            }
            // There was no connection then, so there is nothing to go back to but the schema.
            (Some(schema), _) => {
                self.close();
                self.state = State::Schema(schema);
            }
            (None, State::Schema(_)) => unreachable!("a savepoint keeps its connection"),
        }
    }

    /// How many turns and savepoints are open.
    pub fn depth(&self) -> usize {
        self.marks.len()
    }

    /// Rows that changed since this was last asked, in order; those of a turn once it is committed.
    pub fn take_changes(&mut self) -> Vec<RowChange> {
        std::mem::take(&mut self.committed)
    }

    /// `last_insert_rowid()`.
    pub fn last_insert_rowid(&self) -> i64 {
        match &self.state {
            State::Schema(_) => 0,
            State::Open { connection, .. } => connection.last_insert_rowid(),
        }
    }

    /// Adds a change that did not come from SQL, to be kept or lost with those that did.
    pub(crate) fn note(&mut self, change: RowChange) {
        match self.marks.is_empty() {
            true => self.committed.push(change),
            false => self.pending.push(change),
        }
    }

    /// How many random words the database has drawn.
    pub(crate) fn draws(&self) -> u64 {
        match &self.state {
            State::Schema(_) => self.draws,
            State::Open { connection, .. } => connection.shared.draws(),
        }
    }

    /// Continues the random words of another database of the same seed.
    pub(crate) fn set_draws(&mut self, draws: u64) {
        self.draws = draws;
        if let State::Open { connection, .. } = &self.state {
            connection.shared.set_random(self.seed, draws);
        }
    }

    /// Removes every table and row.
    pub fn clear(&mut self) {
        if let State::Schema(_) = self.state {
            // There are no rows to hear of, and no connection is needed to forget a schema.
            self.state = State::Schema(Schema::empty());
            return;
        }
        self.savepoint();
        self.exec("pragma defer_foreign_keys = on", &[]).expect("foreign keys can be deferred");
        // Triggers go first, for they do not hear of it. Which tables refer to which is not known,
        // so those that cannot go yet are tried again.
        let sql = "select type, name from sqlite_master where type <> 'index' and name not like \
                   'sqlite\\_%' escape '\\' order by type desc, name";
        let mut left = usize::MAX;
        loop {
            let rows = self.exec(sql, &[]).expect("the schema can be listed").rows;
            assert!(rows.len() < left, "tables refer to each other and cannot be removed");
            left = rows.len();
            if left == 0 {
                break;
            }
            for row in &rows {
                let (kind, name) = (row[0].as_str().unwrap_or(""), row[1].as_str().unwrap_or(""));
                let name = name.replace('"', "\"\"");
                let emptied = match kind {
                    "table" => self.exec(&format!("delete from \"{name}\""), &[]).is_ok(),
                    _ => true,
                };
                if emptied {
                    // A failure shows in the next listing.
                    let _ = self.exec(&format!("drop {kind} if exists \"{name}\""), &[]);
                }
            }
        }
        self.release().expect("no rows, no broken foreign keys");
    }

    /// Gives the connection back to the pool.
    fn close(&mut self) {
        let empty = State::Schema(Schema::empty());
        if let State::Open { mut connection, base } = std::mem::replace(&mut self.state, empty) {
            self.draws = connection.shared.draws();
            if let Some(base) = base
                && connection.end_run()
            {
                base.give_back(connection);
            }
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.close();
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("depth", &self.marks.len()).finish_non_exhaustive()
    }
}

/// The platform's answer to parameters anywhere else.
const ONLY_LAST_HAS_PARAMETERS: &str = "When executing multiple SQL statements in a single call, \
    only the last statement can have parameters.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_was_only_read_is_still_a_schema_of_the_pool() {
        let mut database = Database::open(7);
        let tables = "select name from sqlite_master where type = 'table'";
        assert!(database.exec(tables, &[]).unwrap().rows.is_empty());
        database.exec("create table cats(name text)", &[]).unwrap();
        assert_eq!(database.exec(tables, &[]).unwrap().rows, [["cats".into()]]);
        assert!(database.exec("select lives from cats", &[]).is_err());
        assert!(matches!(database.state, State::Schema(_)));
    }

    #[test]
    fn what_a_database_tells_does_not_depend_on_when_it_gets_its_connection() {
        let told = |before: &str, after: &str| {
            let mut database = Database::open(7);
            let mut ask = || database.exec("select random(), changes(), last_insert_rowid()", &[]);
            let first = ask().unwrap().rows;
            database.exec(&format!("create table cats(name text); {before}"), &[]).unwrap();
            let second = database.exec("select random(), count(*) from cats", &[]).unwrap().rows;
            database.exec(after, &[]).unwrap();
            (first, second, database.exec("select random(), changes()", &[]).unwrap().rows)
        };
        let write = "insert into cats values ('Tom'); delete from cats";
        let (late, early) = (told("select 1", write), told(write, write));
        assert_eq!(late, early);
        assert_ne!(late.0[0][0], late.1[0][0], "each draws another number");
        assert_eq!(late.0[0][1..], [Value::Integer(0), Value::Integer(0)]);
    }

    #[test]
    fn no_statement_counts_what_a_full_text_index_writes_for_the_one_before() {
        let mut database = Database::open(7);
        let schema = "create table notes(id integer primary key, text);
            create virtual table found using fts5(text, content = 'notes', content_rowid = 'id');
            create trigger finds after insert on notes begin
                insert into found(rowid, text) values (new.id, new.text);
            end";
        database.exec(schema, &[]).unwrap();
        let mut changes = |sql| database.exec(sql, &[]).unwrap().changes;
        // The emulator says 3 and 0 too.
        assert_eq!(changes("insert into notes(text) values ('hello')"), 3);
        assert_eq!(changes("update notes set text = 'x' where id = 99"), 0);
        assert_eq!(changes("delete from notes where id = 99"), 0);
    }
}
