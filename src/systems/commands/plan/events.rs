//! The plan's append-only alternative: that a command was executed is an event in the stream.

use serde_json::json;
use thunderhead_sim::Env;
use thunderhead_sim::sqlite::Value;
use thunderhead_stream::{Error, Key, Message, NewMessage};

use crate::systems::commands::guests::CheckOutError;
use crate::systems::commands::inbox;
use crate::systems::commands::processor::{BATCH, execute};
use crate::systems::commands::store::D1Store;

const EXECUTED: &str = "CommandExecuted";

// Output commands are those with a flag, though this alternative never sets it.
const PENDING: &str = "select m.workflow_id, m.position, m.kind, m.direction, m.message_id, \
        m.message_type, m.message_data, m.message_metadata, m.processed \
    from workflow_messages m where m.processed is not null and (?1 is null or m.workflow_id = ?1) \
        and (m.workflow_id, m.position) > (?2, ?3) \
        and not exists (select 1 from workflow_messages e where e.workflow_id = m.workflow_id \
            and e.message_type = 'CommandExecuted' and e.message_data ->> 'position' = m.position) \
    order by m.workflow_id, m.position limit ?4";

/// Commands without such an event, as the query by the flag has those without a flag.
pub async fn pending(
    store: &D1Store,
    workflow: Option<&str>,
    after: Option<&Key>,
    limit: u32,
) -> Result<Vec<Message>, Error> {
    let (behind, position) = Key::parts(after);
    let workflow = workflow.map_or(Value::Null, Value::from);
    store.messages(PENDING, vec![workflow, behind.into(), position.into(), limit.into()]).await
}

/// Executes, then appends the event.
pub async fn turn(env: &Env, done: &mut usize) -> Result<(), CheckOutError> {
    for command in pending(&D1Store::new(env), None, None, BATCH).await? {
        execute(env, &command).await?;
        let id = format!("{}/executed", command.message_id);
        let event = NewMessage::input_event(&id, EXECUTED, json!({ "position": command.position }));
        inbox::feed(env, &command.workflow_id, &event).await?;
        *done += 1;
    }
    Ok(())
}
