//! Once, in the handler's own database.

use tokio_postgres::{Client, Transaction};

use super::{failed, schema, statements};
use crate::error::Error;

/// Makes the table of effects, which belongs to the handler's database: not necessarily the one the
/// streams are in.
pub async fn create_effects(client: &mut Client) -> Result<(), Error> {
    let transaction = client.transaction().await.map_err(failed)?;
    transaction.batch_execute(schema::LOCK).await.map_err(failed)?;
    transaction.batch_execute(schema::CREATE_EFFECTS).await.map_err(failed)?;
    transaction.commit().await.map_err(failed)
}

/// Says whether the command of this id has still to take effect. If so, the effect has to follow
/// in the same transaction: then the two are there together or not at all.
pub async fn record_effect(
    transaction: &Transaction<'_>,
    message_id: &str,
    now: i64,
) -> Result<bool, Error> {
    let rows = transaction.query(statements::RECORD_EFFECT, &[&message_id, &now]).await;
    Ok(!rows.map_err(failed)?.is_empty())
}
