//! Recency by `eventTime`: a row that is deleted is forgotten.

use thunderhead_sim::agents::{self, Agent};
use thunderhead_sim::ai::Score;
use thunderhead_sim::r2::Date;
use thunderhead_sim::sqlite::Value;
use thunderhead_sim::workflow::Status;
use thunderhead_sim::{Body, DurableObject, Env, Error, ObjectState};

use super::{Input, run_workflow};
use crate::systems::json;
use crate::systems::uploads::ledger::{ClassificationResult, list};
use crate::systems::uploads::messages::INVALIDATE;
use crate::systems::uploads::names::{UploadEvent, workflow_id};
use crate::systems::uploads::wire::ClassificationReport;

/// The `eventId` is the plan's idempotency key.
const SCHEMA: &str = "create table if not exists Upload (
    name text primary key,
    eventId text not null unique,
    workflowId text not null unique,
    eventTime integer not null,
    status text not null check (status in ('queued', 'running', 'classified', 'failed')),
    classificationLabel text,
    classificationScore real,
    error text,
    createdAt integer not null)";
const TIME: &str = "select eventTime from Upload where name = ?";
const WORKFLOW: &str = "select workflowId from Upload where name = ?";
const UPSERT: &str = "insert into Upload values (?, ?, ?, ?, 'queued', null, null, null, ?) \
    on conflict (name) do update set eventId = excluded.eventId, \
    workflowId = excluded.workflowId, eventTime = excluded.eventTime, status = 'queued', \
    classificationLabel = null, classificationScore = null, error = null";
const RUNNING: &str = "update Upload set status = 'running' where name = ? and eventId = ?";
const DELETE: &str = "delete from Upload where name = ?";
const FINISHED: &str = "update Upload set status = ?, classificationLabel = ?, \
    classificationScore = ?, error = ? where eventId = ?";
const ROWS: &str = "select name, createdAt, status, classificationLabel, classificationScore, \
    error from Upload order by name";

/// The agent of the plan.
pub struct Times {
    agent: Agent,
    ctx: ObjectState,
    env: Env,
}

impl DurableObject for Times {
    const ALARM: bool = false;

    fn new(ctx: ObjectState, env: Env) -> Times {
        let agent = Agent::new(ctx.clone(), env.clone());
        ctx.storage().exec(SCHEMA, &[]).expect("the name of the table is free");
        Times { agent, ctx, env }
    }

    async fn rpc(&self, method: &str, args: Body) -> Result<Body, Error> {
        match method {
            "ingestUploadEvent" => self.on_upload(json::read(&args)?).await?,
            "onDelete" => self.on_delete(&json::read(&args)?).await?,
            "persistClassificationSuccess" => {
                let report: ClassificationReport = json::read(&args)?;
                let score = Score::from_millionths(report.score);
                self.finish(&report, &ClassificationResult::classified(&report.label, score))?;
            }
            "persistClassificationFailure" => {
                let report: ClassificationReport = json::read(&args)?;
                self.finish(&report, &ClassificationResult::Failed(report.error.clone()))?;
            }
            "getUploads" => {
                let rows = self.ctx.storage().exec(ROWS, &[])?.raw().collect();
                return Ok(Body::from(list(self.agent.name()?, rows).to_string()));
            }
            agents::CALLBACK => drop(self.agent.on_callback(&args)?),
            // What the plan does not know does nothing.
            _ => {}
        }
        Ok(Body::empty())
    }
}

impl Times {
    async fn on_upload(&self, input: Input) -> Result<(), Error> {
        let time = time(&input)?;
        if self.is_stale(&input.name, time)? {
            return Ok(());
        }
        let event = UploadEvent::new(&input.key, &input.e_tag).id;
        let id = workflow_id(&event);
        let name = input.name.as_str();
        let now = self.env.now().unix_ms().cast_signed();
        let row = [name.into(), event.as_str().into(), id.as_str().into(), time.into(), now.into()];
        self.exec(UPSERT, &row)?;
        // An active workflow must make room for the new one, which may have the same id.
        self.terminate(&id).await;
        run_workflow(&self.agent, self.ctx.storage(), &input, &event, &id).await?;
        self.exec(RUNNING, &[name.into(), event.into()])
    }

    async fn on_delete(&self, input: &Input) -> Result<(), Error> {
        let time = time(input)?;
        let name = input.name.as_str();
        let Some(workflow) = self.first(WORKFLOW, name)? else { return Ok(()) };
        if self.is_stale(name, time)? {
            return Ok(());
        }
        self.exec(DELETE, &[name.into()])?;
        self.terminate(workflow.as_str().unwrap_or_default()).await;
        Ok(())
    }

    fn is_stale(&self, name: &str, time: i64) -> Result<bool, Error> {
        let existing = self.first(TIME, name)?.and_then(|value| value.as_i64());
        Ok(existing.is_some_and(|existing| time < existing))
    }

    /// Best effort: that it fails must not stop anything.
    async fn terminate(&self, id: &str) {
        let active = self.agent.get_workflow(id).ok().flatten();
        let ended = |status: Status| status.is_final();
        if active.is_some_and(|workflow| !ended(workflow.status)) {
            let _ = self.agent.terminate_workflow(id).await;
        }
    }

    fn finish(
        &self,
        report: &ClassificationReport,
        result: &ClassificationResult,
    ) -> Result<(), Error> {
        let [status, label, score, error] = result.columns();
        self.exec(FINISHED, &[status, label, score, error, report.event_id.as_str().into()])
    }

    /// Runs a statement and tells the clients.
    fn exec(&self, sql: &str, row: &[Value]) -> Result<(), Error> {
        self.ctx.storage().exec(sql, row)?;
        self.ctx.broadcast(INVALIDATE);
        Ok(())
    }

    fn first(&self, sql: &str, name: &str) -> Result<Option<Value>, Error> {
        let mut found = self.ctx.storage().exec(sql, &[name.into()])?;
        Ok(found.raw().next().and_then(|row| row.into_iter().next()))
    }
}

/// A time that cannot be read throws, and the queue tries again.
fn time(input: &Input) -> Result<i64, Error> {
    let date = Date::parse_iso(&input.event_time);
    let date = date.ok_or_else(|| Error::app(format!("no time: {}", input.event_time)))?;
    Ok(date.unix_ms())
}
