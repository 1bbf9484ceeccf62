//! Agents: durable objects that start workflows and get reports from them, as in the `agents` SDK.
//!
//! It is application code on top of the platform, and it races and crashes like application code:
//! starting a workflow and writing that down are two effects, and a workflow reports by calls that
//! can come twice, early, or never. What is simulated and what is not is listed in
//! `docs/platform-agents.md`.

mod callback;
mod state;
mod tracking;
mod workflow;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value as Json};

pub use callback::{Callback, Report};
use tracking::Tracking;
pub use tracking::WorkflowInfo;
pub use workflow::AgentWorkflow;

use crate::bindings::durable_object::ObjectState;
use crate::bindings::workflow_instance::{Workflow, WorkflowInstance};
use crate::engine::env::Env;
use crate::protocol::outcome::Error;
use crate::services::workflow::{CreateOptions, InstanceStatus, Retention};
use crate::values::body::Body;

/// The method by which a workflow reports; it goes to [`Agent::on_callback`].
pub const CALLBACK: &str = "_workflow_handleCallback";
/// The method by which a workflow changes the state; it goes to [`Agent::on_update_state`].
pub const UPDATE_STATE: &str = "_workflow_updateState";
/// The method by which a workflow sends to all clients; it goes to [`Agent::on_broadcast`].
pub const BROADCAST: &str = "_workflow_broadcast";

const AGENT_NAME: &str = "__agentName";
const AGENT_BINDING: &str = "__agentBinding";
const WORKFLOW_NAME: &str = "__workflowName";

const TRIES: u32 = 3;
const FIRST_DELAY: Duration = Duration::from_millis(200);
const LONGEST_DELAY: Duration = Duration::from_secs(3);

/// What makes a durable object an agent: it holds one of these.
///
/// ```
/// use serde_json::json;
/// use thunderhead_sim::agents::{self, Agent, AgentWorkflow, RunWorkflowOptions};
/// use thunderhead_sim::*;
///
/// struct Album(Agent);
///
/// impl DurableObject for Album {
///     fn new(ctx: ObjectState, env: Env) -> Album {
///         Album(Agent::new(ctx, env))
///     }
///
///     async fn rpc(&self, method: &str, args: Body) -> Result<Body, Error> {
///         if method == agents::CALLBACK {
///             // Here the agent's own hook would look at what is reported.
///             return self.0.on_callback(&args).map(|_| Body::empty());
///         }
///         let options = RunWorkflowOptions { id: Some("cat".into()), ..Default::default() };
///         self.0.run_workflow("LABEL", json!({"key": "cat.jpg"}), options).await.map(Body::from)
///     }
/// }
///
/// let run = simulate(&Scenario::default(), &Source::Tape(Tape::benign()), &|cloud| {
///     cloud.durable_object::<Album>("ALBUM");
///     cloud.workflow("LABEL", Default::default(), |env, event, step| {
///         AgentWorkflow::wrap(env, event, step, |workflow| async move {
///             assert_eq!(workflow.payload(), &json!({"key": "cat.jpg"}));
///             workflow.report_complete(json!("tabby")).await?;
///             Ok(Body::empty())
///         })
///     });
///     cloud.client("alice", |env| async move {
///         env.durable_object("ALBUM").get_by_name("pets").rpc("label", "").await.unwrap();
///     });
/// });
/// assert!(run.unwrap().trace.to_string().contains("complete"));
/// ```
#[derive(Clone)]
pub struct Agent {
    ctx: ObjectState,
    env: Env,
    tracking: Tracking,
}

/// Options of [`Agent::run_workflow`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunWorkflowOptions {
    /// The id of the instance; `wf_` and a unique name when there is none.
    pub id: Option<Arc<str>>,
    /// Metadata that the row keeps for the agent's own use.
    pub metadata: Option<Json>,
    /// How long the instance is kept after its end.
    pub retention: Retention,
}

impl Agent {
    /// Makes an object an agent; its tables are there from now on.
    pub fn new(ctx: ObjectState, env: Env) -> Agent {
        let tracking = Tracking::new(ctx.storage().clone(), env.clone());
        state::create(ctx.storage());
        Agent { ctx, env, tracking }
    }

    /// The name by which its workflows find it again.
    pub fn name(&self) -> Result<&str, Error> {
        let unnamed = || Error::app("an object without a name hears nothing from its workflows");
        self.ctx.id().name().ok_or_else(unnamed)
    }

    /// Starts a workflow and then inserts its row. A crash between the two leaves a running instance that
    /// this agent does not track.
    pub async fn run_workflow(
        &self,
        workflow: &str,
        params: Json,
        options: RunWorkflowOptions,
    ) -> Result<String, Error> {
        let binding = self.binding(workflow)?;
        let id = options.id.unwrap_or_else(|| format!("wf_{}", self.env.unique()).into());
        let params = Some(self.sign(params, workflow)?);
        let create = CreateOptions { id: Some(id), params, retention: options.retention };
        let instance = binding.create(create).await?;
        self.tracking.insert(instance.id(), workflow, options.metadata.as_ref())?;
        Ok(instance.id().to_string())
    }

    /// The row of a workflow, which may be out of date.
    pub fn get_workflow(&self, id: &str) -> Result<Option<WorkflowInfo>, Error> {
        self.tracking.get(id)
    }

