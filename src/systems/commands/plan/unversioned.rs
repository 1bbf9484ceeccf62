//! The plan's `AppendAsync`, which takes a workflow and its messages and no version: whatever the stream holds by
//! then, the messages go behind it.

use thunderhead_sim::sqlite::Value;
use thunderhead_sim::{Cloud, Env};
use thunderhead_stream::sqlite::statements;
use thunderhead_stream::{Error, NewMessage, batch};

use crate::systems::commands::store::D1Store;

/// The variable of a deployment that appends so.
const VARIABLE: &str = "APPENDS_WITHOUT_VERSION";

/// The end of the stream when the statement runs, in place of the end that was read.
const END: &str =
    "(select coalesce(max(position), 0) from workflow_messages where workflow_id = ?1)";

// The state goes with the messages, as it followed from what was read.
const SET_STATE: &str = "insert into workflow_states (workflow_id, version, state) \
    select workflow_id, position, ?2 from workflow_messages where workflow_id = ?1 and message_id = ?3 \
        and not exists (select 1 from workflow_messages m where m.workflow_id = ?1 \
            and m.position > workflow_messages.position) \
    on conflict (workflow_id) do update set version = excluded.version, state = excluded.state";

/// From here on appends have no expected version.
pub fn choose(cloud: &mut Cloud) {
    cloud.var(VARIABLE, "yes");
}

/// Whether this deployment appends so.
pub fn is_chosen(env: &Env) -> bool {
    env.var_if_set(VARIABLE).is_some()
}

/// Appends, wherever the end of the stream is.
pub async fn append(
    store: &D1Store,
    workflow_id: &str,
    messages: &[NewMessage],
    now: i64,
    state: &str,
) -> Result<(), Error> {
    batch::check(workflow_id, messages)?;
    let encoded = Value::from(batch::encode(messages));
    let last = messages.last().map_or(Value::Null, |last| Value::from(&*last.message_id));
    let append = statements::APPEND.replace("?2", END);
    let appended = vec![workflow_id.into(), Value::Null, encoded, now.into()];
    let state = vec![workflow_id.into(), state.into(), last];
    store.batch(vec![(&append, appended), (SET_STATE, state)]).await.map(drop)
}
