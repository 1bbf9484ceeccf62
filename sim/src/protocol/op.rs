//! What can be asked at the doorway: one [`Op`] for every crossing between application and platform.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::protocol::frame::Frame;
use crate::protocol::http::Request;
use crate::protocol::object::{AlarmInfo, ObjectError};
use crate::protocol::outcome::Error;
use crate::protocol::site::OpCode;
use crate::services::ai;
use crate::services::d1;
use crate::services::kv;
use crate::services::queue;
use crate::services::r2;
use crate::services::workflow;
use crate::values::body::Body;
use crate::values::call::{Call, CallClass};

/// Everything that can be asked at the doorway, as plain data.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[repr(u64)] // as in `body.rs`
pub enum Op {
    /// An operation on a bucket.
    R2(r2::Op),
    /// An operation on a queue, by a producer.
    Queue(queue::Op),
    /// A picture to classify.
    Ai(ai::Op),
    /// An operation on a database.
    D1(d1::Op),
    /// An operation on a workflow, by an application or by an engine about its own steps.
    Workflow(workflow::Op),
    /// A request to a worker.
    Fetch {
        /// The name of the worker.
        to: SmolStr,
        /// The request that the worker handles.
        request: Request,
    },
    /// A queue hands a batch to its consumer.
    Deliver {
        /// The name of the worker.
        to: Arc<str>,
        /// The messages that it is handed.
        batch: queue::Batch,
    },
    /// A call to a durable object.
    Rpc {
        /// The object, as its host is called.
        object: Arc<str>,
        /// The name of the method.
        method: Arc<str>,
        /// The arguments of the method.
        args: Body,
    },
    /// An object's alarm goes off.
    Alarm {
        /// The name of the object's host.
        object: Arc<str>,
        /// What the handler is told.
        info: AlarmInfo,
    },
    /// A client connects to an object.
    Connect {
        /// The name of the object's host.
        object: Arc<str>,
    },
    /// A client sends something to an object it is connected to.
    SocketMessage {
        /// The name of the object's host.
        object: Arc<str>,
        /// The number of the connection.
        socket: u32,
        /// What it sends.
        message: Body,
    },
    /// An object sends something to a client.
    Push {
        /// The number of the connection.
        socket: u32,
        /// What it sends.
        message: Body,
    },
    /// A bucket tells a queue what happened to an object.
    Notify {
        /// The name of the queue.
        queue: Arc<str>,
        /// The notification that the queue receives.
        event: r2::Notification,
    },
    /// An operation on a namespace of KV.
    Kv(kv::Op),
    /// Something travels on a WebSocket, or a part of a body that is streamed.
    Frame {
        /// The number of the end that it goes to. The ends 0 and 1 are those of the first connection, and so on.
        end: u32,
        /// What travels.
        frame: Frame,
    },
}

const FETCH: Call = Call { id: 9, name: "fetch", codes: &[] };
const ALARM: Call = Call { id: 10, name: "object.alarm", codes: &[] };
const CONNECT: Call = Call { id: 11, name: "object.connect", codes: ObjectError::REFUSALS };
const MESSAGE: Call = Call { id: 12, name: "object.message", codes: &[] };
const PUSH: Call = Call { id: 13, name: "object.push", codes: &[] };
const RPC: Call = Call { id: 14, name: "object.rpc", codes: ObjectError::REFUSALS };
const DELIVER: Call = Call { id: 15, name: "queue.deliver", codes: &[] };
const FRAME: Call = Call { id: 54, name: "socket.message", codes: &[] };
const CLOSE: Call = Call { id: 55, name: "socket.close", codes: &[] };
const PART: Call = Call { id: 56, name: "stream.part", codes: &[] };
const STREAM_END: Call = Call { id: 57, name: "stream.end", codes: &[] };
const CANCEL: Call = Call { id: 58, name: "stream.cancel", codes: &[] };
const NOTIFY: Call = Call { id: 28, name: "r2.notify", codes: &[] };

