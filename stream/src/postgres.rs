//! The store on PostgreSQL.

mod effects;
pub mod schema;
mod session;
mod settings;
pub mod statements;
mod tls;
mod words;

use std::collections::BTreeMap;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Client, Row};

use crate::backoff::Next;
use crate::batch;
use crate::error::Error;
use crate::message::{Key, Message, NewMessage};
use crate::record::Record;
use crate::store::{Claim, Parked, Store};

pub use effects::{create_effects, record_effect};
use session::Session;
pub use session::connect;
pub use settings::{Clock, Encryption, Settings};

/// A parameter and its type. Statements are sent with their types and never prepared under a name, so every
/// transaction may be on another connection: what a pooler in front of the server does.
type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// Streams in a PostgreSQL database, for any number of processes on any number of machines.
///
/// One store has one connection at a time. When that is lost, what was under way answers
/// [`Error::Unavailable`], and the next operation connects anew: at once at first, and after pauses
/// that double for as long as that fails.
#[derive(Debug)]
pub struct PostgresStore {
    session: Session,
}

impl PostgresStore {
    /// Connects, and brings the schema up to date.
    pub async fn connect(settings: &Settings) -> Result<PostgresStore, Error> {
        Ok(PostgresStore { session: Session::new(settings.clone()).await? })
    }

    /// The number of the last migration that has been applied.
    pub async fn schema_version(&self) -> Result<i64, Error> {
        let rows = self.rows(schema::VERSION, &[]).await?;
        rows.first().map_or(Ok(0), |row| get(row, 0))
    }

    /// The moment that counts as now: nothing says that the server knows.
    fn now(&self, now: i64) -> Option<i64> {
        match self.session.settings().clock {
            Clock::Database => None,
            Clock::Caller => Some(now),
        }
    }

