//! A simulated cloud in the shape of Cloudflare's developer platform, for testing what application code does
//! when the platform misbehaves.
//!
//! Application code is written against handles that look like the platform's own: [`Bucket`], [`Queue`],
//! [`D1Database`], [`Workflow`], [`DurableObject`]. The simulator plays it on one thread, with simulated time and
//! with faults: requests are lost, replies are lost, messages come twice or late, workers die between two lines.
//! A run is a pure function of a scenario and a tape, so it can be played again, shrunk and kept as a test.
//!
//! # Concepts
//!
//! - A [`Cloud`] is what a system is mounted on: its buckets, queues, databases, objects, workflows and workers.
//! - An [`Env`] is what a handler gets: the way to every binding, to the time and to randomness.
//! - A [`Scenario`] is everything about a run that is not a choice: the requests that clients send, the faults that
//!   may be drawn or that are scripted, and when the storm ends.
//! - A [`Fault`] is one way in which the platform may misbehave. A [`ScriptedFault`] strikes the calls that its
//!   [`Filter`] names; a drawn fault strikes where the source of choices says.
//! - A [`Source`] makes the choices: a seed draws them, a [`Tape`] lists those that were not benign. [`Run::tape`]
//!   turns any run into a tape.
//! - A [`Trace`] is the history of a run: calls, effects, faults, crashes, row changes. Equal runs have equal text and
//!   equal hashes, in any process.
//!
//! # From a worker to a fault to a history
//!
//! A counter that reads an object, adds one and writes it back. [`simulate`] mounts it and plays two requests on the
//! benign tape, on which nothing goes wrong:
//!
//! ```
//! use thunderhead_sim::{
//!     ClientRequest, Cloud, Env, Error, EventKind, Fault, Reply, Request, Response, Run, Scenario, ScriptedFault,
//!     Source, Tape, Time, r2, simulate,
//! };
//!
//! async fn count(env: Env, _request: Request) -> Result<Response, Error> {
//!     let bucket = env.bucket("hits");
//!     let found = bucket.get("n").execute().await?.and_then(|found| found.body);
//!     let before: u32 = found.and_then(|body| body.text()?.parse().ok()).unwrap_or(0);
//!     bucket.put("n", (before + 1).to_string()).execute().await?;
//!     Ok(Response::new(200, (before + 1).to_string()))
//! }
//!
//! fn mount(cloud: &mut Cloud) {
//!     cloud.bucket("hits", r2::BucketConfig::default());
//!     cloud.worker("web").fetch(count);
//! }
//!
//! /// What the client was answered, in order.
//! fn answers(run: &Run) -> Vec<String> {
//!     let returns = run.trace.events().iter().filter(|event| run.trace.actor(event) == "client");
//!     let outcomes = returns.filter_map(|event| match event.kind {
//!         EventKind::Return { outcome, .. } => Some(run.trace.outcome(outcome)),
//!         _ => None,
//!     });
//!     outcomes.map(|outcome| outcome.as_ref().map_or_else(Error::to_string, Reply::to_string)).collect()
//! }
//!
//! let request = |second: u64| ClientRequest::new(Time::from_ms(second * 1000), "POST", "/", "").retried(1);
//! let mut scenario = Scenario { requests: vec![request(0), request(20)], ..Scenario::default() };
//! let run = simulate(&scenario, &Source::Tape(Tape::benign()), &mount)?;
//! assert_eq!(answers(&run), [r#"200 "1""#, r#"200 "2""#]);
//!
//! // The first write takes effect, and its reply is lost. The client tries again: one visitor is counted twice.
//! scenario.faults = vec![ScriptedFault::once(Fault::LoseReply, "web>r2.put hits/*")];
//! let run = simulate(&scenario, &Source::Tape(Tape::benign()), &mount)?;
//! assert_eq!(answers(&run).last().map(String::as_str), Some(r#"200 "3""#));
//! # Ok::<(), thunderhead_sim::SetupError>(())
//! ```
//!
//! `run.trace` displays as the whole history, one event a line: who called what, when the platform carried it out,
//! what went wrong, and what each caller learnt. The README of the repository shows one.
//!
//! # Search
//!
//! A fault need not be scripted. With [`Source::Random`] the faults in [`Scenario::drawn_faults`] are drawn from a
//! seed; [`Swarm`] decides which of them a seed uses and how often. What a seed finds becomes a [`Tape`], and
//! [`shrink`] removes every request and every deviation that the failure does not need:
//!
//! ```
//! use thunderhead_sim::{
//!     Case, ClientRequest, FaultSet, Response, Run, Scenario, Source, Swarm, Time, r2, shrink, simulate,
//! };
//!
//! let play = |scenario: &Scenario, source: &Source| {
//!     simulate(scenario, source, &|cloud| {
//!         cloud.bucket("photos", r2::BucketConfig::default());
//!         cloud.worker("web").fetch(|env, request| async move {
//!             env.bucket("photos").put(&request.path[1..], request.body.clone()).execute().await?;
//!             Ok(Response::new(201, ""))
//!         });
//!     })
//!     .expect("a worker serves requests")
//! };
//! // What must not happen, as an example: a photo is stored twice.
//! let broken = |run: &Run| run.trace.effects().filter(|(_, _, outcome)| outcome.is_ok()).count() > 1;
//!
//! let drawn_faults = FaultSet::explored();
//! let requests = vec![ClientRequest::new(Time::ZERO, "PUT", "/cat.jpg", "meow").retried(2)];
//! let scenario = Scenario { requests, drawn_faults, ..Scenario::default() };
//! let found = (0..1000).find_map(|seed| {
//!     let run = play(&scenario, &Source::Random { seed, swarm: Swarm::of_seed(seed, drawn_faults) });
//!     broken(&run).then_some(run)
//! });
//! let case = Case { scenario, tape: found.expect("some seed stores it twice").tape() };
//! let smallest = shrink(case, |case| {
//!     let run = play(&case.scenario, &Source::Tape(case.tape.clone()));
//!     let fails = broken(&run);
//!     Some((run, fails))
//! });
//! assert_eq!(smallest.best().tape.len(), 1, "one fault is enough");
//! ```
//!
//! [`Enumerate`] goes through every run within a number of deviations instead.
//!
//! # Layout
//!
//! The folders of `src` are layers, and a layer imports only from those below it in this table.
//! `tests/layers.rs` holds that.
//!
//! | layer | what is in it |
//! |---|---|
//! | `search`, `simulate`, `live` | shrinking and enumeration; mounting and playing; running on the wall clock |
//! | `bindings` | the handles that application code holds |
//! | `engine` | hosts and tasks, the agenda, the doorway that every call passes, the storm that judges it there |
//! | `scenario` | what a run is asked to do, and the scripts that say so in TOML |
//! | `choices` | where the outcomes of choices come from: tape, seed, priorities |
//! | `protocol` | what crosses the doorway: operations, replies, errors, faults, sites of choices, the trace |
//! | `services` | R2, queues, workflows, D1, KV, object storage, SQLite, AI: synchronous state machines |
//! | `values` | bodies, times, hashes, the random number generator |
//!
//! # Where to go next
//!
//! - [`simulate`] is the entry point, [`Cloud`] has everything that can be mounted.
//! - [`fault::ALL`] lists the faults, [`r2`], [`queue`], [`workflow`], [`d1`], [`kv`] and [`storage`] the services.
//! - `thunderhead_props` judges traces by promises, searches whole systems, and has a proptest strategy whose values
//!   are scenario and tape.
//! - `docs/platform.md` in the repository says how faithful the cloud is, and where it is a guess.
//! - `CONTRIBUTING.md` in the repository walks through one call from handler to trace.