/// Every kind of call. A service brings its own.
pub(crate) const CALLS: &[&[Call]] = &[
    ai::CALLS,
    d1::CALLS,
    kv::CALLS,
    queue::CALLS,
    r2::CALLS,
    workflow::CALLS,
    &[FETCH, ALARM, CONNECT, MESSAGE, PUSH, RPC, DELIVER, NOTIFY, FRAME, CLOSE],
    &[PART, STREAM_END, CANCEL],
];

impl Op {
    /// The kind of call that it is.
    pub fn code(&self) -> OpCode {
        OpCode::of(&match self {
            Op::R2(op) => op.call(),
            Op::Queue(op) => op.call(),
            Op::Ai(op) => op.call(),
            Op::D1(op) => op.call(),
            Op::Kv(op) => op.call(),
            Op::Workflow(op) => op.call(),
            Op::Fetch { .. } => FETCH,
            Op::Deliver { .. } => DELIVER,
            Op::Notify { .. } => NOTIFY,
            Op::Rpc { .. } => RPC,
            Op::Alarm { .. } => ALARM,
            Op::Connect { .. } => CONNECT,
            Op::SocketMessage { .. } => MESSAGE,
            Op::Push { .. } => PUSH,
            Op::Frame { frame, .. } => call_of(frame),
        })
    }

    /// The boundary that it crosses.
    pub fn class(&self) -> CallClass {
        match self {
            Op::R2(op) => op.class(),
            Op::Queue(op) => op.class(),
            Op::Ai(op) => op.class(),
            Op::D1(op) => op.class(),
            Op::Kv(op) => op.class(),
            Op::Workflow(op) => op.class(),
            Op::Fetch { .. } => CallClass::Fetch,
            Op::Deliver { .. } | Op::Alarm { .. } => CallClass::Delivery,
            Op::Notify { .. } => CallClass::Event,
            Op::Rpc { .. } | Op::Connect { .. } => CallClass::Rpc,
            Op::SocketMessage { .. } | Op::Push { .. } | Op::Frame { .. } => CallClass::Socket,
        }
    }

    /// The transient errors that the platform may answer with.
    pub fn refusals(&self) -> Vec<Error> {
        match self {
            Op::R2(op) => op.refusals().into_iter().map(Error::R2).collect(),
            Op::Queue(op) => op.refusals().into_iter().map(Error::Queue).collect(),
            Op::Ai(op) => op.refusals().into_iter().map(Error::Ai).collect(),
            Op::D1(op) => op.refusals().into_iter().map(Error::D1).collect(),
            Op::Kv(op) => op.refusals().into_iter().map(Error::Kv).collect(),
            Op::Workflow(op) => op.refusals().into_iter().map(Error::Workflow).collect(),
            Op::Rpc { .. } | Op::Connect { .. } => {
                ObjectError::refusals().map(Error::Object).into()
            }
            _ => Vec::new(),
        }
    }

    /// The platform's error of that code, if this call can fail with it; `docs/platform.md` lists them.
    pub fn refusal(&self, code: u32) -> Option<Error> {
        match self {
            Op::R2(op) => op.refusal(code).map(Error::R2),
            Op::Queue(op) => op.refusal(code).map(Error::Queue),
            Op::Ai(op) => op.refusal(code).map(Error::Ai),
            Op::D1(op) => op.refusal(code).map(Error::D1),
            Op::Kv(op) => op.refusal(code).map(Error::Kv),
            Op::Workflow(op) => op.refusal(code).map(Error::Workflow),
            // The errors of objects have no numbers: the code is a place in the list, from 1.
            Op::Rpc { .. } | Op::Connect { .. } => {
                let at = usize::try_from(code).ok()?.checked_sub(1)?;
                self.refusals().into_iter().nth(at)
            }
            _ => None,
        }
    }

    /// The body that it carries, if that may be a large one.
    pub(crate) fn body_mut(&mut self) -> Option<&mut Body> {
        match self {
            Op::Fetch { request, .. } => Some(&mut request.body),
            Op::R2(r2::Op::Put { body, .. } | r2::Op::UploadPart { body, .. }) => Some(body),
            Op::Ai(op) => Some(&mut op.image),
            _ => None,
        }
    }

