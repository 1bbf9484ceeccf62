//! What operators look at: the messages that could not be handled.

use thunderhead_sim::{Body, DurableObject, Env, Error, ObjectState};

use super::wire::Rejected;
use crate::systems::json;

const SCHEMA: &str = "create table if not exists Rejected (message text primary key, \
    reason text not null, rejectedAt integer not null)";
const REJECT: &str = "insert into Rejected values (?, ?, ?) on conflict (message) do nothing";
const COUNT: &str = "select count(*) from Rejected";

/// The list of rejected messages.
pub struct Operator {
    ctx: ObjectState,
    env: Env,
}

impl DurableObject for Operator {
    const ALARM: bool = false;

    fn new(ctx: ObjectState, env: Env) -> Operator {
        ctx.storage().exec(SCHEMA, &[]).expect("the name of the table is free");
        Operator { ctx, env }
    }

    async fn rpc(&self, method: &str, args: Body) -> Result<Body, Error> {
        let storage = self.ctx.storage();
        match method {
            "reject" => {
                let Rejected { message, reason } = json::read(&args)?;
                let now = self.env.now().unix_ms().cast_signed();
                storage.exec(REJECT, &[message.into(), reason.into(), now.into()])?;
                Ok(Body::empty())
            }
            "count" => {
                let count = storage.exec(COUNT, &[])?.raw().next();
                let count = count.and_then(|row| row.first()?.as_i64()).unwrap_or(0);
                Ok(Body::from(count.to_string()))
            }
            other => Err(Error::app(format!("an operator has no `{other}`"))),
        }
    }
}
