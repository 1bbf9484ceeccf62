//! The simulated cloud: an engine in which every decision is a recorded choice, a doorway at which
//! every call can go wrong, and the services of a platform as plain state machines.
//!
//! Begin with [`simulate`]; what application code holds is an [`Env`], what is set up is a [`Cloud`].

mod bindings;
mod choices;
mod engine;
mod protocol;
mod scenario;
mod search;
mod services;
mod simulate;
mod values;

pub use bindings::bucket::{
    Bucket, CreateMultipartUpload, Get, List, MultipartUpload, ObjectBody, Put,
};
pub use bindings::cloud::{Cloud, Worker};
pub use bindings::d1_database::{D1Database, D1DatabaseSession, D1PreparedStatement};
pub use bindings::durable_object::{DurableObject, ObjectNamespace, ObjectState, Stub};
pub use bindings::producer::Queue;
pub use bindings::roster::Roster;
pub use bindings::step::Step;
pub use bindings::web_socket::WebSocket;
pub use bindings::workflow_instance::{Workflow, WorkflowInstance};
pub use bindings::{agents, outside};
pub use choices::swarm::Swarm;
pub use choices::tape::{Deviation, Tape};
pub use choices::{Draw, Source};
pub use engine::env::Env;
pub use engine::objects::storage::ObjectStorage;
pub use engine::run::{End, Run};
pub use engine::wait::JoinHandle;
pub use protocol::error::Error;
pub use protocol::fault::{self, CallClass, Codes, Fault, FaultKind, FaultSet};
pub use protocol::http::{Request, Response};
pub use protocol::object::{AlarmInfo, ObjectError, ObjectId};
pub use protocol::op::Op;
pub use protocol::reply::{Outcome, Reply};
pub use protocol::site::{ChoiceKind, OpCode, Site};
pub use protocol::trace::{Event, EventKind, JsonlError, OutcomeId, Trace, TraceHash};
pub use scenario::script::{
    Expect, Expectation, Failure, Script, ScriptChoices, ScriptError, ScriptFile, ScriptPlace,
    closest,
};
pub use scenario::scripted_fault::{Filter, ScriptedFault};
pub use scenario::{ClientRequest, Kill, Scenario, Timing};
pub use search::enumerate::Enumerate;
pub use search::shrink::{Case, Shrinker, shrink};
pub use services::queue::{Message, MessageBatch};
pub use services::{ai, d1, queue, r2, sqlite, storage, workflow};
pub use simulate::{SetupError, simulate};
pub use values::body::Body;
pub use values::hash::StableHasher;
pub use values::rng::Rng;
pub use values::time::{EPOCH_MS, Time};
