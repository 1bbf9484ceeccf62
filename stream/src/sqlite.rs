//! The store on SQLite.

mod journal;
pub mod schema;
pub mod statements;

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, Params, Row, Transaction, TransactionBehavior, params};

use crate::backoff::Next;
use crate::batch;
use crate::error::Error;
use crate::message::{Key, Message, NewMessage};
use crate::migration;
use crate::store::{Claim, Parked, Store};

pub use crate::record::Record;

/// How long a statement waits for another process that is writing, unless it is said.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Streams in a file, for any number of processes on one machine.
///
/// Its operations do not wait for anything but the disk and other writers, and block the thread
/// for that long.
///
/// ```
/// use serde_json::json;
/// use thunderhead_stream::{NewMessage, SqliteStore, Store};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), thunderhead_stream::Error> {
/// let store = SqliteStore::in_memory()?;
/// let batch = [
///     NewMessage::input_command("m-1", "InitiateGroupCheckout", json!({ "guests": ["g1"] })),
///     NewMessage::output_command("m-2", "CheckOut", json!({ "guest": "g1" })),
/// ];
/// assert_eq!(store.append("group-1", 0, &batch, 1_000).await?, 2);
///
/// let claims = store.claim("processor-1", 1_000, 30_000, 10).await?;
/// assert_eq!(claims[0].message.message_type, "CheckOut");
/// assert!(store.mark_command_processed(&claims[0].message.key(), 1_500).await?);
/// assert!(store.pending_commands(None, None, 10).await?.is_empty());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct SqliteStore {
    connection: Connection,
}

impl SqliteStore {
    /// Opens a file, or makes it, and brings its schema up to date.
    pub fn open(path: &Path) -> Result<SqliteStore, Error> {
        SqliteStore::open_with(path, BUSY_TIMEOUT)
    }

    /// Opens a file; every statement waits for others that are writing for so long at most.
    pub fn open_with(path: &Path, patience: Duration) -> Result<SqliteStore, Error> {
        let connection = Connection::open(path).map_err(failed)?;
        connection.busy_timeout(patience).map_err(failed)?;
        // Of a new file; where this is compiled, smaller pages may be usual (`.cargo/config.toml`).
        connection.pragma_update(None, "page_size", 4096).map_err(failed)?;
        journal::write_ahead(&connection).map_err(failed)?;
        // A commit survives the process, as in every mode, and in FULL also the machine.
        connection.pragma_update(None, "synchronous", "full").map_err(failed)?;
        SqliteStore::new(connection)
    }

    /// A store that is gone with this value.
    pub fn in_memory() -> Result<SqliteStore, Error> {
        SqliteStore::new(Connection::open_in_memory().map_err(failed)?)
    }

    fn new(connection: Connection) -> Result<SqliteStore, Error> {
        connection.set_prepared_statement_cache_capacity(32);
        let store = SqliteStore { connection };
        store.migrate()?;
        Ok(store)
    }

    /// The database itself, for what is kept beside the streams in one transaction with them.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The number of the last migration that has been applied.
    pub fn schema_version(&self) -> Result<i64, Error> {
        self.connection.query_row(schema::VERSION, [], |row| row.get(0)).map_err(failed)
    }

    fn migrate(&self) -> Result<(), Error> {
        let transaction = self.transaction(TransactionBehavior::Immediate)?;
        transaction.execute_batch(schema::CREATE_VERSIONS).map_err(failed)?;
        let version = self.schema_version()?;
        for migration in migration::missing(schema::MIGRATIONS, version)? {
            for statement in migration.statements {
                transaction.execute_batch(statement).map_err(failed)?;
            }
            let recorded = params![migration.version, migration.name];
            transaction.execute(schema::RECORD_VERSION, recorded).map_err(failed)?;
        }
        transaction.commit().map_err(failed)
    }

