//! The state of an agent: one JSON value, stored and shown to every client.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{Agent, parse, sql_error};
use crate::engine::objects::storage::ObjectStorage;
use crate::protocol::outcome::Error;
use crate::values::body::Body;

const ROW: &str = "cf_state_row_id";

/// How a workflow changes the state of its agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "action", content = "state", rename_all = "camelCase")]
pub(super) enum UpdateState {
    Set(Json),
    /// Merges the fields of an object into the state.
    Merge(Json),
    /// Removes the state.
    Reset,
}

pub(super) fn create(storage: &ObjectStorage) {
    let schema = "CREATE TABLE IF NOT EXISTS cf_agents_state (id TEXT PRIMARY KEY, state TEXT)";
    storage.exec(schema, &[]).expect("nothing else has the name of the SDK's table");
}

impl Agent {
    /// The state; none before it is first set.
    pub fn state(&self) -> Result<Option<Json>, Error> {
        let query = "SELECT state FROM cf_agents_state WHERE id = ?";
        let mut rows = self.ctx.storage().exec(query, &[ROW.into()]).map_err(sql_error)?;
        let text = rows.raw().next().and_then(|row| row[0].as_str().map(str::to_string));
        let broken = |error| Error::app(format!("the state of the agent is broken: {error}"));
        text.map(|text| serde_json::from_str(&text).map_err(broken)).transpose()
    }

    /// Stores the state and sends it to every connected client.
    pub fn set_state(&self, state: &Json) -> Result<(), Error> {
        let query = "INSERT OR REPLACE INTO cf_agents_state (id, state) VALUES (?, ?)";
        let row = [ROW.into(), state.to_string().into()];
        self.ctx.storage().exec(query, &row).map_err(sql_error)?;
        let message = json!({"type": "cf_agent_state", "state": state});
        self.ctx.broadcast(Body::from(message.to_string()));
        Ok(())
    }

    /// Changes the state as a workflow asks.
    pub fn on_update_state(&self, args: &Body) -> Result<(), Error> {
        let state = match parse(args)? {
            UpdateState::Set(state) => state,
            UpdateState::Reset => Json::Null,
            UpdateState::Merge(part) => {
                let Json::Object(part) = part else {
                    return Err(Error::app("only an object can be merged into the state"));
                };
                let mut state = match self.state()? {
                    Some(Json::Object(state)) => state,
                    _ => serde_json::Map::new(),
                };
                state.extend(part);
                Json::Object(state)
            }
        };
        self.set_state(&state)
    }
}
