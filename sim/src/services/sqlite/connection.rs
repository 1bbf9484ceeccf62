//! One connection to real SQLite, set up as the platform sets it up, used by one run after another.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rusqlite::config::DbConfig;
use rusqlite::{StatementStatus, ffi};

use super::prepared::{Prepared, Ready};
use super::script::{self, Kind, Statement, words};
use super::shared::Shared;
use super::snapshot::Snapshot;
use super::{
    Error, ErrorKind, ResultSet, RowChange, Value, Whole, authority, capture, functions, image,
    limited, limits,
};
use crate::values::sorted_map::SortedMap;

/// The size of the pages of a database that lasts. It may be large, and smaller pages would make its trees higher.
const LASTING_PAGE: u32 = 4096;

pub(super) struct Connection {
    prepared: Prepared,
    pub shared: Arc<Shared>,
    /// `total_changes()` of the connection when the present run began.
    changes_before: u64,
    /// Whether `changes()` and `last_insert_rowid()` are still those of a new connection.
    counts_anew: bool,
    schema_version: i64,
    /// Whether some foreign key of the schema may be deferred.
    pub deferrable: bool,
    /// Whether some constraint of the schema replaces what is in its way.
    replaces: bool,
    /// Whether the schema may have a full-text index.
    indexes_text: bool,
    /// Whether our triggers hear of replaced rows.
    recursing: bool,
    /// Whether the schema changed since the present run began.
    changed_schema: bool,
    /// Answers to `CREATE … IF NOT EXISTS` that found the present schema to have it. Objects ask at
    /// the beginning of every life.
    unchanged: SortedMap<Arc<str>, ResultSet>,
}

impl Connection {
    /// A new in-memory database without tables.
    pub fn open() -> Connection {
        let raw = rusqlite::Connection::open_in_memory();
        // Small pages, because every write beside a trigger copies the pages it touches.
        raw.and_then(|raw| Connection::with(raw, 1024)).expect("an in-memory database opens")
    }

    /// A new database without tables, of which only some pages are in memory. The others are in a file that nobody else
    /// sees and that is gone with the connection; there is none before it is needed.
    pub fn open_lasting() -> Connection {
        let raw = Connection::lasting();
        raw.and_then(|raw| Connection::with(raw, LASTING_PAGE)).expect("a private database opens")
    }

    /// Like [`Connection::open_lasting`], with what is in an image.
    pub fn from_image(whole: Whole<'_>) -> Result<Connection, Error> {
        let load = || -> rusqlite::Result<Connection> {
            let mut raw = Connection::lasting()?;
            image::load(whole, &mut raw)?;
            let mut connection = Connection::with(raw, LASTING_PAGE)?;
            connection.adopt_schema()?;
            Ok(connection)
        };
        load().map_err(Error::from_sqlite)
    }

    fn lasting() -> rusqlite::Result<rusqlite::Connection> {
        // A database without a name is private, and overflows into a file.
        let raw = rusqlite::Connection::open("")?;
        // A turn that is undone is small, and nothing outlives the process here.
        raw.execute_batch("pragma journal_mode = memory; pragma synchronous = off;")?;
        Ok(raw)
    }

    fn with(mut raw: rusqlite::Connection, page: u32) -> rusqlite::Result<Connection> {
        // A plan that looked at the values of parameters would be made anew for other values, which
        // takes longer than most statements do here.
        raw.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        raw.execute_batch(&format!(
            "pragma page_size = {page}; pragma foreign_keys = on; pragma temp_store = memory; \
                 create temp table _cf_counters(x);",
        ))?;
        for (limit, value) in limits::CONNECTION {
            raw.set_limit(limit, value)?;
        }
        let shared = Arc::new(Shared::default());
        functions::install(&raw, &shared)?;
        capture::install(&raw, &shared)?;
        let recursing = capture::recount(&raw, &shared)?;
        authority::install(&mut raw, &shared)?;
        Ok(Connection {
            prepared: Prepared::new(raw),
            shared,
            changes_before: 0,
            counts_anew: true,
            schema_version: 0,
            deferrable: false,
            replaces: false,
            indexes_text: false,
            recursing,
            changed_schema: false,
            unchanged: SortedMap::new(),
        })
    }

