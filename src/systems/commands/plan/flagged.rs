//! The plan's two orders of executing and marking. An exception ends the turn, as in its listings.

use thunderhead_sim::Env;
use thunderhead_stream::Store;

use crate::systems::commands::guests::CheckOutError;
use crate::systems::commands::processor::{BATCH, execute, now};
use crate::systems::commands::store::D1Store;

/// Executes, then marks; that another has marked it meanwhile is fine.
pub async fn execute_then_mark(env: &Env, done: &mut usize) -> Result<(), CheckOutError> {
    let store = D1Store::new(env);
    for command in store.pending_commands(None, None, BATCH).await? {
        execute(env, &command).await?;
        store.mark_command_processed(&command.key(), now(env)).await?;
        *done += 1;
    }
    Ok(())
}

/// Marks, which keeps others away, then executes; a failure takes the mark back.
pub async fn mark_then_execute(env: &Env, done: &mut usize) -> Result<(), CheckOutError> {
    let store = D1Store::new(env);
    for command in store.pending_commands(None, None, BATCH).await? {
        if !store.mark_command_processed(&command.key(), now(env)).await? {
            continue;
        }
        if let Err(failure) = execute(env, &command).await {
            store.mark_command_unprocessed(&command.key()).await?;
            return Err(failure);
        }
        *done += 1;
    }
    Ok(())
}
