//! What happened to generations, read from a trace. Only this file knows how the trace is laid out.

use std::sync::Arc;

use serde_json::Value as Json;
use thunderhead_sim::r2::UploadedPart;
use thunderhead_sim::sqlite::{RowChange, Value};
use thunderhead_sim::{Body, Event, EventKind, Op, Reply, Request, Response, Time, Trace, r2};

use crate::history::served;
use crate::promises::Reading;

/// The worker that answers requests, the provider of artifacts, and the database.
const WEB: &str = "web";
const PROVIDER: &str = "provider";
const D1: &str = "d1";
/// What the names of the objects begin with.
const OBJECT: &str = "GENERATION:";
/// What the keys of artifacts in the bucket begin with.
const KEY: &str = "artifacts/";

/// Something that happened, as far as generations are concerned.
#[derive(Clone, Copy, Debug)]
pub enum Fact<'a> {
    /// Rows of the library changed in one transaction.
    Library(&'a [RowChange]),
    /// What an object has stored changed.
    Stored { generation: &'a str },
    /// The provider calls the worker.
    CallsBack { call: u32 },
    /// A worker began to work on a request.
    Asked { call: u32, request: &'a Request },
    /// The worker has answered.
    Answered { call: u32, response: &'a Response },
    /// An object was told of its request; what it was told is in [`created`].
    Created { generation: &'a str, args: &'a Body },
    /// The provider has taken a job on.
    Accepted(Job<'a>),
    /// The provider has done a job, and charges for it; what it says of the artifact.
    Charged(Job<'a>, &'a str),
    /// The provider has handed out a result, or an answer in its place.
    Served { task: &'a str, response: &'a Response },
    /// An object asks for a job.
    Submitting { call: u32, job: &'a Body },
    /// An object has an answer.
    Replied { call: u32 },
    /// An object is about to write to the bucket, or to begin an upload.
    Putting { generation: &'a str, artifact: &'a str },
    /// The bytes of an artifact were written to the bucket.
    Put { artifact: &'a str, body: &'a Body, etag: &'a str },
    /// An object was told the id of the upload that it asked for.
    Opened { artifact: &'a str, upload: &'a str },
    /// A part of an upload was written.
    Part { upload: &'a str, number: i64, body: &'a Body },
    /// An upload became an object of the bucket.
    Completed { artifact: &'a str, upload: &'a str, parts: &'a [UploadedPart], etag: &'a str },
    /// An upload was given up.
    Aborted { upload: &'a str },
    /// These artifacts were deleted from the bucket.
    Deleted(Artifacts<'a>),
    /// An object has told its subscribers something.
    Told { generation: &'a str, message: &'a Body },
    /// An object has died.
    Died { generation: &'a str },
    /// The storm is over.
    Calm,
}

/// The artifacts whose keys these are.
#[derive(Clone, Copy, Debug)]
pub struct Artifacts<'a>(&'a [Arc<str>]);

impl<'a> Artifacts<'a> {
    /// Their ids.
    pub fn ids(self) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter_map(|key| key.strip_prefix(KEY))
    }
}

/// A job as the provider writes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job<'a> {
    pub task: &'a str,
    pub artifact: &'a str,
    pub generation: &'a str,
}

/// How large an artifact is, and what it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Figures {
    pub width: i64,
    pub height: i64,
    pub cost: i64,
}

impl Figures {
    /// Reads `WIDTH x HEIGHT, COST`.
    pub fn read(text: &str) -> Option<Figures> {
        let (size, cost) = text.split_once(", ")?;
        let (width, height) = size.split_once(" x ")?;
        let number = |text: &str| text.parse().ok();
        Some(Figures { width: number(width)?, height: number(height)?, cost: number(cost)? })
    }
}

/// What happened, in order, with the index of the event and its time.
pub fn facts<'a>(trace: &Reading<'a>) -> impl Iterator<Item = (usize, Time, Fact<'a>)> {
    let read = || {
        let events = trace.trace.events().iter().enumerate();
        let facts =
            events.filter_map(|(at, event)| Some((at, event.at, read(trace.trace, event)?)));
        facts.collect()
    };
    trace.generations.facts.get_or_init(read).iter().copied()
}

/// Like [`facts`], of such events alone.
pub fn facts_of<'a>(
    trace: &Reading<'a>,
    is: impl Fn(&EventKind) -> bool,
) -> impl Iterator<Item = (usize, Fact<'a>)> {
    let of = facts(trace).filter(move |(at, ..)| is(&trace.events()[*at].kind));
    of.map(|(at, _, fact)| (at, fact))
}

/// The request of each [`Fact::Created`], in order.
pub fn created<'b>(trace: &'b Reading<'_>) -> impl Iterator<Item = &'b Json> {
    let read = || {
        let args = facts(trace).filter_map(|(.., fact)| match fact {
            Fact::Created { args, .. } => Some(json(args)),
            _ => None,
        });
        args.collect()
    };
    trace.generations.created.get_or_init(read).iter()
}

fn read<'a>(trace: &'a Trace, event: &'a Event) -> Option<Fact<'a>> {
    let actor = trace.actor(event);
    let object = actor.strip_prefix(OBJECT);
    Some(match &event.kind {
        EventKind::Rows { changes } if actor == D1 => Fact::Library(changes),
        EventKind::Rows { .. } => Fact::Stored { generation: object? },
        EventKind::Begin { call } => match trace.op(*call) {
            Op::Fetch { to, request } if &**to == WEB => Fact::Asked { call: *call, request },
            Op::Rpc { method, args, .. } if &**method == "create" => {
                Fact::Created { generation: object?, args }
            }
            _ => return None,
        },
        EventKind::End { call, outcome } => match (trace.outcome(*outcome), trace.op(*call)) {
            (Ok(Reply::Fetch(response)), _) if actor == WEB => {
                Fact::Answered { call: *call, response }
            }
            (Ok(Reply::Fetch(response)), Op::Fetch { request, .. }) if actor == PROVIDER => {
                let path = request.path.strip_prefix("/results/")?;
                Fact::Served { task: path.split('?').next().unwrap_or(path), response }
            }
            _ => return None,
        },
        EventKind::Call { call } => match trace.op(*call) {
            Op::R2(op @ (r2::Op::Put { .. } | r2::Op::CreateMultipartUpload { .. })) => {
                Fact::Putting { generation: object?, artifact: op.key()?.strip_prefix(KEY)? }
            }
            Op::Fetch { to, .. } if &**to == WEB && actor == PROVIDER => {
                Fact::CallsBack { call: *call }
            }
            Op::Push { message, .. } => Fact::Told { generation: object?, message },
            Op::Fetch { to, request } if &**to == PROVIDER && &*request.path == "/tasks" => {
                Fact::Submitting { call: *call, job: &request.body }
            }
            _ => return None,
        },
        EventKind::Return { call, outcome } => match (trace.op(*call), trace.outcome(*outcome)) {
            (
                Op::R2(r2::Op::CreateMultipartUpload { key, .. }),
                Ok(Reply::R2(r2::Reply::MultipartUpload { upload_id, .. })),
            ) if object.is_some() => {
                Fact::Opened { artifact: key.strip_prefix(KEY)?, upload: upload_id }
            }
            _ => object.map(|_| Fact::Replied { call: *call })?,
        },
        EventKind::Effect { call, outcome } => match (trace.op(*call), trace.outcome(*outcome)) {
            (Op::R2(op), Ok(Reply::R2(reply))) => written(op, reply)?,
            _ => return None,
        },
        EventKind::Log { text } if actor == PROVIDER => {
            let (what, figures) = text.split_once(": ").unwrap_or((text, ""));
            let words: Vec<&str> = what.split(' ').collect();
            match words[..] {
                ["accepted", task, "for", artifact, "of", generation] => {
                    Fact::Accepted(Job { task, artifact, generation })
                }
                ["charged", task, "for", artifact, "of", generation] => {
                    Fact::Charged(Job { task, artifact, generation }, figures)
                }
                _ => return None,
            }
        }
        EventKind::Crash { .. } => Fact::Died { generation: object? },
        EventKind::Calm => Fact::Calm,
        _ => return None,
    })
}

/// What the bucket did.
fn written<'a>(op: &'a r2::Op, reply: &'a r2::Reply) -> Option<Fact<'a>> {
    Some(match (op, reply) {
        (r2::Op::Put { key, body, .. }, r2::Reply::Stored(object)) => {
            Fact::Put { artifact: key.strip_prefix(KEY)?, body, etag: &object.etag }
        }
        (r2::Op::Delete { .. }, _) => Fact::Deleted(Artifacts(op.keys())),
        (r2::Op::UploadPart { upload_id, part_number, body, .. }, _) => {
            Fact::Part { upload: upload_id, number: *part_number, body }
        }
        (
            r2::Op::CompleteMultipartUpload { key, upload_id, parts, .. },
            r2::Reply::Stored(object),
        ) => {
            let (artifact, etag) = (key.strip_prefix(KEY)?, &object.etag);
            Fact::Completed { artifact, upload: upload_id, parts, etag }
        }
        (r2::Op::AbortMultipartUpload { upload_id, .. }, _) => Fact::Aborted { upload: upload_id },
        _ => return None,
    })
}

/// Whether the worker was sent such a request.
pub fn is_asked(trace: &Trace, is: impl Fn(&Request) -> bool) -> bool {
    trace.events().iter().any(|event| match event.kind {
        EventKind::Begin { call } => match trace.op(call) {
            Op::Fetch { to, request } => &**to == WEB && is(request),
            _ => false,
        },
        _ => false,
    })
}

/// A text of a changed row as it is now.
pub fn after<'a>(change: &'a RowChange, column: &str) -> &'a str {
    change.value_after(column).and_then(Value::as_str).unwrap_or_default()
}

/// A text of a changed row as it was.
pub fn before<'a>(change: &'a RowChange, column: &str) -> &'a str {
    change.value_before(column).and_then(Value::as_str).unwrap_or_default()
}

