//! The pattern that the plan starts from: a checkpoint says how far a workflow's stream was carried out, and
//! a log of message ids what was carried out behind it. Checking, executing and recording are three steps.

use thunderhead_sim::sqlite::Value;
use thunderhead_sim::{Env, Error};
use thunderhead_stream::{Message, Store};

use crate::systems::commands::guests::{self, CheckOutError};
use crate::systems::commands::names::ACCOUNTS;
use crate::systems::commands::processor::{command, report};
use crate::systems::commands::store::D1Store;

/// How far each workflow's stream was carried out.
pub const CHECKPOINTS: &str = "create table checkpoints (
    processor_id text not null,
    workflow_id text not null,
    last_position integer not null,
    primary key (processor_id, workflow_id)
)";

/// Which commands the handler has executed.
pub const EXECUTIONS: &str = "create table executions (message_id text primary key)";

const PROCESSOR: &str = "CheckOutProcessor";
const BEHIND: &str = "select m.workflow_id, coalesce(c.last_position, 0) as last_position \
    from workflow_messages m left join checkpoints c \
        on c.processor_id = ?1 and c.workflow_id = m.workflow_id \
    where m.processed is not null and m.position > coalesce(c.last_position, 0) \
    group by m.workflow_id order by m.workflow_id";
const ADVANCE: &str = "insert into checkpoints values (?1, ?2, ?3) \
    on conflict (processor_id, workflow_id) do update set last_position = excluded.last_position";
const IS_EXECUTED: &str = "select 1 from executions where message_id = ?1";
const MARK_EXECUTED: &str =
    "insert into executions values (?1) on conflict (message_id) do nothing";

/// One turn over all workflows; one that fails does not keep the others.
pub async fn turn(env: &Env, done: &mut usize) -> Result<(), CheckOutError> {
    let behind = D1Store::new(env).query(BEHIND, vec![PROCESSOR.into()]).await?;
    let mut result = Ok(());
    for at in 0..behind.results.len() {
        let workflow = behind.get(at, "workflow_id").and_then(Value::as_str).unwrap_or_default();
        let checkpoint =
            behind.get(at, "last_position").and_then(Value::as_i64).unwrap_or_default();
        result = result.and(catch_up(env, workflow, checkpoint, done).await);
    }
    result
}

async fn catch_up(
    env: &Env,
    workflow: &str,
    checkpoint: i64,
    done: &mut usize,
) -> Result<(), CheckOutError> {
    let store = D1Store::new(env);
    let stream = store.read_stream(workflow, checkpoint + 1).await?;
    for message in stream.iter().filter(|message| message.processed.is_some()) {
        if !is_executed(env, message).await? {
            let carried_out = guests::check_out_always(env, command(message)).await;
            report(env, message, carried_out).await?;
            mark_executed(env, message).await?;
        }
        let position = vec![PROCESSOR.into(), workflow.into(), message.position.into()];
        store.query(ADVANCE, position).await?;
        *done += 1;
    }
    Ok(())
}

async fn is_executed(env: &Env, message: &Message) -> Result<bool, Error> {
    let id = vec![message.message_id.as_str().into()];
    Ok(!env.d1(ACCOUNTS).prepare(IS_EXECUTED).bind(id).raw().await?.is_empty())
}

async fn mark_executed(env: &Env, message: &Message) -> Result<(), Error> {
    let id = vec![message.message_id.as_str().into()];
    env.d1(ACCOUNTS).prepare(MARK_EXECUTED).bind(id).run().await.map(|_| ())
}
