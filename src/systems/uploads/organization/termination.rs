//! The workflow of an upload that is deleted is terminated, as well as that can be done.
//!
//! Nothing depends on it: a result that comes for a row that is gone is only remembered. But the same bytes may be
//! uploaded again, which is the same event with its one workflow. And a termination whose answer is lost may still be
//! on its way, and end the workflow after it was restarted. So it is written down before it is asked for, and an event
//! with such a note is looked after until it has its result.

use thunderhead_sim::Error;
use thunderhead_sim::queue::{MessageBody, MessageSendRequest};
use thunderhead_sim::r2::{Action, Date, Notification, NotificationObject};
use thunderhead_sim::workflow::Status as Instance;

use super::Organization;
use crate::systems::uploads::ledger::{ClassificationResult, UploadStatus};
use crate::systems::uploads::mistakes;
use crate::systems::uploads::names::{BUCKET, QUEUE, UploadEvent, WORKFLOW, key, workflow_id};

/// Events whose workflow was to be terminated.
pub const SCHEMA: &str = "create table if not exists Terminated (eventId text primary key)";
const TERMINATED: &str = "insert into Terminated values (?) on conflict (eventId) do nothing";
const WAS_TERMINATED: &str = "select 1 from Terminated where eventId = ?";

/// How long it is until a workflow that was restarted is looked at again.
const LATER_S: u32 = 60;

impl Organization {
    /// Ends the workflow of an upload that is gone, unless it has ended. To be called in the turn that removes its row.
    pub(super) async fn terminate(&self, event_id: &str) -> Result<(), Error> {
        match self.ledger.status(event_id)? {
            Some(UploadStatus::Queued | UploadStatus::Running) => {}
            Some(UploadStatus::Final) | None => return Ok(()),
        }
        if !mistakes::TERMINATES_AND_FORGETS.is_made(&self.env) {
            self.ctx.storage().exec(TERMINATED, &[event_id.into()])?;
        }
        if let Err(error) = self.agent.terminate_workflow(&workflow_id(event_id)).await {
            self.env.log(format!("the workflow goes on: {error}"));
        }
        Ok(())
    }

    /// Whether the workflow of an event was to be terminated.
    pub(super) fn was_terminated(&self, event_id: &str) -> Result<bool, Error> {
        let mut found = self.ctx.storage().exec(WAS_TERMINATED, &[event_id.into()])?;
        Ok(found.raw().next().is_some())
    }

    /// The bytes of a workflow that was to be terminated are back: it runs again, if it does not run still.
    pub(super) async fn look_after(&self, name: &str, event: &UploadEvent) -> Result<(), Error> {
        let event_id = event.id.as_str();
        let id = workflow_id(event_id);
        self.track(&id)?;
        let status = match self.env.workflow(WORKFLOW).get(&id).await {
            Ok(instance) => instance.status().await?,
            Err(Error::Workflow(error)) if error.is_not_found() => return self.not_kept(event_id),
            Err(error) => return Err(error),
        };
        match (status.status, self.stops(event_id)?) {
            (Instance::Terminated, _) => self.restart(event_id).await?,
            (ended, Some(stops)) if ended.is_final() => self.resume(event_id, &stops).await?,
            _ => self.take_over(name, event_id, &status)?,
        }
        if self.ledger.status(event_id)? != Some(UploadStatus::Running) {
            return Ok(());
        }
        let message = MessageSendRequest::from(self.reason_to_look(name, event)?);
        self.env.queue(QUEUE).send_with(message.delayed(LATER_S)).await.map(|_| ())
    }

    /// An instance that the platform has forgotten leaves its event without a result.
    pub(super) fn not_kept(&self, event_id: &str) -> Result<(), Error> {
        let gone = "the workflow is no longer kept, and an event has no second one";
        self.finished(None, event_id, &ClassificationResult::Failed(gone.into()))
    }

    /// A notification like those of the bucket.
    fn reason_to_look(&self, name: &str, event: &UploadEvent) -> Result<MessageBody, Error> {
        let key = key(self.agent.name()?, name).into();
        let (size, e_tag) = (Some(0), Some(event.e_tag.as_str().into()));
        let event = Notification {
            account: "agent".into(),
            action: Action::PutObject,
            bucket: BUCKET.into(),
            object: NotificationObject { key, size, e_tag },
            event_time: Date::from(self.env.now()),
            copy_source: None,
        };
        Ok(MessageBody::json(&event).expect("a notification has only string keys"))
    }
}
