//! What an application can ask of a workflow, and what an engine asks about its own steps.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Anomaly;
use super::duration::Millis;
use super::error::{CREATE_ERRORS, Error, transient_errors};
use super::id::{Engine, StepKey, StepKind};
use super::step::StepConfig;
use super::step_error::StepError;
use crate::values::body::Body;
use crate::values::call::{CallClass, calls};
use crate::values::time::Time;

/// One operation.
///
/// Values are JSON as text; no bytes at all are `undefined`.
///
/// ```
/// use thunderhead_sim::workflow::Op;
///
/// let op = Op::create("uploads", "a", r#"{"key":"cat.jpg"}"#);
/// assert_eq!(op.to_string(), r#"create uploads/a {"key":"cat.jpg"}"#);
/// assert_eq!((op.name(), op.workflow(), op.instance()), ("create", "uploads", Some("a")));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "the fields that recur mean the same everywhere")]
pub enum Op {
    /// `workflow.create(options)`.
    Create { workflow: Arc<str>, options: CreateOptions },
    /// `workflow.createBatch(batch)`: existing ids are left out.
    CreateBatch { workflow: Arc<str>, batch: Vec<CreateOptions> },
    /// `workflow.get(id)`.
    Get { workflow: Arc<str>, id: Arc<str> },
    /// `instance.status()`.
    Status { workflow: Arc<str>, id: Arc<str> },
    /// `instance.pause()`.
    Pause { workflow: Arc<str>, id: Arc<str> },
    /// `instance.resume()`.
    Resume { workflow: Arc<str>, id: Arc<str> },
    /// `instance.restart(options)`.
    Restart { workflow: Arc<str>, id: Arc<str>, from: Option<RestartFrom> },
    /// `instance.terminate()`.
    Terminate { workflow: Arc<str>, id: Arc<str> },
    /// `instance.delete()`.
    Delete { workflow: Arc<str>, id: Arc<str> },
    /// `instance.sendEvent({type, payload})`.
    SendEvent { workflow: Arc<str>, id: Arc<str>, event_type: Arc<str>, payload: Body },
    /// An engine that was told to start does so: its body runs from the top.
    Begin { engine: Engine },
    /// An engine lost its memory, by a crash or because it hibernated: it needs another life.
    Evict { engine: Engine },
    /// `step.do` begins, or asks again after a wait.
    BeginStep { engine: Engine, step: StepKey, config: StepConfig },
    /// An attempt of `step.do` has ended.
    FinishStep { engine: Engine, step: StepKey, attempt: u32, result: AttemptResult },
    /// `step.sleep` begins, or asks whether it is over.
    Sleep { engine: Engine, step: StepKey, duration: Millis },
    /// `step.sleepUntil` begins, or asks whether it is over.
    SleepUntil { engine: Engine, step: StepKey, until: Time },
    /// `step.waitForEvent` begins, or asks whether the event has come.
    WaitForEvent { engine: Engine, step: StepKey, event_type: Arc<str>, timeout: Option<Millis> },
    /// `run()` returned a value, or threw.
    Finish { engine: Engine, result: Result<Body, StepError> },
}

/// What `create` takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateOptions {
    /// The id; one is made up when there is none.
    pub id: Option<Arc<str>>,
    /// What `event.payload` will be; none is an empty object.
    pub params: Option<Body>,
    /// How long the instance is kept after its end.
    pub retention: Retention,
}

impl CreateOptions {
    /// An instance of this id, with these parameters.
    pub fn new(id: &str, params: impl Into<Body>) -> CreateOptions {
        CreateOptions {
            id: Some(id.into()),
            params: Some(params.into()),
            retention: Retention::default(),
        }
    }
}

/// How long an instance is kept after its end, where that differs from the workflow's setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Retention {
    /// When it completed.
    pub success_retention: Option<Millis>,
    /// When it errored or was terminated.
    pub error_retention: Option<Millis>,
}

