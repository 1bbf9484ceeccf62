//! The command stream on D1: the statements of SQLite's store, each in one call.

use std::borrow::Cow;
use std::collections::BTreeMap;

use thunderhead_sim::d1::D1Result;
use thunderhead_sim::sqlite::{Row, Value};
use thunderhead_sim::{self as sim, D1Database, Env};
use thunderhead_stream::sqlite::{Record, schema, statements};
use thunderhead_stream::{Claim, Error, Key, Message, NewMessage, Next, Parked, Store, batch};

use super::mistakes;
use super::names::STREAMS;

/// The tables, step by step, and the state of each workflow beside its stream. What a migration does with the
/// rows of an older database is left out: there is none.
pub fn migrations() -> impl Iterator<Item = &'static str> {
    let steps = schema::MIGRATIONS.iter().flat_map(|migration| migration.statements).copied();
    let shapes = ["CREATE", "ALTER", "DROP"];
    steps.filter(move |sql| shapes.iter().any(|word| sql.starts_with(word))).chain([STATES])
}

const STATES: &str = "create table workflow_states (
    workflow_id text primary key,
    version integer not null,
    state text not null
)";

// Applied with the append or not at all: when the stream has moved on, or the last message of the batch is
// not where it was to be, the state in the parameters is not the state of the stream. Neither is it when the batch was
// there already: under the same ids it may have said something else.
const SET_STATE: &str = "insert into workflow_states (workflow_id, version, state) \
    select ?1, ?2, ?3 where exists (select 1 from workflow_messages \
        where workflow_id = ?1 and position = ?2 and message_id = ?4) \
    and not exists (select 1 from workflow_messages where workflow_id = ?1 and position > ?2) \
    and not exists (select 1 from workflow_states where workflow_id = ?1 and version >= ?2) \
    on conflict (workflow_id) do update set version = excluded.version, state = excluded.state";
const GET_STATE: &str = "select version, state from workflow_states where workflow_id = ?1";

/// Creates the database.
pub fn mount(cloud: &mut sim::Cloud) {
    cloud.d1(STREAMS);
    migrations().for_each(|sql| cloud.migrate(STREAMS, &[sql]));
}

/// The streams, as one host reaches them.
#[derive(Clone, Debug)]
pub struct D1Store {
    database: D1Database,
    env: Env,
}

impl D1Store {
    /// The store in the database [`STREAMS`].
    pub fn new(env: &Env) -> D1Store {
        D1Store { database: env.d1(STREAMS), env: env.clone() }
    }

    /// Appends, and writes the state that follows in the same transaction.
    pub async fn append_with_state(
        &self,
        workflow_id: &str,
        expected_version: i64,
        messages: &[NewMessage],
        now: i64,
        state: Option<&str>,
    ) -> Result<i64, Error> {
        batch::check(workflow_id, messages)?;
        let encoded = Value::from(batch::encode(messages));
        let workflow = Value::from(workflow_id);
        let prepare = |sql, bindings| self.database.prepare(sql).bind(bindings);
        let (sql, expected_version): (Cow<str>, i64) =
            match mistakes::SKIPS_A_POSITION.is_made(&self.env) {
                true => (
                    statements::APPEND.replace("WHERE ?2 =", "WHERE ?2 >=").into(),
                    expected_version + 1,
                ),
                false => (statements::APPEND.into(), expected_version),
            };
        let append = vec![workflow.clone(), expected_version.into(), encoded.clone(), now.into()];
        let mut statements = vec![prepare(&sql, append)];
        if mistakes::STATE_APART.is_made(&self.env) {
            self.database.batch(std::mem::take(&mut statements)).await.map_err(failed)?;
        }
        if let (Some(state), Some(last)) = (state, messages.last()) {
            let version = expected_version + messages.len() as i64;
            let last = Value::from(&*last.message_id);
            let bindings = vec![workflow.clone(), version.into(), state.into(), last];
            statements.push(prepare(SET_STATE, bindings));
        }
        statements.push(prepare(statements::FOUND, vec![encoded]));
        statements.push(prepare(statements::STREAM_VERSION, vec![workflow]));
        let results = self.database.batch(statements).await.map_err(failed)?;
        let [.., found, version] = &results[..] else {
            return Err(Error::Corrupt("a batch without its results".into()));
        };
        let found = found.results.iter().map(|row| {
            let key = Key::new(text(row, "workflow_id"), integer(row, "position"));
            (text(row, "message_id"), key)
        });
        let version = version.results.first().map_or(0, |row| integer(row, "version"));
        batch::resolve(workflow_id, messages, &BTreeMap::from_iter(found), version)
    }

