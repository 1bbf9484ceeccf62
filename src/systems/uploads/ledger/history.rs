//! Every event in a table of its own, and a projection of the current ones.

use thunderhead_sim::sqlite::Value;
use thunderhead_sim::{Env, Error, ObjectStorage};

use super::{ClassificationResult, Ledger, UploadStatus, change, first, status, text};
use crate::systems::uploads::names::{UploadEvent, workflow_id};

pub(super) const SCHEMA: &str = "
    create table if not exists UploadEvent (
        id text primary key,
        name text not null,
        workflowId text not null unique,
        status text not null check (status = 'queued' or status = 'running'
            or status = 'classified' or status = 'failed'),
        classificationLabel text,
        classificationScore real,
        error text,
        createdAt integer not null,
        updatedAt integer not null,
        completedAt integer
    );
    create table if not exists UploadCurrent (
        name text primary key,
        latestEventId text not null,
        latestWorkflowId text not null,
        status text not null check (status = 'queued' or status = 'running'
            or status = 'classified' or status = 'failed'),
        classificationLabel text,
        classificationScore real,
        error text,
        updatedAt integer not null
    );";

const CURRENT: &str = "select latestEventId from UploadCurrent where name = ?";
const REMOVE: &str = "delete from UploadCurrent where name = ?";
const RECORD: &str = "insert into UploadEvent (id, name, workflowId, status, createdAt, updatedAt) \
    values (?, ?, ?, 'queued', ?4, ?4) on conflict (id) do nothing";
const PLACE: &str = "insert into UploadCurrent select name, id, workflowId, status, \
    classificationLabel, classificationScore, error, ?2 from UploadEvent where id = ?1 \
    on conflict (name) do update set latestEventId = excluded.latestEventId, \
    latestWorkflowId = excluded.latestWorkflowId, status = excluded.status, \
    classificationLabel = excluded.classificationLabel, \
    classificationScore = excluded.classificationScore, error = excluded.error, \
    updatedAt = excluded.updatedAt";
const STATUS: &str = "select status from UploadEvent where id = ?";
const START: &str =
    "update UploadEvent set status = 'running', updatedAt = ? where id = ? and status = 'queued'";
const FINISH: &str = "update UploadEvent set status = ?, classificationLabel = ?, \
    classificationScore = ?, error = ?, updatedAt = ?5, completedAt = ?5 \
    where id = ? and status = 'running'";
const PROJECT: &str = "update UploadCurrent set status = e.status, \
    classificationLabel = e.classificationLabel, classificationScore = e.classificationScore, \
    error = e.error, updatedAt = e.updatedAt \
    from UploadEvent e where e.id = ?1 and latestEventId = ?1";
const ROWS: &str = "select c.name, e.createdAt, c.status, c.classificationLabel, \
    c.classificationScore, c.error from UploadCurrent c join UploadEvent e on e.id = c.latestEventId \
    order by c.name";

/// The two tables of the upgrade path.
pub struct History(ObjectStorage);

impl Ledger for History {
    fn open(storage: &ObjectStorage, _: &Env) -> History {
        storage.exec(SCHEMA, &[]).expect("the names of the tables are free");
        History(storage.clone())
    }

    fn told(&self, name: &str, event: Option<&UploadEvent>, now: i64) -> Result<bool, Error> {
        let there = first(&self.0, CURRENT, &[name.into()])?;
        if there.as_ref().and_then(Value::as_str) == event.map(|event| &*event.id) {
            return Ok(false);
        }
        let Some(UploadEvent { id, .. }) = event else {
            return change(&self.0, REMOVE, &[name.into()]);
        };
        let id = id.as_str();
        change(&self.0, RECORD, &[id.into(), name.into(), workflow_id(id).into(), now.into()])?;
        change(&self.0, PLACE, &[id.into(), now.into()])
    }

    fn current(&self, name: &str) -> Result<Option<String>, Error> {
        Ok(text(first(&self.0, CURRENT, &[name.into()])?))
    }

    fn status(&self, event_id: &str) -> Result<Option<UploadStatus>, Error> {
        first(&self.0, STATUS, &[event_id.into()]).map(status)
    }

    fn started(&self, event_id: &str, now: i64) -> Result<bool, Error> {
        Ok(change(&self.0, START, &[now.into(), event_id.into()])? && self.project(event_id)?)
    }

    fn finished(
        &self,
        event_id: &str,
        result: &ClassificationResult,
        now: i64,
    ) -> Result<bool, Error> {
        self.started(event_id, now)?;
        let [status, label, score, error] = result.columns();
        let row = [status, label, score, error, now.into(), event_id.into()];
        Ok(change(&self.0, FINISH, &row)? && self.project(event_id)?)
    }

    fn rows(&self) -> Result<Vec<Vec<Value>>, Error> {
        Ok(self.0.exec(ROWS, &[])?.raw().collect())
    }
}

impl History {
    /// Takes what is known of an event into the row that shows it, if one does.
    fn project(&self, event_id: &str) -> Result<bool, Error> {
        change(&self.0, PROJECT, &[event_id.into()])
    }
}