/// The step from which an instance begins again; what came before it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RestartFrom {
    /// The step's name.
    pub name: Arc<str>,
    /// Which of that name, in the order in which they began; the first when it does not say.
    pub count: Option<u32>,
    /// Which kind of step; `do` when it does not say.
    pub kind: Option<StepKind>,
}

/// How an attempt of a step ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AttemptResult {
    /// The closure returned.
    Ok(Body),
    /// The closure threw.
    Err(StepError),
    /// The closure took too long. It is not cancelled, and may end later.
    TimedOut,
}

calls! {
    Op:
    Begin => 31, "workflow.begin", &[];
    BeginStep => 32, "workflow.beginStep", &[];
    Create => 33, "workflow.create", &CREATE_ERRORS;
    CreateBatch => 34, "workflow.createBatch", &CREATE_ERRORS;
    Delete => 35, "workflow.delete", &CREATE_ERRORS;
    Evict => 36, "workflow.evict", &[];
    Finish => 37, "workflow.finish", &[];
    FinishStep => 38, "workflow.finishStep", &[];
    Get => 39, "workflow.get", &CREATE_ERRORS;
    Pause => 40, "workflow.pause", &CREATE_ERRORS;
    Restart => 41, "workflow.restart", &CREATE_ERRORS;
    Resume => 42, "workflow.resume", &CREATE_ERRORS;
    SendEvent => 43, "workflow.sendEvent", &CREATE_ERRORS;
    Sleep => 44, "workflow.sleep", &[];
    SleepUntil => 45, "workflow.sleepUntil", &[];
    Status => 46, "workflow.status", &CREATE_ERRORS;
    Terminate => 47, "workflow.terminate", &CREATE_ERRORS;
    WaitForEvent => 48, "workflow.waitForEvent", &[];
}

impl Op {
    /// Creates an instance.
    pub fn create(workflow: &str, id: &str, params: impl Into<Body>) -> Op {
        Op::Create { workflow: workflow.into(), options: CreateOptions::new(id, params) }
    }

    /// Sends an event.
    pub fn send_event(workflow: &str, id: &str, event_type: &str, payload: impl Into<Body>) -> Op {
        let (workflow, id, event_type) = (workflow.into(), id.into(), event_type.into());
        Op::SendEvent { workflow, id, event_type, payload: payload.into() }
    }

    /// Begins a sleep.
    pub fn sleep(engine: Engine, step: StepKey, duration: Duration) -> Op {
        Op::Sleep { engine, step, duration: duration.into() }
    }

    /// The method's name on the platform, or what the engine does.
    pub fn name(&self) -> &'static str {
        self.call().method()
    }

    /// The boundary that it crosses.
    pub fn class(&self) -> CallClass {
        if self.engine().is_some() {
            CallClass::Journal
        } else if !Anomaly::of(self).is_empty() {
            CallClass::Create
        } else {
            CallClass::Service
        }
    }

    /// The errors that the platform may answer with instead of applying it.
    pub fn refusals(&self) -> Vec<Error> {
        transient_errors(self).iter().map(|code| Error::service(*code)).collect()
    }

    /// The service's failure with that code.
    pub fn refusal(&self, code: u32) -> Option<Error> {
        CREATE_ERRORS.contains(&code).then(|| Error::service(code))
    }

    /// The instance or workflow that it is about, as scripts name it: `uploads/a`.
    pub fn target(&self) -> String {
        match self.instance() {
            Some(id) => format!("{}/{id}", self.workflow()),
            None => self.workflow().to_string(),
        }
    }

    /// The name of the workflow.
    pub fn workflow(&self) -> &str {
        match self {
            Op::Create { workflow, .. }
            | Op::CreateBatch { workflow, .. }
            | Op::Get { workflow, .. }
            | Op::Status { workflow, .. }
            | Op::Pause { workflow, .. }
            | Op::Resume { workflow, .. }
            | Op::Restart { workflow, .. }
            | Op::Terminate { workflow, .. }
            | Op::Delete { workflow, .. }
            | Op::SendEvent { workflow, .. } => workflow,
            _ => self.engine().map_or("", |engine| &engine.workflow),
        }
    }

    /// The id of the instance, if the operation names one.
    pub fn instance(&self) -> Option<&str> {
        match self {
            Op::Create { options, .. } => options.id.as_deref(),
            Op::CreateBatch { .. } => None,
            Op::Get { id, .. }
            | Op::Status { id, .. }
            | Op::Pause { id, .. }
            | Op::Resume { id, .. }
            | Op::Restart { id, .. }
            | Op::Terminate { id, .. }
            | Op::Delete { id, .. }
            | Op::SendEvent { id, .. } => Some(id),
            _ => self.engine().map(|engine| &*engine.id),
        }
    }

    /// The engine that asks, unless it is an application.
    pub fn engine(&self) -> Option<&Engine> {
        match self {
            Op::Begin { engine }
            | Op::Evict { engine }
            | Op::BeginStep { engine, .. }
            | Op::FinishStep { engine, .. }
            | Op::Sleep { engine, .. }
            | Op::SleepUntil { engine, .. }
            | Op::WaitForEvent { engine, .. }
            | Op::Finish { engine, .. } => Some(engine),
            _ => None,
        }
    }

    /// The step that it is about.
    pub fn step(&self) -> Option<&StepKey> {
        match self {
            Op::BeginStep { step, .. }
            | Op::FinishStep { step, .. }
            | Op::Sleep { step, .. }
            | Op::SleepUntil { step, .. }
            | Op::WaitForEvent { step, .. } => Some(step),
            _ => None,
        }
    }
}

