//! How a message reaches a workflow: the state is rebuilt from the stream, what follows is decided, and
//! all of it is appended at once, unless another host has appended meanwhile.

use serde_json::json;
use thunderhead_sim::Env;
use thunderhead_stream::{Error, Message, NewMessage, Store, rebuild};

use super::group::{CHECK_OUT_FAILED, CHECKED_OUT, Group, INITIATE, Input, decide, evolve};
use super::guests::Departure;
use super::mistakes;
use super::plan::unversioned;
use super::store::D1Store;

/// The command that starts a group. A group has one start, so its id follows from the group's.
pub fn initiate(workflow_id: &str, guests: &[String]) -> NewMessage {
    let id = format!("{workflow_id}/start");
    NewMessage::input_command(&id, INITIATE, json!({ "guests": guests }))
}

/// The event that tells how a command ended. Its id follows from the command's: it is told once.
pub fn outcome(command_id: &str, guest: &str, outcome: Departure) -> NewMessage {
    let message_type = match outcome {
        Departure::Left => CHECKED_OUT,
        Departure::Stays => CHECK_OUT_FAILED,
    };
    let id = format!("{command_id}/outcome");
    NewMessage::input_event(&id, message_type, json!({ "guest": guest }))
}

/// Gives a message to a workflow; one that it already has changes nothing.
///
/// It terminates under contention: a conflict means that another append succeeded.
pub async fn feed(env: &Env, workflow_id: &str, input: &NewMessage) -> Result<(), Error> {
    let store = D1Store::new(env);
    loop {
        let stream = store.read_stream(workflow_id, 0).await?;
        if stream.iter().any(|message| message.message_id == input.message_id) {
            return Ok(());
        }
        let apply =
            |group, message: &Message| evolve(group, &message.message_type, &message.message_data);
        let rebuilt = rebuild(apply, &stream)?;
        let batch = batch(&rebuilt.state, input);
        let told = if mistakes::STATE_BEFORE.is_made(env) { &[] } else { &batch[..] };
        let state = told.iter().fold(rebuilt.state, |group: Group, message| {
            evolve(group, &message.message_type, &message.message_data)
        });
        let state = json!(state).to_string();
        let now = env.now().unix_ms().cast_signed();
        if unversioned::is_chosen(env) {
            return unversioned::append(&store, workflow_id, &batch, now, &state).await;
        }
        let appended =
            store.append_with_state(workflow_id, rebuilt.version, &batch, now, Some(&state));
        match appended.await {
            Ok(_) => return Ok(()),
            Err(Error::Conflict { .. }) if mistakes::CONFLICT_IS_SUCCESS.is_made(env) => {
                return Ok(());
            }
            Err(Error::Conflict { .. } | Error::DuplicateId { .. }) => {}
            Err(error) => return Err(error),
        }
    }
}

/// The input, and what the workflow says to it. Ids of outputs follow from the input's, so that the same
/// input makes the same batch.
fn batch(group: &Group, input: &NewMessage) -> Vec<NewMessage> {
    let outputs = decide(group, &Input::of(input));
    let outputs = outputs.iter().enumerate().map(|(at, output)| {
        let id = format!("{}/{at}", input.message_id);
        let metadata = json!({ "causedBy": input.message_id });
        NewMessage { message_metadata: metadata, ..output.message(&id) }
    });
    std::iter::once(input.clone()).chain(outputs).collect()
}