    async fn rows(&self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>, Error> {
        let answer = self.session.run(async |client| client.query_typed(sql, params).await).await?;
        answer.map_err(failed)
    }

    async fn messages(&self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Message>, Error> {
        self.rows(sql, params).await?.iter().map(message).collect()
    }

    /// Whether a statement returned a row.
    async fn happened(&self, sql: &str, params: &[Param<'_>]) -> Result<bool, Error> {
        Ok(!self.rows(sql, params).await?.is_empty())
    }

    /// How an append ended that added nothing, or whose answer would be about other messages.
    async fn resolve(&self, workflow_id: &str, messages: &[NewMessage]) -> Result<i64, Error> {
        let ids: Vec<&str> = messages.iter().map(|message| message.message_id.as_str()).collect();
        let params = [text(&workflow_id), typed(&ids, Type::TEXT_ARRAY)];
        let rows = self.rows(statements::FOUND, &params).await?;
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

impl Store for PostgresStore {
    async fn append(
        &self,
        workflow_id: &str,
        expected_version: i64,
        messages: &[NewMessage],
        now: i64,
    ) -> Result<i64, Error> {
        batch::check(workflow_id, messages)?;
        let (encoded, now) = (batch::encode(messages), self.now(now));
        let params = [text(&workflow_id), number(&expected_version), text(&encoded), number(&now)];
        for _ in 0..APPEND_ROUNDS {
            let append =
                async |client: &Client| client.execute_typed(statements::APPEND, &params).await;
            match self.session.run(append).await? {
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
        Err(Error::Unavailable(format!("others were quicker {APPEND_ROUNDS} times")))
    }

    async fn read_stream(&self, workflow_id: &str, from: i64) -> Result<Vec<Message>, Error> {
        self.messages(statements::READ_STREAM, &[text(&workflow_id), number(&from)]).await
    }

    async fn pending_commands(
        &self,
        workflow_id: Option<&str>,
        after: Option<&Key>,
        limit: u32,
    ) -> Result<Vec<Message>, Error> {
        let limit = i64::from(limit);
        let (sql, (workflow, behind)) = match workflow_id {
            Some(one) => (statements::PENDING_OF_ONE, (one, Key::position_in(after, one))),
            None => (statements::PENDING_OF_ALL, Key::parts(after)),
        };
        self.messages(sql, &[text(&workflow), number(&behind), number(&limit)]).await
    }

    async fn claim(
        &self,
        processor: &str,
        now: i64,
        lease: i64,
        limit: u32,
    ) -> Result<Vec<Claim>, Error> {
        let (now, lease, limit) = (self.now(now), lease.min(LONGEST_MS), i64::from(limit));
        let params = [text(&processor), number(&now), number(&lease), number(&limit)];
        let rows = self.rows(statements::CLAIM, &params).await?;
        let claims = rows.iter().map(|row| {
            let (message, processor) = (message(row)?, processor.to_owned());
            let number = |column| get(row, RECORD_COLUMNS + column);
            Ok(Claim {
                message,
                processor,
                until: number(0)?,
                attempt: number(1)?,
                failures: number(2)?,
                vanished: number(3)?,
                deaths: number(4)?,
            })
        });
        Ok(Claim::in_order(claims.collect::<Result<_, Error>>()?))
    }

    async fn begin(&self, claim: &Claim) -> Result<bool, Error> {
        self.happened(statements::BEGIN, &held(claim)).await
    }

    async fn came_back(&self, claim: &Claim) -> Result<bool, Error> {
        let Claim { message, attempt, .. } = claim;
        let params = [text(&message.workflow_id), number(&message.position), number(attempt)];
        self.happened(statements::CAME_BACK, &params).await
    }

    async fn mark_command_processed(&self, command: &Key, now: i64) -> Result<bool, Error> {
        let (Key { workflow_id, position }, now) = (command, self.now(now));
        let params = [text(workflow_id), number(position), number(&now)];
        self.happened(statements::MARK_PROCESSED, &params).await
    }

    async fn mark_command_unprocessed(&self, command: &Key) -> Result<bool, Error> {
        let Key { workflow_id, position } = command;
        self.happened(statements::MARK_UNPROCESSED, &[text(workflow_id), number(position)]).await
    }

    async fn record_failure(
        &self,
        claim: &Claim,
        error: &str,
        next: Next,
        now: i64,
    ) -> Result<bool, Error> {
        let ((pause, park), error) = (next.parts(), batch::error_text(error));
        let (now, pause) = (self.now(now), pause.min(LONGEST_MS));
        let outcome = [text(&error), number(&now), number(&pause), (&park as _, Type::BOOL)];
        let params = [&held(claim)[..], &outcome].concat();
        self.happened(statements::RECORD_FAILURE, &params).await
    }

    async fn release(&self, claim: &Claim, now: i64) -> Result<bool, Error> {
        let now = self.now(now);
        let params = [&held(claim)[..], &[number(&now)]].concat();
        self.happened(statements::RELEASE, &params).await
    }

    async fn parked(&self, after: Option<&Key>, limit: u32) -> Result<Vec<Parked>, Error> {
        let ((workflow, position), limit) = (Key::parts(after), i64::from(limit));
        let params = [text(&workflow), number(&position), number(&limit)];
        let rows = self.rows(statements::PARKED, &params).await?;
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
        let (Key { workflow_id, position }, now) = (command, self.now(now));
        let params = [text(workflow_id), number(position), number(&now)];
        self.happened(statements::UNPARK, &params).await
    }
}

/// How often an append is tried that another, who then added nothing, kept from going ahead.
const APPEND_ROUNDS: u32 = 100;
/// The longest lease or pause: more than thirty years, and far from the end of all numbers.
const LONGEST_MS: i64 = 1 << 40;

/// A parameter with its type.
fn typed<T: ToSql + Sync>(value: &T, of: Type) -> Param<'_> {
    (value, of)
}

fn text<T: ToSql + Sync>(value: &T) -> Param<'_> {
    typed(value, Type::TEXT)
}

fn number<T: ToSql + Sync>(value: &T) -> Param<'_> {
    typed(value, Type::INT8)
}

/// Which command, and which claim of it.
fn held(claim: &Claim) -> [Param<'_>; 4] {
    let Claim { message, processor, attempt, .. } = claim;
    [text(&message.workflow_id), number(&message.position), text(processor), number(attempt)]
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
        None => chain(&error),
    };
    // By classes: no answer without a code; connections, rollbacks for the sake of others, lack of
    // resources, objects in use, interventions and failures of the system pass; what is damaged stays.
    match error.code().map(|state| &state.code()[..2]) {
        None | Some("08" | "40" | "53" | "55" | "57" | "58") => Error::Unavailable(text),
        Some("XX") => Error::Corrupt(text),
        Some(_) => Error::Refused(text),
    }
}

/// An error with what it came from.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
