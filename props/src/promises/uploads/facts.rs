//! What happened to the image pipeline, read from a trace. Only this file knows how the trace is laid out.

use std::rc::Rc;
use std::sync::Arc;

use thunderhead_sim::ai::Label;
use thunderhead_sim::queue::{self, Fate, MessageBody, MessageId};
use thunderhead_sim::r2::{self, Object};
use thunderhead_sim::sqlite::RowChange;
use thunderhead_sim::{
    Body, Error, EventKind, Op, Outcome, Reply, Request, Response, SortedMap, Trace, workflow,
};

use super::contents::event_id;
use crate::promises::Reading;

/// The worker that answers members of organisations.
const WEB: &str = "web";
/// The bucket of the pipeline.
const BUCKET: &str = "images";
/// The worker that stands for a user's browser.
const BROWSER: &str = "browser";
/// The prefix of the name of an organisation's agent.
const AGENT: &str = "ORGANIZATION:";
/// The prefix of the name of a workflow instance's host.
const WORKFLOW: &str = "OrganizationWorkflow/";
/// The object that has the list of rejected messages.
const OPERATOR: &str = "OPERATOR:uploads";

/// Something that happened to the pipeline.
#[derive(Clone, Debug)]
pub enum Fact<'a> {
    /// R2 holds other bytes under a key; their event.
    Stored(&'a Arc<Object>, Rc<str>),
    /// R2 holds nothing under these keys.
    Removed(&'a [Arc<str>]),
    /// The bytes of an object were read, all of them; their event.
    Read(&'a Object, Rc<str>, &'a Body),
    /// R2 has answered, by this call, what it holds under a key: the bytes of this event, or nothing.
    Looked(u32, &'a str, Option<Rc<str>>),
    /// R2 has told an agent that it cannot say what it holds under a key.
    Unanswered(&'a str),
    /// An agent has R2's answer to this call and goes on with it: it does not ask R2 again, and lives.
    Believed(u32),
    /// R2 sends a notification about a key to the queue, by this call.
    Tells(u32, &'a str),
    /// The notification of this call has become a message of the queue.
    Told(u32, MessageId),
    /// A message was sent to a queue, by another sender than R2.
    Sent(&'a str, MessageId, &'a MessageBody),
    /// A consumer begins with a message.
    Delivered(MessageId),
    /// The queue has decided about a message.
    Settled(MessageId, &'a Fate),
    /// `create` was answered: the id, the parameters, whether there is a new instance, and whether it was
    /// refused because there is an old one.
    Create { id: &'a str, params: &'a Body, made: bool, duplicate: bool },
    /// There is an instance of this id.
    Exists(&'a str),
    /// An instance has ended: how, in the platform's word.
    Ended(&'a str, &'static str),
    /// A life of an instance begins.
    Runs(&'a str),
    /// The model refuses a picture, and always will.
    Refused(&'a Body),
    /// The model has looked at a picture.
    Labelled(&'a Body, &'a [Label]),
    /// Rows of an organisation's agent have changed, as one.
    Rows(&'a str, &'a [RowChange]),
    /// An agent sends a message to a client.
    Pushed(&'a str, &'a Body),
    /// Messages were rejected.
    Rejected(&'a [RowChange]),
    /// A workflow asks its agent about bytes that it did not find.
    Gone,
    /// The worker that answers members begins with a request.
    Asked(u32, &'a Request),
    /// A worker has answered.
    Answered(u32, &'a Response),
    /// The browser asks for something.
    Fetches(u32, &'a Request),
    /// The browser has an answer.
    Fetched(u32, &'a Response),
    /// The browser is connected to the agent of an organisation.
    Connected(&'a str),
    /// The browser is closed.
    Closed,
}

/// What happened, with its place in the trace.
pub fn facts<'a>(trace: &Reading<'a>) -> impl Iterator<Item = (usize, Fact<'a>)> {
    trace.uploads.facts.get_or_init(|| read(trace.trace).collect()).iter().cloned()
}

fn read(trace: &Trace) -> impl Iterator<Item = (usize, Fact<'_>)> {
    // A reply names only its call, so what the browser asked is remembered by call.
    let mut connecting: Vec<(u32, &str)> = Vec::new();
    let mut known = Events::default();
    trace.events().iter().enumerate().filter_map(move |(at, event)| {
        let actor = trace.actor(event);
        let fact = match &event.kind {
            EventKind::Effect { call, outcome } => {
                effect(&mut known, *call, trace.op(*call), trace.outcome(*outcome))
            }
            EventKind::Call { call } => match trace.op(*call) {
                Op::Notify { event, .. } => Some(Fact::Tells(*call, &event.object.key)),
                Op::Fetch { request, .. } if actor == BROWSER => {
                    Some(Fact::Fetches(*call, request))
                }
                Op::Push { message, .. } => actor
                    .strip_prefix(AGENT)
                    .map(|organisation| Fact::Pushed(organisation, message)),
                Op::Connect { object } if actor == BROWSER => {
                    connecting.push((*call, object.strip_prefix(AGENT).unwrap_or(object)));
                    None
                }
                _ => None,
            },
            EventKind::Begin { call } => match trace.op(*call) {
                Op::Fetch { to, request } if &**to == WEB => Some(Fact::Asked(*call, request)),
                Op::Rpc { method, .. } if &**method == "onImageGone" => Some(Fact::Gone),
                _ => None,
            },
            EventKind::End { call, outcome } => match trace.outcome(*outcome) {
                Ok(Reply::Fetch(response)) => Some(Fact::Answered(*call, response)),
                _ => None,
            },
            EventKind::Return { call, outcome } if actor.starts_with(AGENT) => {
                match (trace.op(*call), trace.outcome(*outcome)) {
                    (Op::R2(r2::Op::Head { .. }), Ok(_)) => {
                        goes_on(trace, at).then_some(Fact::Believed(*call))
                    }
                    (Op::R2(r2::Op::Head { key, .. }), Err(_)) => Some(Fact::Unanswered(key)),
                    _ => None,
                }
            }
            EventKind::Return { call, outcome } if actor == BROWSER => {
                match trace.outcome(*outcome) {
                    Ok(Reply::Fetch(response)) => Some(Fact::Fetched(*call, response)),
                    Ok(Reply::Socket(_)) => {
                        let of = connecting.iter().find(|(connect, _)| connect == call);
                        of.map(|(_, organisation)| Fact::Connected(organisation))
                    }
                    _ => None,
                }
            }
            EventKind::Settle { message, fate, .. } => Some(Fact::Settled(*message, fate)),
            EventKind::Rows { changes } if actor == OPERATOR => Some(Fact::Rejected(changes)),
            EventKind::Rows { changes } => {
                actor.strip_prefix(AGENT).map(|organisation| Fact::Rows(organisation, changes))
            }
            EventKind::Boot { .. } => actor.strip_prefix(WORKFLOW).map(Fact::Runs),
            EventKind::Crash { .. } if actor == BROWSER => Some(Fact::Closed),
            _ => None,
        };
        fact.map(|fact| (at, fact))
    })
}

fn is_head(op: &Op) -> bool {
    matches!(op, Op::R2(r2::Op::Head { .. }))
}

/// Whether a host goes on after the answer at this place with something else than another question to R2, or its end.
fn goes_on(trace: &Trace, at: usize) -> bool {
    let events = trace.events();
    let next = events[at + 1..].iter().find(|event| event.actor == events[at].actor);
    next.is_some_and(|event| match &event.kind {
        EventKind::Call { call } => !is_head(trace.op(*call)),
        EventKind::Rows { .. } | EventKind::End { .. } => true,
        _ => false,
    })
}

/// Every message whose delivery begins, with its place in the trace.
pub fn deliveries(trace: &Trace) -> impl Iterator<Item = (usize, Fact<'_>)> {
    trace.events().iter().enumerate().flat_map(|(at, event)| {
        let batch = match &event.kind {
            EventKind::Begin { call } => match trace.op(*call) {
                Op::Deliver { batch, .. } => &batch.messages[..],
                _ => &[],
            },
            _ => &[],
        };
        batch.iter().map(move |message| (at, Fact::Delivered(message.id)))
    })
}

fn effect<'a>(
    known: &mut Events<'a>,
    call: u32,
    op: &'a Op,
    outcome: &'a Outcome,
) -> Option<Fact<'a>> {
    match (op, outcome) {
        (Op::R2(op), Ok(Reply::R2(reply))) if op.bucket() == BUCKET => {
            bucket(known, call, op, reply)
        }
        (Op::Notify { .. }, Ok(Reply::Queue(queue::Reply::Sent { id, .. }))) => {
            Some(Fact::Told(call, *id))
        }
        (
            Op::Queue(queue::Op::Send { queue, message }),
            Ok(Reply::Queue(queue::Reply::Sent { id, .. })),
        ) => Some(Fact::Sent(queue, *id, &message.body)),
        (Op::Workflow(workflow::Op::Create { options, .. }), outcome) => Some(Fact::Create {
            id: options.id.as_deref()?,
            params: options.params.as_ref()?,
            made: outcome.is_ok(),
            duplicate: matches!(outcome, Err(Error::Workflow(error)) if error.is_already_exists()),
        }),
        (Op::Workflow(workflow::Op::Finish { engine, result }), Ok(_)) => {
            let how = if result.is_ok() { "complete" } else { "errored" };
            Some(Fact::Ended(&engine.id, how))
        }
        (Op::Workflow(workflow::Op::Terminate { id, .. }), Ok(_)) => {
            Some(Fact::Ended(id, "terminated"))
        }
        (Op::Workflow(op), Ok(_)) if op.engine().is_none() => op.instance().map(Fact::Exists),
        (Op::Ai(op), Err(Error::Ai(error))) if !error.is_transient() => {
            Some(Fact::Refused(&op.image))
        }
        (Op::Ai(op), Ok(Reply::Ai(labels))) => Some(Fact::Labelled(&op.image, labels)),
        _ => None,
    }
}

/// The events of what R2 has held, by key and ETag: most objects are heard of more than once.
type Events<'a> = SortedMap<(&'a str, &'a str), Rc<str>>;

fn event_of<'a>(known: &mut Events<'a>, object: &'a Object) -> Rc<str> {
    let (key, etag) = (&*object.key, &*object.etag);
    Rc::clone(known.entry((key, etag)).or_insert_with(|| event_id(key, etag).into()))
}

fn bucket<'a>(
    known: &mut Events<'a>,
    call: u32,
    op: &'a r2::Op,
    reply: &'a r2::Reply,
) -> Option<Fact<'a>> {
    let mut event_of = |object: &'a Object| event_of(known, object);
    match (op, reply) {
        (r2::Op::Head { key, .. }, r2::Reply::Object(object)) => {
            Some(Fact::Looked(call, key, Some(event_of(object))))
        }
        (r2::Op::Head { key, .. }, _) => Some(Fact::Looked(call, key, None)),
        (_, r2::Reply::Stored(object)) => Some(Fact::Stored(object, event_of(object))),
        (_, r2::Reply::ObjectBody { object, range, body }) => {
            (range.length == object.size).then(|| Fact::Read(object, event_of(object), body))
        }
        (r2::Op::Delete { .. } | r2::Op::LifecycleDelete { .. }, r2::Reply::Deleted) => {
            Some(Fact::Removed(op.keys()))
        }
        _ => None,
    }
}
