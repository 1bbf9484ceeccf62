//! The simulated cloud: an engine in which every decision is a recorded choice, a doorway at which
//! every call can go wrong, and the services of a platform as plain state machines.
//!
//! Begin with [`simulate`]; what application code holds is an [`Env`], what is set up is a [`Cloud`].

mod agenda;
pub mod agents;
pub mod ai;
mod alarm;
mod body;
mod bucket;
mod call;
mod choices;
mod cloud;
pub mod d1;
mod database;
mod doorway;
mod engine;
mod enumerate;
mod env;
mod error;
pub mod fault;
mod hash;
mod host;
mod instance;
mod life;
mod names;
mod object;
mod object_storage;
pub mod outside;
mod pct;
mod poll;
mod producer;
mod pump;
mod put;
pub mod queue;
pub mod r2;
mod rng;
mod rule;
mod run;
mod scenario;
mod script;
mod serve;
mod shrink;
mod sim;
mod site;
mod socket;
pub mod sqlite;
mod step;
pub mod storage;
mod storm;
mod swarm;
mod tape;
mod task;
mod time;
mod trace;
mod turn;
mod wait;
pub mod workflow;
mod world;

pub use body::Body;
pub use bucket::{Bucket, CreateMultipartUpload, Get, List, MultipartUpload, ObjectBody, Put};
pub use call::{Op, Outcome, Reply, Request, Response};
pub use choices::{Draw, Source};
pub use cloud::{Cloud, Worker};
pub use database::{D1Database, D1DatabaseSession, D1PreparedStatement};
pub use enumerate::Enumerate;
pub use env::Env;
pub use error::Error;
pub use fault::{Class, Fault, FaultKind, FaultSet};
pub use hash::StableHasher;
pub use instance::{Workflow, WorkflowInstance};
pub use object::{
    AlarmInfo, DurableObject, ObjectError, ObjectId, ObjectNamespace, ObjectState, Stub,
};
pub use object_storage::ObjectStorage;
pub use producer::Queue;
pub use queue::{Message, MessageBatch};
pub use rng::Rng;
pub use rule::{Filter, Rule};
pub use run::{End, Run};
pub use scenario::{Kill, Scenario, Send, Timing};
pub use script::{
    Choices, Expect, ExpectWord, Failure, Place, Roster, Script, ScriptError, ScriptFile, closest,
};
pub use shrink::{Case, Shrinker, shrink};
pub use sim::{Misfit, simulate};
pub use site::{Kind, OpCode, Site};
pub use socket::WebSocket;
pub use step::Step;
pub use swarm::Swarm;
pub use tape::{Deviation, Tape};
pub use time::{EPOCH_MS, Time};
pub use trace::{Event, JsonlError, OutcomeId, Trace, TraceHash, What};
pub use wait::JoinHandle;