    /// A transaction. One that is going to write has to have the right from its beginning: it
    /// could find out halfway that another has written.
    fn transaction(&self, behaviour: TransactionBehavior) -> Result<Transaction<'_>, Error> {
        Transaction::new_unchecked(&self.connection, behaviour).map_err(failed)
    }

    /// How an append of this batch has ended, or would; of one moment within a transaction.
    fn resolve(
        &self,
        workflow_id: &str,
        messages: &[NewMessage],
        encoded: &str,
    ) -> Result<Result<i64, Error>, Error> {
        let found = self.rows(statements::FOUND, [encoded], |row| {
            Ok((row.get(0)?, Key { workflow_id: row.get(1)?, position: row.get(2)? }))
        })?;
        let version = self.rows(statements::STREAM_VERSION, [workflow_id], |row| row.get(0))?;
        Ok(batch::resolve(workflow_id, messages, &found.into_iter().collect(), version[0]))
    }

    fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let rows = statement.query_map(params, read).map_err(failed)?;
        rows.collect::<rusqlite::Result<_>>().map_err(failed)
    }

    fn messages(&self, sql: &str, params: impl Params) -> Result<Vec<Message>, Error> {
        self.rows(sql, params, record)?.into_iter().map(Message::try_from).collect()
    }

    /// Whether a statement returned a row.
    fn happened(&self, sql: &str, params: impl Params) -> Result<bool, Error> {
        Ok(!self.rows(sql, params, |_| Ok(()))?.is_empty())
    }
}

impl Store for SqliteStore {
    async fn append(
        &self,
        workflow_id: &str,
        expected_version: i64,
        messages: &[NewMessage],
        now: i64,
    ) -> Result<i64, Error> {
        batch::check(workflow_id, messages)?;
        let encoded = batch::encode(messages);
        // Whoever has lost need not wait for the one lock that there is for writing.
        let reading = self.transaction(TransactionBehavior::Deferred)?;
        let before = self.resolve(workflow_id, messages, &encoded)?;
        drop(reading);
        if before != Err(Error::Conflict { actual: expected_version }) {
            return before;
        }
        let writing = self.transaction(TransactionBehavior::Immediate)?;
        let params = params![workflow_id, expected_version, encoded, now];
        self.rows(statements::APPEND, params, |_| Ok(()))?;
        let after = self.resolve(workflow_id, messages, &encoded)?;
        writing.commit().map_err(failed)?;
        after
    }

    async fn read_stream(&self, workflow_id: &str, from: i64) -> Result<Vec<Message>, Error> {
        self.messages(statements::READ_STREAM, params![workflow_id, from])
    }

    async fn pending_commands(
        &self,
        workflow_id: Option<&str>,
        after: Option<&Key>,
        limit: u32,
    ) -> Result<Vec<Message>, Error> {
        match workflow_id {
            Some(workflow) => {
                let behind = Key::position_in(after, workflow);
                self.messages(statements::PENDING_OF_ONE, params![workflow, behind, limit])
            }
            None => {
                let (workflow, behind) = Key::parts(after);
                self.messages(statements::PENDING_OF_ALL, params![workflow, behind, limit])
            }
        }
    }

    async fn claim(
        &self,
        processor: &str,
        now: i64,
        lease: i64,
        limit: u32,
    ) -> Result<Vec<Claim>, Error> {
        let until = now.saturating_add(lease);
        let rows = self.rows(statements::CLAIM, params![processor, now, until, limit], |row| {
            let number = |column| row.get(RECORD_COLUMNS + column);
            Ok((record(row)?, [number(0)?, number(1)?, number(2)?, number(3)?]))
        })?;
        let claims = rows.into_iter().map(|(record, [attempt, failures, vanished, deaths])| {
            let (message, processor) = (record.try_into()?, processor.to_owned());
            Ok(Claim { message, processor, until, attempt, failures, vanished, deaths })
        });
        Ok(Claim::in_order(claims.collect::<Result<_, Error>>()?))
    }