    /// Everything that is in the database, outside of any turn: its pages, which go to a new file if there is a path.
    pub fn image(&self, to: Option<&Path>) -> Result<Vec<u8>, Error> {
        image::take(self.raw(), to).map_err(Error::from_sqlite)
    }

    /// How many bytes the database has.
    pub fn bytes(&self) -> u64 {
        let sql = "select page_count * page_size from pragma_page_count, pragma_page_size";
        let read = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        let bytes = self.shared.as_internal(|| self.raw().prepare_cached(sql)?.query_row([], read));
        bytes.expect("a database has a size").cast_unsigned()
    }

    /// Takes note of a schema that no statement of this connection has made.
    fn adopt_schema(&mut self) -> rusqlite::Result<()> {
        let shared = Arc::clone(&self.shared);
        let texts = shared.as_internal(|| -> rusqlite::Result<Vec<String>> {
            let mut all =
                self.raw().prepare("select sql from sqlite_master where sql is not null")?;
            all.query_map([], |row| row.get(0))?.collect()
        })?;
        for statement in texts.iter().flat_map(|text| script::split(text)) {
            self.deferrable |= statement.has(words::DEFERRED);
            self.replaces |= statement.has(words::REPLACE);
            self.indexes_text |= statement.has(words::VIRTUAL);
        }
        self.note_schema();
        self.recursing =
            shared.as_internal(|| capture::refresh(self.raw(), &shared, self.recursing))?;
        Ok(())
    }

