//! One row for each name, replaced by each notification; the row first, or the workflow first.

use thunderhead_sim::agents::{self, Agent};
use thunderhead_sim::ai::Score;
use thunderhead_sim::{Body, DurableObject, Env, Error, ObjectState};

use super::{Input, run_workflow};
use crate::systems::json;
use crate::systems::uploads::ledger::{ClassificationResult, Current, Ledger, list};
use crate::systems::uploads::messages::INVALIDATE;
use crate::systems::uploads::names::{UploadEvent, workflow_id};
use crate::systems::uploads::wire::ClassificationReport;

const UPSERT: &str = "insert into Upload values (?, ?, ?, 'queued', null, null, null, ?4, ?4, null) \
    on conflict (name) do update set eventId = excluded.eventId, \
    workflowId = excluded.workflowId, status = 'queued', classificationLabel = null, \
    classificationScore = null, error = null, updatedAt = excluded.updatedAt, completedAt = null";
const RUNNING: &str =
    "update Upload set status = 'running', updatedAt = ? where name = ? and eventId = ?";
const FINISHED: &str = "update Upload set status = ?, classificationLabel = ?, \
    classificationScore = ?, error = ?, updatedAt = ?5, completedAt = ?5 \
    where name = ? and eventId = ?";

/// The agent of the plan.
pub struct Rows {
    agent: Agent,
    ctx: ObjectState,
    env: Env,
    /// For its table and its list; everything else is done as the plan says.
    table: Current,
    /// Whether the workflow is started before the row is written.
    workflow_first: bool,
}

impl DurableObject for Rows {
    const ALARM: bool = false;

    async fn rpc(&self, method: &str, args: Body) -> Result<Body, Error> {
        match method {
            "ingestUploadEvent" => self.ingest(json::read(&args)?).await?,
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
                return Ok(Body::from(list(self.agent.name()?, self.table.rows()?).to_string()));
            }
            agents::CALLBACK => drop(self.agent.on_callback(&args)?),
            // What the plan does not know does nothing.
            _ => {}
        }
        Ok(Body::empty())
    }
}

impl Rows {
    pub fn new(ctx: ObjectState, env: Env, workflow_first: bool) -> Rows {
        let agent = Agent::new(ctx.clone(), env.clone());
        let table = Current::open(ctx.storage(), &env);
        Rows { agent, ctx, env, table, workflow_first }
    }

    async fn ingest(&self, input: Input) -> Result<(), Error> {
        let event = UploadEvent::new(&input.key, &input.e_tag).id;
        let id = workflow_id(&event);
        if self.workflow_first {
            run_workflow(&self.agent, self.ctx.storage(), &input, &event, &id).await?;
        }
        let name = input.name.as_str();
        let row = [name.into(), event.as_str().into(), id.as_str().into(), self.now().into()];
        self.exec(UPSERT, &row)?;
        if !self.workflow_first {
            run_workflow(&self.agent, self.ctx.storage(), &input, &event, &id).await?;
        }
        self.exec(RUNNING, &[self.now().into(), name.into(), event.into()])
    }

    fn finish(
        &self,
        report: &ClassificationReport,
        result: &ClassificationResult,
    ) -> Result<(), Error> {
        let [status, label, score, error] = result.columns();
        let (name, event) = (report.name.as_str().into(), report.event_id.as_str().into());
        self.exec(FINISHED, &[status, label, score, error, self.now().into(), name, event])
    }

    /// Runs a statement and tells the clients.
    fn exec(&self, sql: &str, row: &[thunderhead_sim::sqlite::Value]) -> Result<(), Error> {
        self.ctx.storage().exec(sql, row)?;
        self.ctx.broadcast(INVALIDATE);
        Ok(())
    }

    fn now(&self) -> i64 {
        self.env.now().unix_ms().cast_signed()
    }
}