mod bindings;
mod choices;
mod engine;
mod live;
mod protocol;
mod scenario;
mod search;
mod services;
mod simulate;
mod values;

pub use bindings::body_stream::{BodyReader, BodyWriter};
pub use bindings::bucket::{
    Bucket, CreateMultipartUpload, Get, List, MultipartUpload, ObjectBody, Put,
};
pub use bindings::cloud::{Cloud, Worker};
pub use bindings::connection_end::ConnectionEnd;
pub use bindings::d1_database::{D1Database, D1DatabaseSession, D1PreparedStatement};
pub use bindings::durable_object::{DurableObject, ObjectNamespace, ObjectState, Stub};
pub use bindings::kv_namespace::KvNamespace;
pub use bindings::producer::Queue;
pub use bindings::roster::{Roster, Unmatched};
pub use bindings::step::{Step, StepContext};
#[doc(hidden)]
pub use bindings::typed_call;
pub use bindings::web_socket::WebSocket;
pub use bindings::workflow_instance::{Workflow, WorkflowInstance};
pub use bindings::{agents, outside};
pub use choices::swarm::Swarm;
pub use choices::tape::{Deviation, Tape};
pub use choices::{Draw, Source};
pub use engine::changes::{Changes, Image, Later, Row, Turn, message_key};
pub use engine::env::Env;
pub use engine::inference::{Inference, Inferred};
pub use engine::live::Flaw;
pub use engine::objects::storage::ObjectStorage;
pub use engine::outbound::{Arrived, Outbound};
pub use engine::restore::RestoreError;
pub use engine::run::{End, Run};
pub use engine::variables::Secret;
pub use engine::wait::JoinHandle;
pub use live::{Heard, Machine, MachineConfig, Size};
pub use protocol::fault::{self, Codes, Fault, FaultKind, FaultSet};
pub use protocol::frame::Frame;
pub use protocol::headers::Headers;
pub use protocol::http::{Request, Response, STREAM, WEB_SOCKET};
pub use protocol::object::{AlarmInfo, ObjectError, ObjectId};
pub use protocol::op::Op;
pub use protocol::outcome::{Error, Outcome, Reply};
pub use protocol::site::{ChoiceKind, OpCode, Site};
pub use protocol::trace::{
    Beside, Escaped, Event, EventKind, JsonlError, JsonlReader, OutcomeId, Page, Story, Trace,
    TraceHash,
};
pub use scenario::answers;
pub use scenario::conversation::{
    CONNECTIONS_MOST, Conversation, ConversationError, Step as TalkStep, WEBSOCKET,
};
pub use scenario::limits;
pub use scenario::script::{
    Expect, Expectation, Failure, Script, ScriptChoices, ScriptError, ScriptFile, ScriptPlace,
    closest,
};
pub use scenario::scripted_fault::{Filter, ScriptedFault};
pub use scenario::{ClientRequest, Kill, Scenario, Timing};
pub use search::enumerate::Enumerate;
pub use search::scripted::{Piece, Place, places, scripted};
pub use search::shrink::{Case, Shrinker, shrink};
pub use services::queue::{Message, MessageBatch};
pub use services::{ai, d1, kv, queue, r2, sqlite, storage, workflow};
pub use simulate::{SetupError, simulate};
pub use values::backing_store::BackingStore;
pub use values::body::{Body, BodyFile, BodySource, Digests, NotJson};
pub use values::call::CallClass;
pub use values::hash::StableHasher;
pub use values::hex::hex;
pub use values::printable::{
    is_unprintable, printable, printable_json, printable_lines, unprintable,
};
pub use values::rng::Rng;
pub use values::sorted_map::SortedMap;
pub use values::sorted_set::SortedSet;
pub use values::time::{EPOCH_MS, Time, date};