/// Which generation a change is about, if it is about one.
pub fn generation_of(change: &RowChange) -> Option<&str> {
    let column = match &*change.table {
        "generations" => "id",
        "artifacts" => "generation_id",
        "tags" => "target_id",
        _ => return None,
    };
    let (now, was) = (after(change, column), before(change, column));
    Some(if now.is_empty() { was } else { now })
}

/// The body as JSON; `null` when it is none.
pub fn json(body: &Body) -> Json {
    body.read().unwrap_or_default()
}

/// What each client authorizes itself with.
const CLIENTS: [(&str, &str); 2] = [("Bearer key-of-ann", "ann"), ("Bearer key-of-ben", "ben")];

/// The client that sends a request; none if it has no key, or one that no client has.
pub fn client_of(request: &Request) -> Option<&'static str> {
    let sent = request.headers.get("authorization")?;
    CLIENTS.iter().find(|(key, _)| *key == sent).map(|(_, client)| *client)
}

/// A request for a generation that was answered with an id.
#[derive(Debug)]
pub struct Given {
    pub client: Option<&'static str>,
    pub event: usize,
    pub at: Time,
    pub id: String,
    pub wanted: Json,
}

/// Every id that was given, in order.
pub fn given<'b>(trace: &'b Reading<'_>) -> &'b [Given] {
    trace.generations.given.get_or_init(|| read_given(trace.trace))
}

fn read_given(trace: &Trace) -> Vec<Given> {
    let asked = |request: &Request| &*request.path == "/generations";
    let answered = served(trace, WEB)
        .filter(|(_, request, response)| asked(request) && response.status == 201);
    let given = answered.map(|(event, request, response)| {
        let id = json(&response.body)["id"].as_str().unwrap_or_default().to_string();
        let (client, at) = (client_of(request), trace.events()[event].at);
        Given { client, event, at, id, wanted: json(&request.body) }
    });
    given.collect()
}