/// A value at a glance: JSON brings its own quotes.
pub(super) struct Glance<'a>(pub &'a Body);

impl fmt::Display for Glance<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.text() {
            Some("") => f.write_str("undefined"),
            Some(text) if f.alternate() || text.len() <= 40 => f.write_str(text),
            _ => self.0.fmt(f),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.name())?;
        match (self.engine(), self.instance()) {
            (Some(engine), _) => engine.fmt(f)?,
            (None, Some(id)) => write!(f, "{}/{id}", self.workflow())?,
            (None, None) => f.write_str(self.workflow())?,
        }
        if let Some(step) = self.step() {
            write!(f, " {step}")?;
        }
        match self {
            Op::Create { options: CreateOptions { params: Some(params), .. }, .. } => {
                f.write_str(" ")?;
                Glance(params).fmt(f)
            }
            Op::CreateBatch { batch, .. } => {
                let ids = batch.iter().take(5).map(|options| options.id.as_deref().unwrap_or("?"));
                write!(f, " [{}", ids.collect::<Vec<_>>().join(", "))?;
                match batch.len().saturating_sub(5) {
                    0 => f.write_str("]"),
                    more => write!(f, " and {more} more]"),
                }
            }
            Op::Restart { from: Some(from), .. } => {
                write!(f, " from {}#{}", from.name, from.count.unwrap_or(1))
            }
            Op::SendEvent { event_type, payload, .. } => {
                write!(f, " {event_type} ")?;
                Glance(payload).fmt(f)
            }
            Op::FinishStep { attempt: 1, result, .. } if f.alternate() => {
                f.write_str(": ")?;
                result.fmt(f)
            }
            Op::FinishStep { attempt, result, .. } => {
                write!(f, " attempt {attempt}: ")?;
                result.fmt(f)
            }
            Op::Sleep { duration, .. } => write!(f, " {duration}"),
            Op::SleepUntil { until, .. } => write!(f, " {until}"),
            Op::WaitForEvent { event_type, .. } => write!(f, " {event_type}"),
            Op::Finish { result: Ok(value), .. } => {
                f.write_str(" ")?;
                Glance(value).fmt(f)
            }
            Op::Finish { result: Err(error), .. } => write!(f, " threw {error}"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for AttemptResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttemptResult::Ok(value) => Glance(value).fmt(f),
            AttemptResult::Err(error) => write!(f, "threw {error}"),
            AttemptResult::TimedOut => f.write_str("timed out"),
        }
    }
}