    /// Runs a statement of ours.
    fn internal(&self, sql: &str) {
        let done =
            self.shared.as_internal(|| self.prepared.ours(sql, |ours| ours.raw_execute())?);
        done.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    fn raw(&self) -> &rusqlite::Connection {
        self.prepared.connection()
    }

    /// Begins a run, to be undone by [`Connection::end_run`].
    pub fn begin_run(&mut self) {
        self.internal("savepoint s");
        self.changed_schema = false;
        self.reset_counters();
    }

    /// Makes `changes()`, `last_insert_rowid()` and `total_changes()` those of a new connection.
    pub fn reset_counters(&mut self) {
        if !std::mem::replace(&mut self.counts_anew, true) {
            self.internal("replace into temp._cf_counters(rowid) values(0)");
            self.internal("delete from temp._cf_counters where rowid = 1");
        }
        self.changes_before = self.raw().total_changes();
    }

    /// Forgets everything since [`Connection::begin_run`]; false when that cannot be done.
    pub fn end_run(&mut self) -> bool {
        if self.shared.tainted.load(Relaxed) || self.raw().is_autocommit() {
            return false;
        }
        while !self.raw().is_autocommit() {
            // Savepoints share one name, so each round ends the innermost.
            self.rollback_to();
            self.release();
        }
        let mut capture = self.shared.capture();
        capture.changes.clear();
        !capture.is_full()
    }

    pub fn savepoint(&self) {
        self.internal("savepoint s");
    }

    pub fn release(&self) {
        self.internal("release s");
    }

    pub fn rollback_to(&mut self) {
        self.internal("rollback to s");
        if self.changed_schema {
            self.unchanged.clear();
            self.note_schema();
            let recounted = self.shared.as_internal(|| capture::recount(self.raw(), &self.shared));
            self.recursing = recounted.expect("the schema can be read");
        }
    }

    /// The first foreign key without its parent, as an error.
    pub fn check_foreign_keys(&self) -> Result<(), Error> {
        let sql = "select 1 from pragma_foreign_key_check limit 1";
        let broken = self.shared.as_internal(|| self.raw().prepare_cached(sql)?.exists([]));
        match broken.expect("foreign keys can be checked") {
            true => Err(Error::new(ErrorKind::Deferred, "internal error")),
            false => Ok(()),
        }
    }

    fn snapshot(&self) -> Snapshot {
        let taken = self.shared.as_internal(|| Snapshot::take(self.raw(), &self.shared));
        taken.expect("every table can be read")
    }

    /// Ends `PRAGMA defer_foreign_keys`, as a commit does.
    pub fn stop_deferring(&self) {
        if self.shared.deferring.swap(false, Relaxed) {
            self.internal("pragma defer_foreign_keys = off");
        }
    }

    pub fn total_changes(&self) -> u64 {
        self.raw().total_changes() - self.changes_before
    }

    pub fn last_insert_rowid(&self) -> i64 {
        self.raw().last_insert_rowid()
    }

    /// Rows that changed since this was last asked.
    pub fn take_changes(&self) -> Vec<RowChange> {
        std::mem::take(&mut self.shared.capture().changes)
    }

    /// Runs one statement to its end. When it fails it has changed nothing, except under `OR FAIL`.
    pub fn run(
        &mut self,
        statement: &Statement<'_>,
        bindings: &[Value],
    ) -> Result<ResultSet, Error> {
        if statement.has(words::ROLLBACK) && statement.kind != Kind::Other {
            let text = "ROLLBACK inside a statement is not supported by the simulation: it would \
                        end a transaction that the platform has opened";
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        if let Some(answer) = self.unchanged.get(statement.sql)
            && bindings.is_empty()
        {
            return Ok(ResultSet { last_row_id: self.last_insert_rowid(), ..answer.clone() });
        }
        self.counts_anew &= statement.kind == Kind::Select;
        let alters = statement.kind == Kind::Schema && !statement.adds_column();
        let rows_before = self.reshapes(statement).then(|| self.snapshot());
        if alters {
            let removed = self.shared.as_internal(|| capture::remove(self.raw()));
            removed.expect("our own triggers can be dropped");
        }
        let unheard = !self.recursing && (self.replaces || statement.has(words::REPLACE));
        let before = unheard.then(|| self.snapshot());
        let result = self.execute(statement, bindings);
        if let Some(before) = before {
            let after = self.snapshot();
            let changes = self.take_changes();
            self.shared.capture().changes = before.complete(&after, changes);
        }
        let changed = statement.changes_schema() && (self.note_schema() || alters);
        if changed {
            self.unchanged.clear();
            self.changed_schema = true;
            self.deferrable |= statement.has(words::DEFERRED);
            self.replaces |= statement.has(words::REPLACE);
            self.indexes_text |= statement.has(words::VIRTUAL);
            let refresh = || capture::refresh(self.raw(), &self.shared, self.recursing);
            let refreshed = self.shared.as_internal(refresh);
            self.recursing = refreshed.expect("every table takes our triggers");
        }
        let rows_before = rows_before.filter(|_| result.is_ok());
        let reshaped = rows_before.map(|before| before.changes_to(&self.snapshot()));
        let mut capture = self.shared.capture();
        let written = std::mem::take(&mut capture.written);
        match result {
            Ok(mut set) => {
                set.rows_written = written + if set.schema_changed { 2 } else { 0 };
                set.rows_read = rows_read(statement, &set, &capture.changes);
                capture.changes.extend(reshaped.into_iter().flatten());
                drop(capture);
                if statement.kind == Kind::Create && !changed {
                    self.unchanged.insert(statement.sql.into(), set.clone());
                }
                Ok(set)
            }
            Err(error) => {
                let kept = statement.has(words::FAIL) && error.kind != ErrorKind::ForeignKey;
                if !kept {
                    capture.changes.clear();
                }
                Err(error)
            }
        }
    }

    /// Whether a statement may drop tables, rename them, give them other columns or fill them. To add a column is tried
    /// at the beginning of every life of an object, mostly in vain, and then nothing has to be read.
    fn reshapes(&self, statement: &Statement<'_>) -> bool {
        match statement.kind {
            // A table that is made of a query has rows from the beginning.
            Kind::Create => statement.has(words::FROM),
            Kind::Schema if statement.adds_column() => self.raw().prepare(statement.sql).is_ok(),
            Kind::Schema => !statement.drops_trigger(),
            _ => false,
        }
    }

    fn execute(&self, statement: &Statement<'_>, bindings: &[Value]) -> Result<ResultSet, Error> {
        self.shared.transaction_refused.store(false, Relaxed);
        self.shared.changing_schema.store(statement.changes_schema(), Relaxed);
        if self.indexes_text && statement.has(words::WRITE) {
            // A full-text index writes what it has gathered when its transaction ends. Here it would do that in the
            // middle of the next statement, which would count it among its changes.
            self.savepoint();
            self.release();
        }
        let total = self.total_changes();
        self.shared.total_changes.store(total.cast_signed(), Relaxed);
        let refused = |error| match self.shared.transaction_refused.load(Relaxed) {
            true => Error::transaction(),
            false => Error::from_sqlite(error),
        };
        let step = |ready: &mut Ready<'_>| self.step(ready, statement, bindings);
        let mut set = if statement.changes_schema() {
            step(&mut self.raw().prepare(statement.sql).map_err(refused)?.into())?
        } else {
            let mut done = self.prepared.theirs(statement.sql, step);
            if done.is_err()
                && let Some(sql) = limited::rewritten(statement.sql)
            {
                done = self.prepared.theirs(&sql, step).or(done);
            }
            done.map_err(refused)??
        };
        set.changes = self.total_changes() - total;
        set.last_row_id = self.last_insert_rowid();
        set.schema_changed = self.schema_version != self.read_schema_version(statement);
        Ok(set)
    }

    /// Runs a prepared statement to its end; what it returned.
    fn step(
        &self,
        ready: &mut Ready<'_>,
        statement: &Statement<'_>,
        bindings: &[Value],
    ) -> Result<ResultSet, Error> {
        let prepared = &mut ready.statement;
        if prepared.parameter_count() != bindings.len() {
            return Err(Error::bindings());
        }
        if statement.kind == Kind::Pragma && statement.sql.contains("defer_foreign_keys") {
            self.shared.deferring.store(true, Relaxed);
        }
        for (i, value) in bindings.iter().enumerate() {
            prepared.raw_bind_parameter(i + 1, value).map_err(Error::from_sqlite)?;
        }
        prepared.reset_status(StatementStatus::FullscanStep);
        let mut rows = Vec::new();
        {
            let mut cursor = prepared.raw_query();
            while let Some(row) =
                cursor.next().map_err(|error| self.step_error(statement, error))?
            {
                let value = |i| row.get_ref(i).map(Value::from).map_err(Error::from_sqlite);
                rows.push((0..row.as_ref().column_count()).map(value).collect::<Result<_, _>>()?);
            }
        }
        let scanned = prepared.get_status(StatementStatus::FullscanStep);
        // Not earlier: the first step prepares a statement again whose tables have changed.
        let columns = ready.columns();
        let rows_read = u64::try_from(scanned).unwrap_or(0);
        Ok(ResultSet { columns, rows, rows_read, ..ResultSet::default() })
    }

    /// The error of a statement that failed while it ran.
    ///
    /// A statement from the cache finds only then that the schema has changed under it. Preparing
    /// it again gives the error that a new connection would give, with its offset.
    fn step_error(&self, statement: &Statement<'_>, error: rusqlite::Error) -> Error {
        let code = error.sqlite_error().map(|error| error.extended_code);
        if statement.changes_schema() || code != Some(ffi::SQLITE_ERROR) {
            return Error::from_sqlite(error);
        }
        Error::from_sqlite(self.raw().prepare(statement.sql).err().unwrap_or(error))
    }

    fn read_schema_version(&self, statement: &Statement<'_>) -> i64 {
        if !statement.changes_schema() {
            return self.schema_version;
        }
        let read = |row: &rusqlite::Row<'_>| row.get(0);
        let version = self.shared.as_internal(|| {
            self.raw().prepare_cached("pragma schema_version")?.query_row([], read)
        });
        version.expect("a database has a schema version")
    }

    /// Looks whether the schema is another than before.
    fn note_schema(&mut self) -> bool {
        let any = Statement { sql: "", kind: Kind::Schema, words: 0 };
        let version = self.read_schema_version(&any);
        std::mem::replace(&mut self.schema_version, version) != version
    }
}

/// How many rows a statement has looked at: an estimate, since SQLite does not say. It has to go
/// with the few figures that were observed.
fn rows_read(statement: &Statement<'_>, set: &ResultSet, changes: &[RowChange]) -> u64 {
    let scanned = match set.rows_read {
        0 => 0,
        steps => steps + 1,
    };
    let (returned, changed) = (set.rows.len() as u64, changes.len() as u64);
    match statement.kind {
        Kind::Create | Kind::Schema => u64::from(set.schema_changed),
        Kind::Select if !statement.has(words::FROM) => 0,
        Kind::Delete if !statement.has(words::WHERE) => 0,
        Kind::Update | Kind::Delete => scanned.max(changed).max(1),
        Kind::Insert => {
            let met = changes.iter().filter(|change| change.before.is_some()).count() as u64;
            met.max(returned).max(u64::from(changed == 0))
        }
        _ => scanned.max(returned),
    }
}