    /// The state of a workflow as it was written with the last append, and how many messages it is of.
    pub async fn state(&self, workflow_id: &str) -> Result<Option<(i64, String)>, Error> {
        let found = self.query(GET_STATE, vec![workflow_id.into()]).await?;
        Ok(found.results.first().map(|row| (integer(row, "version"), text(row, "state"))))
    }

    /// Runs one statement: its rows.
    pub async fn query(&self, sql: &str, bindings: Vec<Value>) -> Result<D1Result, Error> {
        self.database.prepare(sql).bind(bindings).all().await.map_err(failed)
    }

    /// Runs statements in one transaction.
    pub async fn batch(&self, all: Vec<(&str, Vec<Value>)>) -> Result<Vec<D1Result>, Error> {
        let prepared =
            all.into_iter().map(|(sql, bindings)| self.database.prepare(sql).bind(bindings));
        self.database.batch(prepared.collect()).await.map_err(failed)
    }

    /// Runs one statement that returns messages.
    pub async fn messages(&self, sql: &str, bindings: Vec<Value>) -> Result<Vec<Message>, Error> {
        self.query(sql, bindings).await?.results.iter().map(message).collect()
    }

    /// Whether a statement returned a row.
    async fn happened(&self, sql: &str, bindings: Vec<Value>) -> Result<bool, Error> {
        Ok(!self.query(sql, bindings).await?.results.is_empty())
    }
}

impl Store for D1Store {
    async fn append(
        &self,
        workflow_id: &str,
        expected_version: i64,
        messages: &[NewMessage],
        now: i64,
    ) -> Result<i64, Error> {
        self.append_with_state(workflow_id, expected_version, messages, now, None).await
    }

    async fn read_stream(&self, workflow_id: &str, from: i64) -> Result<Vec<Message>, Error> {
        self.messages(statements::READ_STREAM, vec![workflow_id.into(), from.into()]).await
    }

    async fn pending_commands(
        &self,
        workflow_id: Option<&str>,
        after: Option<&Key>,
        limit: u32,
    ) -> Result<Vec<Message>, Error> {
        let (sql, (workflow, behind)) = match workflow_id {
            Some(one) => (statements::PENDING_OF_ONE, (one, Key::position_in(after, one))),
            None => (statements::PENDING_OF_ALL, Key::parts(after)),
        };
        let limit = limit + u32::from(mistakes::ONE_MORE_PENDING.is_made(&self.env));
        let sql: Cow<str> = match mistakes::PENDING_FROM_THERE.is_made(&self.env) {
            true => sql.replace("m.position) > (", "m.position) >= (").into(),
            false => sql.into(),
        };
        self.messages(&sql, vec![workflow.into(), behind.into(), limit.into()]).await
    }

    async fn claim(
        &self,
        processor: &str,
        now: i64,
        lease: i64,
        limit: u32,
    ) -> Result<Vec<Claim>, Error> {
        let until = now.saturating_add(lease);
        let bindings = vec![processor.into(), now.into(), until.into(), limit.into()];
        let claimed = self.query(statements::CLAIM, bindings).await?;
        let claims = claimed.results.iter().map(|row| {
            Ok(Claim {
                message: message(row)?,
                processor: processor.to_string(),
                until,
                attempt: integer(row, "attempts"),
                failures: integer(row, "failures"),
                vanished: integer(row, "vanished"),
                deaths: integer(row, "deaths"),
            })
        });
        Ok(Claim::in_order(claims.collect::<Result<_, Error>>()?))
    }

