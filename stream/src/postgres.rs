//! The store on PostgreSQL.

mod effects;
pub mod schema;
pub mod statements;

use std::collections::BTreeMap;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::{FromSql, ToSql};
use tokio_postgres::{Client, Config, NoTls, Row, Statement};

use crate::backoff::Next;
use crate::batch;
use crate::error::Error;
use crate::message::{Key, Message, NewMessage};
use crate::record::Record;
use crate::store::{Claim, Parked, Store};

pub use effects::{create_effects, record_effect};

type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Streams in a PostgreSQL database, for any number of processes on any number of machines.
///
/// One store is one connection. When the connection is lost every operation answers
/// [`Error::Unavailable`] from then on, and the caller connects anew.
#[derive(Debug)]
pub struct PostgresStore {
    client: Client,
    append: Statement,
    found: Statement,
    read_stream: Statement,
    pending_of_all: Statement,
    pending_of_one: Statement,
    claim: Statement,
    mark_processed: Statement,
    mark_unprocessed: Statement,
    record_failure: Statement,
    release: Statement,
    parked: Statement,
    unpark: Statement,
}

/// Connects, and drives the connection in the background for as long as the client is kept.
pub async fn connect(config: &Config) -> Result<Client, Error> {
    let (client, connection) = config.connect(NoTls).await.map_err(failed)?;
    // Whoever is waiting for an answer is told of the error that ends the connection.
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}

impl PostgresStore {
    /// Connects, and brings the schema up to date.
    pub async fn connect(config: &Config) -> Result<PostgresStore, Error> {
        let mut client = connect(config).await?;
        migrate(&mut client).await?;
        // A page is short and its table long, but a plan for any limit assumes a tenth of the table,
        // for which reading all of it can seem right.
        client.batch_execute("SET plan_cache_mode = force_custom_plan").await.map_err(failed)?;
        let prepare = async |sql| client.prepare(sql).await.map_err(failed);
        Ok(PostgresStore {
            append: prepare(statements::APPEND).await?,
            found: prepare(statements::FOUND).await?,
            read_stream: prepare(statements::READ_STREAM).await?,
            pending_of_all: prepare(statements::PENDING_OF_ALL).await?,
            pending_of_one: prepare(statements::PENDING_OF_ONE).await?,
            claim: prepare(statements::CLAIM).await?,
            mark_processed: prepare(statements::MARK_PROCESSED).await?,
            mark_unprocessed: prepare(statements::MARK_UNPROCESSED).await?,
            record_failure: prepare(statements::RECORD_FAILURE).await?,
            release: prepare(statements::RELEASE).await?,
            parked: prepare(statements::PARKED).await?,
            unpark: prepare(statements::UNPARK).await?,
            client,
        })
    }

    /// The connection itself, for a look from outside.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The number of the last migration that has been applied.
    pub async fn schema_version(&self) -> Result<i64, Error> {
        let row = self.client.query_one(schema::VERSION, &[]).await.map_err(failed)?;
        get(&row, 0)
    }

    async fn rows(&self, statement: &Statement, params: Params<'_>) -> Result<Vec<Row>, Error> {
        self.client.query(statement, params).await.map_err(failed)
    }

    async fn messages(
        &self,
        statement: &Statement,
        params: Params<'_>,
    ) -> Result<Vec<Message>, Error> {
        self.rows(statement, params).await?.iter().map(message).collect()
    }

    /// Whether a statement returned a row.
    async fn happened(&self, statement: &Statement, params: Params<'_>) -> Result<bool, Error> {
        Ok(!self.rows(statement, params).await?.is_empty())
    }

    /// How an append ended that added nothing, or whose answer would be about other messages.
    async fn resolve(&self, workflow_id: &str, messages: &[NewMessage]) -> Result<i64, Error> {
        let ids: Vec<&str> = messages.iter().map(|message| message.message_id.as_str()).collect();
        let rows = self.rows(&self.found, &[&workflow_id, &ids]).await?;
        let mut found = BTreeMap::new();
        let mut version = 0;
        for row in &rows {
            version = get(row, 0)?;
            if let Some(message_id) = get::<Option<String>>(row, 1)? {
                let key = Key { workflow_id: get(row, 2)?, position: get(row, 3)? };
                found.insert(message_id, key);
            }
        }
        batch::resolve(workflow_id, messages, &found, version)
    }
}

async fn migrate(client: &mut Client) -> Result<(), Error> {
    let transaction = client.transaction().await.map_err(failed)?;
    transaction.batch_execute(schema::LOCK).await.map_err(failed)?;
    transaction.batch_execute(schema::CREATE_VERSIONS).await.map_err(failed)?;
    let version: i64 = get(&transaction.query_one(schema::VERSION, &[]).await.map_err(failed)?, 0)?;
    for migration in schema::MIGRATIONS.iter().filter(|step| step.version > version) {
        for statement in migration.statements {
            transaction.batch_execute(statement).await.map_err(failed)?;
        }
        let recorded: Params<'_> = &[&migration.version, &migration.name];
        transaction.execute(schema::RECORD_VERSION, recorded).await.map_err(failed)?;
    }
    transaction.commit().await.map_err(failed)
}

