//! One row for each name, and a shelf for what was known of the uploads that are not current.

use thunderhead_sim::sqlite::Value;
use thunderhead_sim::{Env, Error, ObjectStorage};

use super::{ClassificationResult, Ledger, UploadStatus, change, first, status, text};
use crate::systems::uploads::mistakes;
use crate::systems::uploads::names::{UploadEvent, workflow_id};

const SCHEMA: &str = "
    create table if not exists Upload (
        name text primary key,
        eventId text not null unique,
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
    create index if not exists idx_upload_status on Upload (status);
    create index if not exists idx_upload_updatedAt on Upload (updatedAt desc);
    create table if not exists Replaced (
        eventId text primary key,
        name text not null,
        status text not null check (status = 'queued' or status = 'running'
            or status = 'classified' or status = 'failed'),
        classificationLabel text,
        classificationScore real,
        error text,
        completedAt integer
    );";

const CURRENT: &str = "select eventId from Upload where name = ?";
const SHELVE: &str = "insert into Replaced select eventId, name, status, classificationLabel, \
    classificationScore, error, completedAt from Upload where name = ?";
const REMOVE: &str = "delete from Upload where name = ?";
const PLACE: &str = "insert into Upload select ?1, ?2, ?3, coalesce(r.status, 'queued'), \
    r.classificationLabel, r.classificationScore, r.error, ?4, ?4, r.completedAt \
    from (select 1) left join Replaced r on r.eventId = ?2 where true \
    on conflict (name) do update set eventId = excluded.eventId, \
    workflowId = excluded.workflowId, status = excluded.status, \
    classificationLabel = excluded.classificationLabel, \
    classificationScore = excluded.classificationScore, error = excluded.error, \
    updatedAt = excluded.updatedAt, completedAt = excluded.completedAt";
const UNSHELVE: &str = "delete from Replaced where eventId = ?";
const STATUS: &str = "select status from Upload where eventId = ?1 \
    union all select status from Replaced where eventId = ?1";
const START: &str =
    "update Upload set status = 'running', updatedAt = ? where eventId = ? and status = 'queued'";
const START_SHELVED: &str =
    "update Replaced set status = 'running' where eventId = ? and status = 'queued'";
const FINISH: &str = "update Upload set status = ?, classificationLabel = ?, \
    classificationScore = ?, error = ?, updatedAt = ?5, completedAt = ?5 \
    where eventId = ? and status = 'running'";
const FINISH_SHELVED: &str = "update Replaced set status = ?, classificationLabel = ?, \
    classificationScore = ?, error = ?, completedAt = ? where eventId = ? and status = 'running'";
const ROWS: &str = "select name, createdAt, status, classificationLabel, classificationScore, \
    error from Upload order by name";

/// The table of the plan, and the shelf.
pub struct Current {
    storage: ObjectStorage,
    env: Env,
}

impl Ledger for Current {
    fn open(storage: &ObjectStorage, env: &Env) -> Current {
        storage.exec(SCHEMA, &[]).expect("the names of the tables are free");
        Current { storage: storage.clone(), env: env.clone() }
    }

    fn told(&self, name: &str, event: Option<&UploadEvent>, now: i64) -> Result<bool, Error> {
        let there = first(&self.storage, CURRENT, &[name.into()])?;
        let again = mistakes::WRITES_EVERY_TIME.is_made(&self.env);
        let same = there.as_ref().and_then(Value::as_str) == event.map(|event| &*event.id);
        if same && !(again && there.is_some()) {
            return Ok(false);
        }
        if there.is_some() && !same && !mistakes::FORGETS_THE_REPLACED.is_made(&self.env) {
            change(&self.storage, SHELVE, &[name.into()])?;
        }
        let Some(UploadEvent { id, .. }) = event else {
            return change(&self.storage, REMOVE, &[name.into()]);
        };
        let row = [name.into(), id.as_str().into(), workflow_id(id).into(), now.into()];
        change(&self.storage, PLACE, &row)?;
        change(&self.storage, UNSHELVE, &[id.as_str().into()])?;
        Ok(true)
    }

    fn current(&self, name: &str) -> Result<Option<String>, Error> {
        Ok(text(first(&self.storage, CURRENT, &[name.into()])?))
    }

    fn status(&self, event_id: &str) -> Result<Option<UploadStatus>, Error> {
        first(&self.storage, STATUS, &[event_id.into()]).map(status)
    }

    fn started(&self, event_id: &str, now: i64) -> Result<bool, Error> {
        let start = match mistakes::STARTS_ANYTHING.is_made(&self.env) {
            true => START.trim_end_matches(" and status = 'queued'"),
            false => START,
        };
        let seen = change(&self.storage, start, &[now.into(), event_id.into()])?;
        if !seen {
            change(&self.storage, START_SHELVED, &[event_id.into()])?;
        }
        Ok(seen)
    }

    fn finished(
        &self,
        event_id: &str,
        result: &ClassificationResult,
        now: i64,
    ) -> Result<bool, Error> {
        if !mistakes::SKIPS_RUNNING.is_made(&self.env) {
            self.started(event_id, now)?;
        }
        let [status, label, score, error] = result.columns();
        let row = [status, label, score, error, now.into(), event_id.into()];
        let finish = match mistakes::SKIPS_RUNNING.is_made(&self.env) {
            true => FINISH.trim_end_matches(" and status = 'running'"),
            false => FINISH,
        };
        let seen = change(&self.storage, finish, &row)?;
        if !seen {
            change(&self.storage, FINISH_SHELVED, &row)?;
        }
        Ok(seen)
    }

    fn rows(&self) -> Result<Vec<Vec<Value>>, Error> {
        Ok(self.storage.exec(ROWS, &[])?.raw().collect())
    }
}
