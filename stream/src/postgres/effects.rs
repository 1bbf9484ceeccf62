//! Once, in the handler's own database.

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Transaction};

use super::{failed, schema, statements, typed};
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
    let params = [typed(&message_id, Type::TEXT), typed(&now, Type::INT8)];
    let rows = transaction.query_typed(statements::RECORD_EFFECT, &params).await;
    Ok(!rows.map_err(failed)?.is_empty())
}
