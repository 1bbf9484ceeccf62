//! The body of a workflow that an agent has started.

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value as Json;

use super::state::UpdateState;
use super::{
    AGENT_BINDING, AGENT_NAME, BROADCAST, CALLBACK, Callback, Report, UPDATE_STATE, WORKFLOW_NAME,
    parse,
};
use crate::bindings::durable_object::Stub;
use crate::bindings::step::Step;
use crate::engine::env::Env;
use crate::protocol::outcome::Error;
use crate::services::workflow::WorkflowEvent;
use crate::values::body::Body;

/// The access of a workflow's body to its agent, besides its steps.
///
/// It has one stub of its agent for the whole run of the body: once the agent was reset, none of its calls
/// reach the agent any more. The return of the body does not tell the agent that it is complete; only
/// [`AgentWorkflow::report_complete`] does.
#[derive(Clone, Debug)]
pub struct AgentWorkflow {
    env: Env,
    step: Step,
    agent: Stub,
    name: Arc<str>,
    id: Arc<str>,
    payload: Json,
    /// Counts the durable reports of this run, of all kinds together.
    reports: Rc<Cell<u32>>,
    error_reported: Rc<Cell<bool>>,
}

impl AgentWorkflow {
    /// Runs `body`. What it throws is reported to the agent once, unless it has reported an error
    /// itself; whether that report arrives makes no difference.
    pub async fn wrap<F>(
        env: Env,
        event: WorkflowEvent,
        step: Step,
        body: impl FnOnce(AgentWorkflow) -> F,
    ) -> Result<Body, Error>
    where
        F: Future<Output = Result<Body, Error>>,
    {
        let workflow = AgentWorkflow::new(env, event, step)?;
        let result = body(workflow.clone()).await;
        if let Err(error) = &result
            && !workflow.error_reported.replace(true)
        {
            // The error of the body counts, not one of the report.
            let _ = workflow.notify(Report::Error { error: message(error) }).await;
        }
        result
    }

    fn new(env: Env, event: WorkflowEvent, step: Step) -> Result<AgentWorkflow, Error> {
        let mut payload: Json = parse(&event.payload)?;
        let mut take = |key: &str| -> Option<String> {
            let taken = payload.as_object_mut()?.remove(key)?;
            taken.as_str().map(str::to_string)
        };
        let names = (take(AGENT_NAME), take(AGENT_BINDING), take(WORKFLOW_NAME));
        let (Some(agent), Some(binding), Some(name)) = names else {
            return Err(Error::app(
                "AgentWorkflow requires __agentName, __agentBinding, and __workflowName in params. \
                 Use agent.runWorkflow() to start workflows with proper agent context.",
            ));
        };
        if !env.world().state().hosts.classes.contains_key(&*binding) {
            let message = format!("Agent binding '{binding}' not found in environment");
            return Err(Error::app(message));
        }
        let agent = env.durable_object(&binding).get_by_name(&agent);
        let (name, id) = (name.into(), event.instance_id);
        let (reports, error_reported) = Default::default();
        Ok(AgentWorkflow { env, step, agent, name, id, payload, reports, error_reported })
    }

    /// What was given to `run_workflow`.
    pub fn payload(&self) -> &Json {
        &self.payload
    }

    /// The stub of the agent.
    pub fn agent(&self) -> &Stub {
        &self.agent
    }

    /// The steps of the workflow.
    pub fn step(&self) -> &Step {
        &self.step
    }

    /// The environment of the workflow.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// The id of the instance.
    pub fn workflow_id(&self) -> &str {
        &self.id
    }

    /// The binding of the workflow.
    pub fn workflow_name(&self) -> &str {
        &self.name
    }

    /// Reports to the agent, in a step, that the workflow is complete.
    pub async fn report_complete(&self, result: Json) -> Result<(), Error> {
        let report = Report::Complete { result };
        self.durable("reportComplete", || self.notify(report.clone())).await
    }

    /// Reports to the agent, in a step, that the workflow has failed.
    pub async fn report_error(&self, error: &str) -> Result<(), Error> {
        self.error_reported.set(true);
        let report = Report::Error { error: error.into() };
        self.durable("reportError", || self.notify(report.clone())).await
    }

    /// Reports an event of the application's to the agent, in a step.
    pub async fn send_event(&self, event: Json) -> Result<(), Error> {
        let report = Report::Event { event };
        self.durable("sendEvent", || self.notify(report.clone())).await
    }

    /// Replaces the state of the agent, in a step.
    pub async fn update_agent_state(&self, state: Json) -> Result<(), Error> {
        let update = UpdateState::Set(state);
        self.durable("updateState", || self.tell(UPDATE_STATE, json(&update))).await
    }

    /// Merges the fields of `part` into the agent's state, in a step.
    pub async fn merge_agent_state(&self, part: Json) -> Result<(), Error> {
        let update = UpdateState::Merge(part);
        self.durable("mergeState", || self.tell(UPDATE_STATE, json(&update))).await
    }

    /// Removes the agent's state, in a step.
    pub async fn reset_agent_state(&self) -> Result<(), Error> {
        self.durable("resetState", || self.tell(UPDATE_STATE, json(&UpdateState::Reset))).await
    }

    /// Reports progress to the agent; a replay reports it again.
    pub async fn report_progress(&self, progress: Json) -> Result<(), Error> {
        self.notify(Report::Progress { progress }).await.map(|_| ())
    }

    /// Sends a message to every client of the agent; a replay sends it again.
    pub async fn broadcast_to_clients(&self, message: &Json) -> Result<(), Error> {
        self.tell(BROADCAST, Body::from(message.to_string())).await.map(|_| ())
    }

    async fn durable<F>(&self, what: &str, work: impl Fn() -> F) -> Result<(), Error>
    where
        F: Future<Output = Result<Body, Error>> + 'static,
    {
        let number = self.reports.replace(self.reports.get() + 1);
        self.step.do_(&format!("__agent_{what}_{number}"), work).await.map(|_| ())
    }

    fn notify(&self, report: Report) -> impl Future<Output = Result<Body, Error>> + use<> {
        let (workflow_name, workflow_id) = (self.name.clone(), self.id.clone());
        let timestamp = self.env.now().unix_ms();
        let callback = Callback { workflow_name, workflow_id, timestamp, report };
        self.tell(CALLBACK, json(&callback))
    }

    fn tell(
        &self,
        method: &'static str,
        args: Body,
    ) -> impl Future<Output = Result<Body, Error>> + use<> {
        let agent = self.agent.clone();
        async move {
            agent.rpc(method, args).await?;
            // What a callback returns is not kept: the step resolves with nothing.
            Ok(Body::empty())
        }
    }
}

fn json(message: &impl serde::Serialize) -> Body {
    Body::from(serde_json::to_vec(message).expect("JSON and names can be written as JSON"))
}

/// The text of `error.message` in the SDK.
fn message(error: &Error) -> Arc<str> {
    match error {
        Error::Step(error) => error.message.clone(),
        other => other.to_string().into(),
    }
}
