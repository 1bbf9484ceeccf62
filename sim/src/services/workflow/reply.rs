//! What a workflow answers, and what it wants done besides.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::{Abort, Error};
use super::id::Engine;
use super::op::Glance;
use super::step::Policy;
use super::step_error::StepError;
use crate::values::body::Body;
use crate::values::time::Time;

/// What came of one operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    /// The answer to the caller.
    pub reply: Result<Reply, Error>,
    /// What the driver of the engines has to do now, in this order.
    pub follow: Vec<Follow>,
}

/// The answer to an operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Reply {
    /// A handle: the instance was created, or exists.
    Instance {
        /// The id of the instance.
        id: Arc<str>,
    },
    /// What became of a batch.
    Batch {
        /// The instances that were created: not one for each that was asked for.
        created: Vec<Arc<str>>,
        /// The others, which only the form of the call with an object shows to the caller.
        errors: Vec<BatchError>,
    },
    /// The state of an instance.
    Status(InstanceStatus),
    /// It is done, and there is nothing to say.
    Done,
    /// The body may run: this is its event.
    Begun(WorkflowEvent),
    /// Where a step stands.
    Step(Progress),
}

/// Why one instance of a batch was not created.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchError {
    /// The id of the instance.
    pub id: Arc<str>,
    /// The API's code.
    pub code: u32,
    /// The API's name for it.
    pub message: Arc<str>,
}

/// What `run()` is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowEvent {
    /// The parameters of `create`, unchanged by whatever an earlier life did to them.
    pub payload: Body,
    /// When the instance was created.
    pub timestamp: Time,
    /// The id of the instance.
    pub instance_id: Arc<str>,
    /// The name of the workflow.
    pub workflow_name: Arc<str>,
}

impl Hash for WorkflowEvent {
    /// Without the name of the workflow, which the question has: the hashes of older histories stay true.
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.payload, self.timestamp, &self.instance_id).hash(state);
    }
}

/// What `waitForEvent` resolves with.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepEvent {
    /// What was sent.
    pub payload: Body,
    /// The type of the event.
    #[serde(rename = "type")]
    pub event_type: Arc<str>,
    /// When it arrived.
    pub timestamp: Time,
}

/// Where a step stands, in answer to its engine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Progress {
    /// Run the closure, and report how it ended.
    Run {
        /// Which attempt it is, from 1; it counts even if nothing is ever heard of it.
        attempt: u32,
        /// The settings with which the step first began.
        policy: Policy,
    },
    /// Nothing to do before this time, or before a [`Follow::Wake`]; then ask again.
    Until(Time),
    /// `step.do` resolves with this value, which is stored.
    Value(Body),
    /// The sleep is over.
    Slept,
    /// `step.waitForEvent` resolves with this event.
    Event(StepEvent),
    /// The step throws this.
    Thrown(StepError),
    /// An attempt has ended that its step no longer waits for; its result is not kept.
    Ignored,
}

/// What `status()` says.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceStatus {
    /// Where the instance is in its life.
    pub status: Status,
    /// What the body returned.
    pub output: Option<Body>,
    /// What the body threw.
    pub error: Option<StepError>,
    /// The results of its steps in the order of their success; only the emulator tells.
    pub step_outputs: Option<Vec<Body>>,
}

/// Where an instance is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Status {
    /// It has not begun.
    Queued,
    /// Its body runs, or is parked.
    Running,
    /// It stands still until it is resumed.
    Paused,
    /// Its body threw.
    Errored,
    /// It was ended from outside.
    Terminated,
    /// Its body returned.
    Complete,
    /// Its body is parked; see [`Options::parked_is_waiting`](super::Options::parked_is_waiting).
    Waiting,
    /// It will be paused as soon as the steps in progress have ended.
    WaitingForPause,
}

impl Status {
    /// Whether nothing more happens without a restart.
    pub fn is_final(self) -> bool {
        matches!(self, Status::Complete | Status::Errored | Status::Terminated)
    }
}

/// What the driver of the engines has to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Follow {
    /// Give the instance a new life: begin, and run the body from the top.
    Start {
        /// The life to run.
        engine: Engine,
    },
    /// Drop the body of this life where it stands.
    Abort {
        /// The life to end.
        engine: Engine,
        /// The reason that its body is told.
        reason: Abort,
    },
    /// Something of this life is due then: wake its body, or replay it in a new life if it sleeps.
    WakeAt {
        /// The engine that sleeps.
        engine: Engine,
        /// The time at which it has to run.
        at: Time,
    },
    /// An event has come that a parked wait of this life asked for: wake it, or replay it.
    Wake {
        /// The engine that waits.
        engine: Engine,
    },
}

impl Follow {
    /// The life that it is about.
    pub fn engine(&self) -> &Engine {
        match self {
            Follow::Start { engine }
            | Follow::Abort { engine, .. }
            | Follow::WakeAt { engine, .. }
            | Follow::Wake { engine } => engine,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Status::Queued => "queued",
            Status::Running => "running",
            Status::Paused => "paused",
            Status::Errored => "errored",
            Status::Terminated => "terminated",
            Status::Complete => "complete",
            Status::Waiting => "waiting",
            Status::WaitingForPause => "waitingForPause",
        })
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Instance { id } => f.write_str(id),
            Reply::Batch { created, errors } => {
                write!(f, "created {}", created.len())?;
                if errors.is_empty() { Ok(()) } else { write!(f, ", not {}", errors.len()) }
            }
            Reply::Status(InstanceStatus { status, output, error, .. }) => {
                status.fmt(f)?;
                if let Some(output) = output {
                    f.write_str(" ")?;
                    Glance(output).fmt(f)?;
                }
                error.iter().try_for_each(|error| write!(f, " {error}"))
            }
            Reply::Done => f.write_str("done"),
            Reply::Begun(event) => {
                f.write_str("begun ")?;
                Glance(&event.payload).fmt(f)
            }
            Reply::Step(progress) => progress.fmt(f),
        }
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Progress::Run { attempt, .. } if f.alternate() => write!(f, "attempt {attempt}"),
            Progress::Run { attempt, .. } => write!(f, "run attempt {attempt}"),
            Progress::Until(at) => write!(f, "until {at}"),
            Progress::Value(value) => Glance(value).fmt(f),
            Progress::Slept => f.write_str("slept"),
            Progress::Event(event) => {
                write!(f, "{} ", event.event_type)?;
                Glance(&event.payload).fmt(f)
            }
            Progress::Thrown(error) => write!(f, "throws {error}"),
            Progress::Ignored => f.write_str("ignored"),
        }
    }
}

impl fmt::Display for Follow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Follow::Start { engine } => write!(f, "start {engine}"),
            Follow::Abort { engine, reason } => write!(f, "abort {engine}: {reason}"),
            Follow::WakeAt { engine, at } => write!(f, "wake {engine} at {at}"),
            Follow::Wake { engine } => write!(f, "wake {engine}"),
        }
    }
}
