//! Workflows: durable functions whose steps are remembered, so that a crash replays them.
//!
//! The service is a plain state machine that owns everything durable. The body of an instance runs
//! elsewhere, on an engine that can die at any moment, and reaches it by operations of its own:
//! their driver does what each [`Applied`] lists under `follow`, and asks again for a step
//! when its time has come. Every life of an engine has a generation, and only the newest is heard.
//! Where the local emulator differs from production's documentation, [`Options`] names the
//! difference.

use std::sync::Arc;

use crate::values::sorted_map::SortedMap;
use crate::values::time::Time;

mod anomaly;
mod archive;
mod config;
mod duration;
mod error;
mod events;
mod id;
mod instance;
mod instances;
mod journal;
mod op;
mod persistence;
mod reply;
mod step;
mod step_error;

pub use anomaly::Anomaly;
pub use config::{
    ConfigError, DEFAULT_EVENT_TIMEOUT, MAX_BATCH_INSTANCES, MAX_EVENT_TYPE_LEN, MAX_ID_LEN,
    MAX_STEP_NAME_LEN, MAX_VALUE_BYTES, MAX_WAIT, MAX_WORKFLOW_NAME_LEN, Options, WorkflowConfig,
};
pub use duration::{Millis, parse_duration};
pub use error::{
    API_ALREADY_EXISTS, API_DUPLICATE_IN_BATCH, Abort, AlreadyExists, CREATE_ERRORS, Code, Error,
    transient_errors,
};
pub use id::{Engine, StepCounter, StepKey, StepKind};
use instances::Instances;
pub use op::{AttemptResult, CALLS, CreateOptions, Op, RestartFrom, Retention};
pub use reply::{
    Applied, BatchError, Follow, InstanceStatus, Progress, Reply, Status, StepEvent, WorkflowEvent,
};
pub use step::{Backoff, DEFAULT_RETRIES, DEFAULT_STEP_TIMEOUT, Policy, Retries, StepConfig};
pub use step_error::StepError;

/// Every workflow of the simulated account, and all their instances.
///
/// ```
/// use thunderhead_sim::Time;
/// use thunderhead_sim::workflow::{
///     AttemptResult, Follow, Op, Progress, Reply, StepConfig, StepCounter, WorkflowConfig,
///     Workflows,
/// };
///
/// let mut workflows = Workflows::default();
/// workflows.define("uploads", WorkflowConfig::default()).unwrap();
/// let created = workflows.apply(Time::ZERO, &Op::create("uploads", "a", "{}"));
/// let [Follow::Start { engine }] = &created.follow[..] else { panic!("the body must run") };
///
/// let begin = Op::Begin { engine: engine.clone() };
/// workflows.apply(Time::ZERO, &begin).reply.unwrap();
/// let (step, config) = (StepCounter::default().step("save"), StepConfig::default());
/// let begin = Op::BeginStep { engine: engine.clone(), step: step.clone(), config };
/// let run = workflows.apply(Time::ZERO, &begin).reply.unwrap();
/// assert_eq!(run.to_string(), "run attempt 1");
///
/// let result = AttemptResult::Ok("7".into());
/// let finish = Op::FinishStep { engine: engine.clone(), step, attempt: 1, result };
/// workflows.apply(Time::ZERO, &finish).reply.unwrap();
/// let again = workflows.apply(Time::ZERO, &begin).reply.unwrap();
/// assert_eq!(again, Reply::Step(Progress::Value("7".into())), "a stored step does not run again");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Workflows {
    workflows: SortedMap<Arc<str>, Instances>,
    numbers: Numbers,
}

/// What is numbered across all workflows, so that nothing is ever numbered twice.
#[derive(Clone, Debug, Default)]
struct Numbers {
    lives: u64,
    ids: u64,
}

impl Workflows {
    /// Sets up a workflow.
    pub fn define(&mut self, name: &str, config: WorkflowConfig) -> Result<(), ConfigError> {
        config.check(name)?;
        let name: Arc<str> = name.into();
        if self.workflows.contains_key(&name) {
            return Err(ConfigError::Exists(name));
        }
        self.workflows.insert(Arc::clone(&name), Instances::new(name, config));
        Ok(())
    }

    /// Carries out one operation, of an application or of an engine.
    pub fn apply(&mut self, now: Time, op: &Op) -> Applied {
        self.apply_with(now, op, None)
    }

    /// Like `apply`, with an anomaly; one that cannot happen to `op` is ignored.
    pub fn apply_with(&mut self, now: Time, op: &Op, anomaly: Option<Anomaly>) -> Applied {
        let mut follow = Vec::new();
        let reply = match self.workflows.get_mut(op.workflow()) {
            Some(instances) => instances.apply(now, (op, anomaly), &mut self.numbers, &mut follow),
            None => Err(Error::refused(Code::WorkflowNotFound, "", Options::default())),
        };
        Applied { reply, follow }
    }

    /// The state of an instance, for reports; it does not touch anything.
    pub fn status(&self, workflow: &str, id: &str) -> Option<InstanceStatus> {
        let instances = self.workflows.get(workflow)?;
        Some(instances.get(id)?.status(instances.settings().options))
    }
}
