//! The table in which an agent tracks its workflows, one row each.

use std::sync::Arc;

use serde_json::Value as Json;

use super::sql_error;
use crate::engine::env::Env;
use crate::engine::objects::storage::ObjectStorage;
use crate::protocol::outcome::Error;
use crate::services::sqlite::{Row, Value};
use crate::services::storage::SqlCursor;
use crate::services::workflow::{InstanceStatus, Status, StepError};

// For a list of more than two, SQLite makes a short-lived table in every statement that writes the column. So the
// check is spelt out, which the SDK's is not.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS cf_agents_workflows (
        id TEXT PRIMARY KEY NOT NULL,
        workflow_id TEXT NOT NULL UNIQUE,
        workflow_name TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status = 'queued' OR status = 'running' OR status = 'paused'
            OR status = 'errored' OR status = 'terminated' OR status = 'complete'
            OR status = 'waiting' OR status = 'waitingForPause' OR status = 'unknown'),
        metadata TEXT,
        error_name TEXT,
        error_message TEXT,
        created_at INTEGER NOT NULL DEFAULT (unixepoch()),
        updated_at INTEGER NOT NULL DEFAULT (unixepoch()),
        completed_at INTEGER
    );
    CREATE INDEX IF NOT EXISTS idx_workflows_status ON cf_agents_workflows(status);
    CREATE INDEX IF NOT EXISTS idx_workflows_name ON cf_agents_workflows(workflow_name);";

/// The name under which every reported error is written down, whatever its own name was.
const ERROR_NAME: &str = "WorkflowError";

/// The row of a workflow. Times are seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowInfo {
    /// The id of the row.
    pub id: Arc<str>,
    /// The id of the instance.
    pub workflow_id: Arc<str>,
    /// The binding of the workflow.
    pub workflow_name: Arc<str>,
    /// The status of the instance when the row was last written.
    pub status: Status,
    /// What was given to `run_workflow`.
    pub metadata: Option<Json>,
    /// Why the instance failed; a later completion does not clear it.
    pub error: Option<StepError>,
    /// When the row was inserted.
    pub created_at: i64,
    /// When the row was last written.
    pub updated_at: i64,
    /// When the row was last written with a final status.
    pub completed_at: Option<i64>,
}

/// The table.
#[derive(Clone)]
pub(super) struct Tracking {
    storage: ObjectStorage,
    env: Env,
}

impl Tracking {
    pub fn new(storage: ObjectStorage, env: Env) -> Tracking {
        storage.exec(SCHEMA, &[]).expect("nothing else has the name of the SDK's table");
        Tracking { storage, env }
    }

    pub fn insert(&self, id: &str, workflow: &str, metadata: Option<&Json>) -> Result<(), Error> {
        let row = [
            self.env.unique().into(),
            id.into(),
            workflow.into(),
            metadata.map(Json::to_string).into(),
        ];
        let inserted = self.storage.exec(
            "INSERT INTO cf_agents_workflows (id, workflow_id, workflow_name, status, metadata)
             VALUES (?, ?, ?, 'queued', ?)",
            &row,
        );
        match inserted {
            Ok(_) => Ok(()),
            Err(Error::Storage(error)) if error.sql().is_some_and(|e| e.is_unique_violation()) => {
                Err(Error::app(format!("Workflow with ID \"{id}\" is already being tracked")))
            }
            Err(error) => Err(sql_error(error)),
        }
    }

    pub fn get(&self, id: &str) -> Result<Option<WorkflowInfo>, Error> {
        let query = "SELECT * FROM cf_agents_workflows WHERE workflow_id = ?";
        self.exec(query, &[id.into()])?.next().map(info).transpose()
    }

    pub fn delete(&self, id: &str) -> Result<bool, Error> {
        let there = self.get(id)?.is_some();
        self.exec("DELETE FROM cf_agents_workflows WHERE workflow_id = ?", &[id.into()])?;
        Ok(there)
    }

    /// Writes the status that the platform gave, whatever the row says.
    pub fn overwrite(&self, id: &str, status: &InstanceStatus) -> Result<(), Error> {
        let error = status.error.as_ref();
        let values = [
            status.status.to_string().into(),
            error.map(|error| error.name.clone()).into(),
            error.map(|error| error.message.clone()).into(),
            self.now(),
            if status.status.is_final() { self.now() } else { Value::Null },
            id.into(),
        ];
        self.update(
            "status = ?, error_name = ?, error_message = ?, updated_at = ?, completed_at = ?
             WHERE workflow_id = ?",
            &values,
        )
    }

    pub fn restart(&self, id: &str) -> Result<(), Error> {
        self.update(
            "status = 'queued', created_at = ?, updated_at = ?, completed_at = NULL,
             error_name = NULL, error_message = NULL WHERE workflow_id = ?",
            &[self.now(), self.now(), id.into()],
        )
    }

    pub fn progress(&self, id: &str) -> Result<(), Error> {
        self.update(
            "status = 'running', updated_at = ?
             WHERE workflow_id = ? AND status IN ('queued', 'waiting')",
            &[self.now(), id.into()],
        )
    }

    pub fn complete(&self, id: &str) -> Result<(), Error> {
        self.update(
            "status = 'complete', updated_at = ?, completed_at = ?
             WHERE workflow_id = ? AND status NOT IN ('terminated', 'paused')",
            &[self.now(), self.now(), id.into()],
        )
    }

    pub fn error(&self, id: &str, message: &str) -> Result<(), Error> {
        self.update(
            "status = 'errored', updated_at = ?, completed_at = ?, error_name = ?,
             error_message = ?
             WHERE workflow_id = ? AND status NOT IN ('terminated', 'paused')",
            &[self.now(), self.now(), ERROR_NAME.into(), message.into(), id.into()],
        )
    }

    fn update(&self, set_where: &str, values: &[Value]) -> Result<(), Error> {
        self.exec(&format!("UPDATE cf_agents_workflows SET {set_where}"), values).map(|_| ())
    }

    fn exec(&self, query: &str, values: &[Value]) -> Result<SqlCursor, Error> {
        self.storage.exec(query, values).map_err(sql_error)
    }

    fn now(&self) -> Value {
        Value::Integer((self.env.now().unix_ms() / 1000).cast_signed())
    }
}

/// Reads a row; only an application that wrote into the table itself can have broken it.
fn info(row: Row) -> Result<WorkflowInfo, Error> {
    let column = |name: &str| row.iter().find(|(other, _)| **other == *name).map(|(_, v)| v);
    let broken = |name: &str| Error::app(format!("a tracked workflow has a broken {name}"));
    let text = |name: &str| column(name).and_then(Value::as_str);
    let required = |name: &str| text(name).map(Arc::from).ok_or_else(|| broken(name));
    let number = |name: &str| column(name).and_then(Value::as_i64);
    let status = Json::from(text("status").unwrap_or_default());
    let metadata = text("metadata").map(serde_json::from_str).transpose();
    let message = text("error_message").unwrap_or_default();
    Ok(WorkflowInfo {
        id: required("id")?,
        workflow_id: required("workflow_id")?,
        workflow_name: required("workflow_name")?,
        status: serde_json::from_value(status).map_err(|_| broken("status"))?,
        metadata: metadata.map_err(|_| broken("metadata"))?,
        error: text("error_name").map(|name| StepError::new(name, message)),
        created_at: number("created_at").ok_or_else(|| broken("created_at"))?,
        updated_at: number("updated_at").ok_or_else(|| broken("updated_at"))?,
        completed_at: number("completed_at"),
    })
}
