//! Workflows as applications start and control them.

use std::sync::Arc;

use crate::engine::env::Env;
use crate::protocol::op::Op;
use crate::protocol::outcome::{Error, Reply};
use crate::services::workflow::{self, CreateOptions, InstanceStatus, RestartFrom};
use crate::values::body::Body;

/// A workflow, bound by its name.
#[derive(Clone, Debug)]
pub struct Workflow {
    env: Env,
    name: Arc<str>,
}

impl Workflow {
    pub(crate) fn new(env: Env, name: &str) -> Workflow {
        Workflow { env, name: name.into() }
    }

    /// Creates an instance. An id that has been used is refused until its retention is over.
    pub async fn create(&self, options: CreateOptions) -> Result<WorkflowInstance, Error> {
        let workflow = self.name.clone();
        let reply = self.call(workflow::Op::Create { workflow, options }).await?;
        let workflow::Reply::Instance { id } = reply else {
            unreachable!("a creation was answered with {reply}")
        };
        Ok(WorkflowInstance { workflow: self.clone(), id })
    }

    /// Creates up to 100 instances; those whose id exists are left out of the answer.
    pub async fn create_batch(
        &self,
        batch: Vec<CreateOptions>,
    ) -> Result<Vec<WorkflowInstance>, Error> {
        let workflow = self.name.clone();
        let reply = self.call(workflow::Op::CreateBatch { workflow, batch }).await?;
        let workflow::Reply::Batch { created, .. } = reply else {
            unreachable!("a batch was answered with {reply}")
        };
        let instance = |id| WorkflowInstance { workflow: self.clone(), id };
        Ok(created.into_iter().map(instance).collect())
    }

    /// The instance of that id, which must exist.
    pub async fn get(&self, id: &str) -> Result<WorkflowInstance, Error> {
        let (workflow, id): (_, Arc<str>) = (self.name.clone(), id.into());
        self.call(workflow::Op::Get { workflow, id: id.clone() }).await?;
        Ok(WorkflowInstance { workflow: self.clone(), id })
    }

    async fn call(&self, op: workflow::Op) -> Result<workflow::Reply, Error> {
        match self.env.call(None, Op::Workflow(op)).await? {
            Reply::Workflow(reply) => Ok(reply),
            other => unreachable!("a workflow answered with {other}"),
        }
    }
}

/// One instance of a workflow.
#[derive(Clone, Debug)]
pub struct WorkflowInstance {
    workflow: Workflow,
    id: Arc<str>,
}

impl WorkflowInstance {
    /// The id of the instance.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The status of the instance.
    pub async fn status(&self) -> Result<InstanceStatus, Error> {
        let (workflow, id) = self.names();
        match self.workflow.call(workflow::Op::Status { workflow, id }).await? {
            workflow::Reply::Status(status) => Ok(status),
            other => unreachable!("a status was answered with {other}"),
        }
    }

    /// Pauses the instance after the step that is running.
    pub async fn pause(&self) -> Result<(), Error> {
        let (workflow, id) = self.names();
        self.workflow.call(workflow::Op::Pause { workflow, id }).await.map(|_| ())
    }

    /// Resumes a paused instance.
    pub async fn resume(&self) -> Result<(), Error> {
        let (workflow, id) = self.names();
        self.workflow.call(workflow::Op::Resume { workflow, id }).await.map(|_| ())
    }

    /// Restarts the instance with the same parameters, from the top or from a step.
    pub async fn restart(&self, from: Option<RestartFrom>) -> Result<(), Error> {
        let (workflow, id) = self.names();
        self.workflow.call(workflow::Op::Restart { workflow, id, from }).await.map(|_| ())
    }

    /// Terminates the instance at once. The effects of its steps stay.
    pub async fn terminate(&self) -> Result<(), Error> {
        let (workflow, id) = self.names();
        self.workflow.call(workflow::Op::Terminate { workflow, id }).await.map(|_| ())
    }

    /// Deletes the instance; its id can be used again.
    pub async fn delete(&self) -> Result<(), Error> {
        let (workflow, id) = self.names();
        self.workflow.call(workflow::Op::Delete { workflow, id }).await.map(|_| ())
    }

    /// Sends an event to the instance. Events are not deduplicated.
    pub async fn send_event(
        &self,
        event_type: &str,
        payload: impl Into<Body>,
    ) -> Result<(), Error> {
        let op = workflow::Op::send_event(&self.workflow.name, &self.id, event_type, payload);
        self.workflow.call(op).await.map(|_| ())
    }

    fn names(&self) -> (Arc<str>, Arc<str>) {
        (self.workflow.name.clone(), self.id.clone())
    }
}