    /// Gets the status from the platform and writes it over whatever the row says by then.
    pub async fn get_workflow_status(
        &self,
        workflow: &str,
        id: &str,
    ) -> Result<InstanceStatus, Error> {
        let instance = self.binding(workflow)?.get(id).await?;
        self.refresh(&instance).await
    }

    /// Terminates a workflow that this agent tracks.
    pub async fn terminate_workflow(&self, id: &str) -> Result<(), Error> {
        let instance = self.steer(id, async |instance| instance.terminate().await).await?;
        self.refresh(&instance).await.map(|_| ())
    }

    /// Pauses a workflow that this agent tracks.
    pub async fn pause_workflow(&self, id: &str) -> Result<(), Error> {
        let instance = self.steer(id, async |instance| instance.pause().await).await?;
        self.refresh(&instance).await.map(|_| ())
    }

    /// Resumes a paused workflow.
    pub async fn resume_workflow(&self, id: &str) -> Result<(), Error> {
        let instance = self.steer(id, async |instance| instance.resume().await).await?;
        self.refresh(&instance).await.map(|_| ())
    }

    /// Restarts a workflow. The row is set to `queued` afterwards, whatever the new run has reported by then.
    pub async fn restart_workflow(&self, id: &str) -> Result<(), Error> {
        self.steer(id, async |instance| instance.restart(None).await).await?;
        self.tracking.restart(id)
    }

    /// Sends an event to a workflow, which need not be one that this agent tracks.
    pub async fn send_workflow_event(
        &self,
        workflow: &str,
        id: &str,
        event_type: &str,
        payload: &Json,
    ) -> Result<(), Error> {
        let instance = self.binding(workflow)?.get(id).await?;
        let payload = Body::from(payload.to_string());
        self.try_n(async || instance.send_event(event_type, payload.clone()).await).await
    }

    /// Deletes the row of a workflow, not its instance. Returns whether there was a row.
    pub fn delete_workflow(&self, id: &str) -> Result<bool, Error> {
        self.tracking.delete(id)
    }

    /// Takes what a workflow reports into its row, if the row is in a state for it. The agent's own
    /// hook is to run in any case, so the report is given back in any case.
    pub fn on_callback(&self, args: &Body) -> Result<Callback, Error> {
        let callback: Callback = parse(args)?;
        let id = &callback.workflow_id;
        match &callback.report {
            Report::Progress { .. } => self.tracking.progress(id)?,
            Report::Complete { .. } => self.tracking.complete(id)?,
            Report::Error { error } => self.tracking.error(id, error)?,
            Report::Event { .. } => {}
        }
        Ok(callback)
    }

    /// Sends a message of a workflow to every connected client; nothing is stored.
    pub fn on_broadcast(&self, args: &Body) {
        self.ctx.broadcast(args.clone());
    }

    /// The parameters with what the workflow needs to find this agent.
    fn sign(&self, params: Json, workflow: &str) -> Result<Body, Error> {
        let mut params = match params {
            Json::Object(params) => params,
            Json::Null => Map::new(),
            _ => return Err(Error::app("the parameters of a workflow must be a JSON object")),
        };
        params.insert(AGENT_NAME.into(), self.name()?.into());
        params.insert(AGENT_BINDING.into(), (&**self.ctx.id().namespace()).into());
        params.insert(WORKFLOW_NAME.into(), workflow.into());
        Ok(Body::from(Json::Object(params).to_string()))
    }

    fn binding(&self, workflow: &str) -> Result<Workflow, Error> {
        if !self.env.world().state().hosts.workflow_bodies.contains_key(workflow) {
            let message = format!("Workflow binding '{workflow}' not found in environment");
            return Err(Error::app(message));
        }
        Ok(self.env.workflow(workflow))
    }

    /// Does `act` to an instance that this agent tracks.
    async fn steer(
        &self,
        id: &str,
        act: impl AsyncFn(&WorkflowInstance) -> Result<(), Error>,
    ) -> Result<WorkflowInstance, Error> {
        let untracked = || Error::app(format!("Workflow {id} not found in tracking table"));
        let info = self.tracking.get(id)?.ok_or_else(untracked)?;
        let instance = self.binding(&info.workflow_name)?.get(id).await?;
        self.try_n(async || act(&instance).await).await?;
        Ok(instance)
    }

    async fn refresh(&self, instance: &WorkflowInstance) -> Result<InstanceStatus, Error> {
        let status = instance.status().await?;
        self.tracking.overwrite(instance.id(), &status)?;
        Ok(status)
    }

    /// Tries a call up to three times if it may succeed later.
    async fn try_n(&self, act: impl AsyncFn() -> Result<(), Error>) -> Result<(), Error> {
        let mut delay = FIRST_DELAY;
        for _ in 1..TRIES {
            match act().await {
                Err(error) if error.is_transient() => {
                    self.env.sleep(delay).await;
                    delay = LONGEST_DELAY.min(2 * delay);
                }
                ended => return ended,
            }
        }
        act().await
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Agent({})", self.ctx.id())
    }
}

/// Parses the JSON of a call.
fn parse<T: serde::de::DeserializeOwned>(args: &Body) -> Result<T, Error> {
    args.read().map_err(|error| Error::app(format!("not a message of a workflow: {error}")))
}

/// The error that the SDK makes of an error of SQLite.
fn sql_error(error: Error) -> Error {
    Error::app(format!("SQL query failed: {error}"))
}