    /// The connection between a client and an object that it is a message on.
    pub(crate) fn socket(&self) -> Option<u32> {
        match self {
            Op::SocketMessage { socket, .. } | Op::Push { socket, .. } => Some(*socket),
            _ => None,
        }
    }

    /// What it is about, as filters see it: `photos/cat.jpg`, `uploads`, `web/cat.jpg`.
    pub fn target(&self) -> String {
        match self {
            Op::R2(op) => op.target(),
            Op::Queue(op) => op.target(),
            Op::Ai(op) => op.target(),
            Op::D1(op) => op.target(),
            Op::Kv(op) => op.target(),
            Op::Workflow(op) => op.target(),
            Op::Fetch { to, request } => format!("{to}{}", request.path),
            Op::Deliver { batch, .. } => batch.queue.to_string(),
            Op::Notify { event, .. } => format!("{}/{}", event.bucket, event.object.key),
            Op::Rpc { object, method, .. } => format!("{object}/{method}"),
            Op::Alarm { object, .. }
            | Op::Connect { object }
            | Op::SocketMessage { object, .. } => object.to_string(),
            Op::Push { socket, .. } => format!("socket {socket}"),
            Op::Frame { end, frame } if frame.is_of_body() => format!("stream {}", end / 2),
            Op::Frame { end, .. } => format!("socket {}", end / 2),
        }
    }
}

fn call_of(frame: &Frame) -> Call {
    match frame {
        Frame::Text(_) | Frame::Binary(_) => FRAME,
        Frame::Close { .. } => CLOSE,
        Frame::Part(_) => PART,
        Frame::End | Frame::Broken => STREAM_END,
        Frame::Cancel { .. } => CANCEL,
    }
}

/// `{}` is a glance, in which long bodies are told by their size; `{:#}` shows them.
impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not by `write!`, which would forget whether everything is to be shown.
        let mut tell = |before: &str, rest: &dyn fmt::Display| {
            f.write_str(before)?;
            rest.fmt(f)
        };
        match self {
            Op::R2(op) => tell("r2.", op),
            Op::Queue(op) => tell("queue.", op),
            Op::Ai(op) => tell("ai.", op),
            Op::D1(op) => tell("d1.", op),
            Op::Kv(op) => tell("kv.", op),
            Op::Workflow(op) => tell("workflow.", op),
            Op::Fetch { to, request } => tell(&format!("fetch {to} "), request),
            Op::Deliver { to, batch } => {
                tell("queue.deliver ", batch)?;
                write!(f, " to {to}")
            }
            Op::Rpc { object, method, args } if args.is_empty() => {
                write!(f, "object.rpc {object} {method}")
            }
            Op::Rpc { object, method, args } => {
                tell(&format!("object.rpc {object} {method} "), args)
            }
            Op::Alarm { object, info } if info.is_retry() => {
                write!(f, "object.alarm {object} retry {}", info.retry_count)
            }
            Op::Alarm { object, .. } => write!(f, "object.alarm {object}"),
            Op::Connect { object } => write!(f, "object.connect {object}"),
            Op::SocketMessage { object, socket, message } => {
                tell(&format!("object.message {object} socket {socket} "), message)
            }
            Op::Push { socket, message } => tell(&format!("object.push socket {socket} "), message),
            Op::Frame { frame, .. } => {
                let space = if frame.is_bare() { "" } else { " " };
                tell(&format!("{} {}{space}", call_of(frame).name, self.target()), frame)
            }
            Op::Notify { queue, event } => {
                write!(f, "r2.notify {queue} {} {}", event.action.name(), event.object.key)?;
                match &event.object.e_tag {
                    Some(etag) if f.alternate() => write!(f, " etag={etag}"),
                    Some(etag) => write!(f, " etag={}", &etag[..etag.len().min(8)]),
                    None => Ok(()),
                }
            }
        }
    }
}