    async fn begin(&self, claim: &Claim) -> Result<bool, Error> {
        let (command, processor, attempt) = (&claim.message, &claim.processor, claim.attempt);
        let params = params![command.workflow_id, command.position, processor, attempt];
        self.happened(statements::BEGIN, params)
    }

    async fn came_back(&self, claim: &Claim) -> Result<bool, Error> {
        let params = params![claim.message.workflow_id, claim.message.position, claim.attempt];
        self.happened(statements::CAME_BACK, params)
    }

    async fn mark_command_processed(&self, command: &Key, now: i64) -> Result<bool, Error> {
        let params = params![command.workflow_id, command.position, now];
        self.happened(statements::MARK_PROCESSED, params)
    }

    async fn mark_command_unprocessed(&self, command: &Key) -> Result<bool, Error> {
        let params = params![command.workflow_id, command.position];
        self.happened(statements::MARK_UNPROCESSED, params)
    }

    async fn record_failure(
        &self,
        claim: &Claim,
        error: &str,
        next: Next,
        now: i64,
    ) -> Result<bool, Error> {
        let (pause, park) = next.parts();
        let at = now.saturating_add(pause);
        let (command, error) = (&claim.message, batch::error_text(error));
        let Claim { processor, attempt, .. } = claim;
        let params =
            params![command.workflow_id, command.position, processor, attempt, error, at, park];
        self.happened(statements::RECORD_FAILURE, params)
    }

    async fn release(&self, claim: &Claim, now: i64) -> Result<bool, Error> {
        let (command, processor, attempt) = (&claim.message, &claim.processor, claim.attempt);
        let params = params![command.workflow_id, command.position, processor, attempt, now];
        self.happened(statements::RELEASE, params)
    }

    async fn parked(&self, after: Option<&Key>, limit: u32) -> Result<Vec<Parked>, Error> {
        let (workflow, position) = Key::parts(after);
        let rows = self.rows(statements::PARKED, params![workflow, position, limit], |row| {
            let rest = |index| RECORD_COLUMNS + index;
            let counts = (row.get(rest(0))?, row.get(rest(1))?);
            Ok((record(row)?, counts, row.get(rest(2))?, row.get(rest(3))?))
        })?;
        let parked = rows.into_iter().map(|(record, (attempts, failures), error, parked_at)| {
            Ok(Parked { message: record.try_into()?, attempts, failures, error, parked_at })
        });
        parked.collect()
    }

    async fn unpark(&self, command: &Key, now: i64) -> Result<bool, Error> {
        let params = params![command.workflow_id, command.position, now];
        self.happened(statements::UNPARK, params)
    }
}

/// How many columns [`record`] reads.
const RECORD_COLUMNS: usize = 11;

fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    Ok(Record {
        workflow_id: row.get(0)?,
        position: row.get(1)?,
        kind: row.get(2)?,
        direction: row.get(3)?,
        message_id: row.get(4)?,
        message_type: row.get(5)?,
        message_data: row.get(6)?,
        message_metadata: row.get(7)?,
        processed: row.get(8)?,
        created_at: row.get(9)?,
        processed_at: row.get(10)?,
    })
}

/// What an error of SQLite means to a caller.
fn failed(error: rusqlite::Error) -> Error {
    use ErrorCode::{
        CannotOpen, DatabaseBusy, DatabaseCorrupt, DatabaseLocked, DiskFull, NotADatabase,
        OperationInterrupted, OutOfMemory, SystemIoFailure,
    };
    let text = error.to_string();
    match error {
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::InvalidColumnType(..) => Error::Corrupt(text),
        rusqlite::Error::SqliteFailure(failure, _) => match failure.code {
            DatabaseCorrupt | NotADatabase => Error::Corrupt(text),
            DatabaseBusy | DatabaseLocked | DiskFull | OperationInterrupted | OutOfMemory
            | SystemIoFailure | CannotOpen => Error::Unavailable(text),
            _ => Error::Refused(text),
        },
        _ => Error::Refused(text),
    }
}
