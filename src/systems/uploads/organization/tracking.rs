//! The SDK's table of workflows says of each how it has ended.
//!
//! The SDK writes its row after it has created the instance, and a crash between the two loses the row. Afterwards it
//! knows what the workflow reports, and a workflow that has ended reports nothing: what it said last may have been
//! lost, and the answer to a termination may have been lost. So the platform is asked, long after everything that could
//! change its answer, and again until the answer is an end.

use thunderhead_sim::Error;
use thunderhead_sim::workflow::Status as Instance;

use super::Organization;
use crate::systems::uploads::ledger::ClassificationResult;
use crate::systems::uploads::mistakes;
use crate::systems::uploads::names::{WORKFLOW, workflow_id};
use crate::systems::uploads::watch::Watch;

const TRACK: &str = "insert into cf_agents_workflows (id, workflow_id, workflow_name, status) \
    values (?1, ?1, ?2, 'queued') on conflict (workflow_id) do nothing";
const STANDS: &str = "update cf_agents_workflows set status = ?2, updated_at = unixepoch(), \
    completed_at = iif(?3, unixepoch(), null) where workflow_id = ?1 and status <> ?2";

impl Organization {
    /// Sees to it that somebody asks how the workflow of an event has ended. To be awaited before it starts.
    pub(super) async fn watch(&self, event_id: &str) -> Result<(), Error> {
        if mistakes::TRACKS_THE_RESULT.is_made(&self.env) {
            return Ok(());
        }
        Watch::new(self.agent.name()?, event_id).send(&self.env).await
    }

    /// Starts a workflow that has ended once more.
    pub(super) async fn restart(&self, event_id: &str) -> Result<(), Error> {
        self.watch(event_id).await?;
        self.agent.restart_workflow(&workflow_id(event_id)).await
    }

    /// An instance is there, so it has a row.
    pub(super) fn track(&self, id: &str) -> Result<(), Error> {
        if mistakes::TRACKS_NOTHING.is_made(&self.env) {
            return Ok(());
        }
        self.ctx.storage().exec(TRACK, &[id.into(), WORKFLOW.into()]).map(|_| ())
    }

    /// Writes down how the workflow of an event stands; whether it will stay so.
    pub(super) async fn settle(&self, event_id: &str) -> Result<bool, Error> {
        let id = workflow_id(event_id);
        let status = match self.env.workflow(WORKFLOW).get(&id).await {
            Ok(instance) => instance.status().await?.status,
            // It never came to be, or is no longer kept.
            Err(Error::Workflow(error)) if error.is_not_found() => return Ok(true),
            Err(error) => return Err(error),
        };
        self.track(&id)?;
        self.stands(&id, status)?;
        Ok(status.is_final() || status == Instance::Paused)
    }

    /// What a result says of its instance, which is nothing: one that has a failure to tell of completes too.
    pub(super) fn track_result(
        &self,
        id: &str,
        result: &ClassificationResult,
    ) -> Result<(), Error> {
        if !mistakes::TRACKS_THE_RESULT.is_made(&self.env) {
            return Ok(());
        }
        match result {
            ClassificationResult::Classified { .. } => self.stands(id, Instance::Complete),
            ClassificationResult::Failed(_) => self.stands(id, Instance::Errored),
        }
    }

    fn stands(&self, id: &str, status: Instance) -> Result<(), Error> {
        let values = [id.into(), status.to_string().into(), status.is_final().into()];
        self.ctx.storage().exec(STANDS, &values).map(|_| ())
    }
}