impl Store for PostgresStore {
    async fn append(
        &self,
        workflow_id: &str,
        expected_version: i64,
        messages: &[NewMessage],
        now: i64,
    ) -> Result<i64, Error> {
        batch::check(workflow_id, messages)?;
        let encoded = batch::encode(messages);
        loop {
            let params: Params<'_> = &[&workflow_id, &expected_version, &encoded, &now];
            match self.client.execute(&self.append, params).await {
                Ok(0) => {}
                Ok(added) => return Ok(expected_version + added.cast_signed()),
                Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => {}
                Err(error) => return Err(failed(error)),
            }
            match self.resolve(workflow_id, messages).await {
                // Another has appended just now what was missing: this one can go ahead.
                Err(Error::Conflict { actual }) if actual == expected_version => {}
                answer => return answer,
            }
        }
    }

    async fn read_stream(&self, workflow_id: &str, from: i64) -> Result<Vec<Message>, Error> {
        self.messages(&self.read_stream, &[&workflow_id, &from]).await
    }

    async fn pending_commands(
        &self,
        workflow_id: Option<&str>,
        after: Option<&Key>,
        limit: u32,
    ) -> Result<Vec<Message>, Error> {
        let limit = i64::from(limit);
        match workflow_id {
            Some(workflow) => {
                let behind = Key::position_in(after, workflow);
                self.messages(&self.pending_of_one, &[&workflow, &behind, &limit]).await
            }
            None => {
                let (workflow, behind) = Key::parts(after);
                self.messages(&self.pending_of_all, &[&workflow, &behind, &limit]).await
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
        let params: Params<'_> = &[&processor, &now, &until, &i64::from(limit)];
        let rows = self.rows(&self.claim, params).await?;
        let claims = rows.iter().map(|row| {
            let (message, processor) = (message(row)?, processor.to_owned());
            let (attempt, failures) = (get(row, RECORD_COLUMNS)?, get(row, RECORD_COLUMNS + 1)?);
            Ok(Claim { message, processor, until, attempt, failures })
        });
        Ok(Claim::in_order(claims.collect::<Result<_, Error>>()?))
    }

    async fn mark_command_processed(&self, command: &Key, now: i64) -> Result<bool, Error> {
        let Key { workflow_id, position } = command;
        self.happened(&self.mark_processed, &[workflow_id, position, &now]).await
    }

    async fn mark_command_unprocessed(&self, command: &Key) -> Result<bool, Error> {
        let Key { workflow_id, position } = command;
        self.happened(&self.mark_unprocessed, &[workflow_id, position]).await
    }

    async fn record_failure(&self, claim: &Claim, error: &str, next: Next) -> Result<bool, Error> {
        let (at, park) = next.parts();
        let error = batch::error_text(error);
        let Message { workflow_id, position, .. } = &claim.message;
        let Claim { processor, attempt, .. } = claim;
        let params: Params<'_> = &[workflow_id, position, processor, attempt, &error, &at, &park];
        self.happened(&self.record_failure, params).await
    }

    async fn release(&self, claim: &Claim, now: i64) -> Result<bool, Error> {
        let Message { workflow_id, position, .. } = &claim.message;
        let params: Params<'_> = &[workflow_id, position, &claim.processor, &claim.attempt, &now];
        self.happened(&self.release, params).await
    }

    async fn parked(&self, after: Option<&Key>, limit: u32) -> Result<Vec<Parked>, Error> {
        let (workflow, position) = Key::parts(after);
        let rows = self.rows(&self.parked, &[&workflow, &position, &i64::from(limit)]).await?;
        let parked = rows.iter().map(|row| {
            Ok(Parked {
                message: message(row)?,
                attempts: get(row, RECORD_COLUMNS)?,
                failures: get(row, RECORD_COLUMNS + 1)?,
                error: get(row, RECORD_COLUMNS + 2)?,
                parked_at: get(row, RECORD_COLUMNS + 3)?,
            })
        });
        parked.collect()
    }

    async fn unpark(&self, command: &Key, now: i64) -> Result<bool, Error> {
        let Key { workflow_id, position } = command;
        self.happened(&self.unpark, &[workflow_id, position, &now]).await
    }
}

/// How many columns [`message`] reads.
const RECORD_COLUMNS: usize = 11;

fn message(row: &Row) -> Result<Message, Error> {
    let record = Record {
        workflow_id: get(row, 0)?,
        position: get(row, 1)?,
        kind: get(row, 2)?,
        direction: get(row, 3)?,
        message_id: get(row, 4)?,
        message_type: get(row, 5)?,
        message_data: get(row, 6)?,
        message_metadata: get(row, 7)?,
        processed: get(row, 8)?,
        created_at: get(row, 9)?,
        processed_at: get(row, 10)?,
    };
    record.try_into()
}

fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, Error> {
    row.try_get(column).map_err(|error| Error::Corrupt(error.to_string()))
}

/// What an error of the client means to a caller.
fn failed(error: tokio_postgres::Error) -> Error {
    // The text of an error of the server is in its source.
    let text = match error.as_db_error() {
        Some(of_server) => of_server.to_string(),
        None => error.to_string(),
    };
    // By classes: no answer without a code; connections, rollbacks for the sake of others, lack of
    // resources, objects in use, interventions and failures of the system pass; what is damaged stays.
    match error.code().map(|state| &state.code()[..2]) {
        None | Some("08" | "40" | "53" | "55" | "57" | "58") => Error::Unavailable(text),
        Some("XX") => Error::Corrupt(text),
        Some(_) => Error::Refused(text),
    }
}