    async fn begin(&self, claim: &Claim) -> Result<bool, Error> {
        self.happened(statements::BEGIN, held(claim)).await
    }

    async fn came_back(&self, claim: &Claim) -> Result<bool, Error> {
        let bindings = [key(&claim.message.key()), vec![claim.attempt.into()]].concat();
        self.happened(statements::CAME_BACK, bindings).await
    }

    async fn mark_command_processed(&self, command: &Key, now: i64) -> Result<bool, Error> {
        self.happened(statements::MARK_PROCESSED, [key(command), vec![now.into()]].concat()).await
    }

    async fn mark_command_unprocessed(&self, command: &Key) -> Result<bool, Error> {
        self.happened(statements::MARK_UNPROCESSED, key(command)).await
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
        let outcome = vec![batch::error_text(error).into(), at.into(), park.into()];
        let record = match mistakes::STALE_FAILURES_COUNT.is_made(&self.env) {
            true => statements::RECORD_FAILURE
                .replace("leased_by = ?3 AND attempts = ?4", "?3 = ?3 AND ?4 = ?4")
                .into(),
            false => Cow::Borrowed(statements::RECORD_FAILURE),
        };
        self.happened(&record, [held(claim), outcome].concat()).await
    }

    async fn release(&self, claim: &Claim, now: i64) -> Result<bool, Error> {
        self.happened(statements::RELEASE, [held(claim), vec![now.into()]].concat()).await
    }

    async fn parked(&self, after: Option<&Key>, limit: u32) -> Result<Vec<Parked>, Error> {
        let (workflow, position) = Key::parts(after);
        let bindings = vec![workflow.into(), position.into(), limit.into()];
        let parked = self.query(statements::PARKED, bindings).await?;
        let parked = parked.results.iter().map(|row| {
            Ok(Parked {
                message: message(row)?,
                attempts: integer(row, "attempts"),
                failures: integer(row, "failures"),
                error: text(row, "error"),
                parked_at: integer(row, "parked_ms"),
            })
        });
        parked.collect()
    }

    async fn unpark(&self, command: &Key, now: i64) -> Result<bool, Error> {
        self.happened(statements::UNPARK, [key(command), vec![now.into()]].concat()).await
    }
}

fn key(command: &Key) -> Vec<Value> {
    vec![command.workflow_id.as_str().into(), command.position.into()]
}

/// Which command, and which claim of it.
fn held(claim: &Claim) -> Vec<Value> {
    let holder = vec![claim.processor.as_str().into(), claim.attempt.into()];
    [key(&claim.message.key()), holder].concat()
}

fn message(row: &Row) -> Result<Message, Error> {
    let optional = |column| value(row, column).and_then(Value::as_i64);
    let record = Record {
        workflow_id: text(row, "workflow_id"),
        position: integer(row, "position"),
        kind: text(row, "kind"),
        direction: text(row, "direction"),
        message_id: text(row, "message_id"),
        message_type: text(row, "message_type"),
        message_data: text(row, "message_data"),
        message_metadata: text(row, "message_metadata"),
        processed: optional("processed"),
        created_at: integer(row, "created_at"),
        processed_at: optional("processed_at"),
    };
    Message::try_from(record)
}

fn value<'a>(row: &'a Row, column: &str) -> Option<&'a Value> {
    row.iter().find(|(name, _)| &**name == column).map(|(_, value)| value)
}

fn text(row: &Row, column: &str) -> String {
    value(row, column).and_then(Value::as_str).unwrap_or_default().into()
}

fn integer(row: &Row, column: &str) -> i64 {
    value(row, column).and_then(Value::as_i64).unwrap_or_default()
}

/// A transient error is retried; one that the database returns itself is not.
fn failed(error: sim::Error) -> Error {
    match &error {
        sim::Error::D1(refused) if !refused.is_transient() => Error::Refused(error.to_string()),
        _ => Error::Unavailable(error.to_string()),
    }
}
