//! What can be asked at the doorway: one [`Op`] for every crossing between application and platform.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::protocol::error::Error;
use crate::protocol::fault::CallClass;
use crate::protocol::http::Request;
use crate::protocol::object::{AlarmInfo, ObjectError};
use crate::protocol::site::OpCode;
use crate::services::ai;
use crate::services::d1;
use crate::services::queue;
use crate::services::r2;
use crate::services::workflow;
use crate::values::body::Body;

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
        /// The worker.
        to: SmolStr,
        /// The request.
        request: Request,
    },
    /// A queue hands a batch to its consumer.
    Deliver {
        /// The worker.
        to: Arc<str>,
        /// The batch.
        batch: queue::Batch,
    },
    /// A call to a durable object.
    Rpc {
        /// The object, as its host is called.
        object: Arc<str>,
        /// The method.
        method: Arc<str>,
        /// Its arguments.
        args: Body,
    },
    /// An object's alarm goes off.
    Alarm {
        /// The object.
        object: Arc<str>,
        /// What the handler is told.
        info: AlarmInfo,
    },
    /// A client connects to an object.
    Connect {
        /// The object.
        object: Arc<str>,
    },
    /// A client sends something to an object it is connected to.
    SocketMessage {
        /// The object.
        object: Arc<str>,
        /// The connection.
        socket: u32,
        /// What it sends.
        message: Body,
    },
    /// An object sends something to a client.
    Push {
        /// The connection.
        socket: u32,
        /// What it sends.
        message: Body,
    },
    /// A bucket tells a queue what happened to an object.
    Notify {
        /// The queue.
        queue: Arc<str>,
        /// What happened.
        event: r2::Notification,
    },
}

impl Op {
    /// The name of this kind of call.
    pub fn code(&self) -> OpCode {
        match self {
            Op::R2(op) => match op.name() {
                "abortMultipartUpload" => const { OpCode::of("r2.abortMultipartUpload") },
                "completeMultipartUpload" => const { OpCode::of("r2.completeMultipartUpload") },
                "copy" => const { OpCode::of("r2.copy") },
                "createMultipartUpload" => const { OpCode::of("r2.createMultipartUpload") },
                "delete" => const { OpCode::of("r2.delete") },
                "get" => const { OpCode::of("r2.get") },
                "head" => const { OpCode::of("r2.head") },
                "lifecycleDelete" => const { OpCode::of("r2.lifecycleDelete") },
                "list" => const { OpCode::of("r2.list") },
                "put" => const { OpCode::of("r2.put") },
                "uploadPart" => const { OpCode::of("r2.uploadPart") },
                other => unreachable!("r2 has no {other}"),
            },
            Op::Queue(op) => match op.name() {
                "metrics" => const { OpCode::of("queue.metrics") },
                "send" => const { OpCode::of("queue.send") },
                "sendBatch" => const { OpCode::of("queue.sendBatch") },
                other => unreachable!("queues have no {other}"),
            },
            Op::Ai(_) => const { OpCode::of("ai.run") },
            Op::D1(op) => match op.name() {
                "all" => const { OpCode::of("d1.all") },
                "batch" => const { OpCode::of("d1.batch") },
                "dump" => const { OpCode::of("d1.dump") },
                "exec" => const { OpCode::of("d1.exec") },
                "first" => const { OpCode::of("d1.first") },
                "raw" => const { OpCode::of("d1.raw") },
                "run" => const { OpCode::of("d1.run") },
                other => unreachable!("databases have no {other}"),
            },
            Op::Workflow(op) => match op.name() {
                "begin" => const { OpCode::of("workflow.begin") },
                "beginStep" => const { OpCode::of("workflow.beginStep") },
                "create" => const { OpCode::of("workflow.create") },
                "createBatch" => const { OpCode::of("workflow.createBatch") },
                "delete" => const { OpCode::of("workflow.delete") },
                "evict" => const { OpCode::of("workflow.evict") },
                "finish" => const { OpCode::of("workflow.finish") },
                "finishStep" => const { OpCode::of("workflow.finishStep") },
                "get" => const { OpCode::of("workflow.get") },
                "pause" => const { OpCode::of("workflow.pause") },
                "restart" => const { OpCode::of("workflow.restart") },
                "resume" => const { OpCode::of("workflow.resume") },
                "sendEvent" => const { OpCode::of("workflow.sendEvent") },
                "sleep" => const { OpCode::of("workflow.sleep") },
                "sleepUntil" => const { OpCode::of("workflow.sleepUntil") },
                "status" => const { OpCode::of("workflow.status") },
                "terminate" => const { OpCode::of("workflow.terminate") },
                "waitForEvent" => const { OpCode::of("workflow.waitForEvent") },
                other => unreachable!("workflows have no {other}"),
            },
            Op::Fetch { .. } => const { OpCode::of("fetch") },
            Op::Deliver { .. } => const { OpCode::of("queue.deliver") },
            Op::Notify { .. } => const { OpCode::of("r2.notify") },
            Op::Rpc { .. } => const { OpCode::of("object.rpc") },
            Op::Alarm { .. } => const { OpCode::of("object.alarm") },
            Op::Connect { .. } => const { OpCode::of("object.connect") },
            Op::SocketMessage { .. } => const { OpCode::of("object.message") },
            Op::Push { .. } => const { OpCode::of("object.push") },
        }
    }

    /// The sort of crossing it is.
    pub fn class(&self) -> CallClass {
        match self {
            Op::D1(op) if op.may_lag() => CallClass::Read,
            Op::R2(_) | Op::Queue(_) | Op::D1(_) => CallClass::Service,
            Op::Ai(_) => CallClass::Ai,
            Op::Workflow(op) if op.engine().is_some() => CallClass::Journal,
            Op::Workflow(op) if !workflow::Anomaly::of(op).is_empty() => CallClass::Create,
            Op::Workflow(_) => CallClass::Service,
            Op::Fetch { .. } => CallClass::Fetch,
            Op::Deliver { .. } | Op::Alarm { .. } => CallClass::Delivery,
            Op::Notify { .. } => CallClass::Event,
            Op::Rpc { .. } | Op::Connect { .. } => CallClass::Rpc,
            Op::SocketMessage { .. } | Op::Push { .. } => CallClass::Socket,
        }
    }

    /// The transient errors that the platform may answer it with.
    pub fn refusals(&self) -> Vec<Error> {
        match self {
            Op::R2(op) => {
                let codes = r2::transient_errors(op).iter();
                codes.map(|code| Error::R2(r2::Error::for_op(op, *code))).collect()
            }
            Op::Queue(_) => {
                let codes = queue::transient_errors().iter();
                codes.map(|code| Error::Queue(queue::Error::service(*code))).collect()
            }
            Op::Ai(_) => {
                let codes = ai::transient_errors().iter();
                codes.map(|code| Error::Ai(ai::Error::service(*code))).collect()
            }
            Op::D1(op) => {
                let errors = d1::transient_errors(op).iter();
                errors.map(|error| Error::D1(d1::Error::Transient(*error))).collect()
            }
            Op::Workflow(op) => {
                let codes = workflow::transient_errors(op).iter();
                codes.map(|code| Error::Workflow(workflow::Error::service(*code))).collect()
            }
            Op::Rpc { .. } | Op::Connect { .. } => {
                ObjectError::refusals().map(Error::Object).into()
            }
            _ => Vec::new(),
        }
    }

    /// The platform's error of that code, if this call's service has one; `docs/platform.md` lists them.
    pub fn refusal(&self, code: u32) -> Option<Error> {
        match self {
            Op::R2(op) => {
                let code = r2::Code::from_number(code)?;
                Some(Error::R2(r2::Error::for_op(op, code)))
            }
            Op::Queue(_) => {
                let known = queue::transient_errors().contains(&code);
                known.then(|| Error::Queue(queue::Error::service(code)))
            }
            Op::Ai(_) => {
                let known = ai::documented_errors().any(|known| known == code);
                known.then(|| Error::Ai(ai::Error::service(code)))
            }
            Op::Workflow(_) => {
                let known = workflow::CREATE_ERRORS.contains(&code);
                known.then(|| Error::Workflow(workflow::Error::service(code)))
            }
            // These have no numbers of their own: it is which one of their list.
            Op::D1(_) | Op::Rpc { .. } | Op::Connect { .. } => {
                let at = usize::try_from(code).ok()?.checked_sub(1)?;
                self.refusals().into_iter().nth(at)
            }
            _ => None,
        }
    }

    /// What it is about, as filters see it: `photos/cat.jpg`, `uploads`, `web/cat.jpg`.
    pub fn target(&self) -> String {
        match self {
            Op::R2(op) => match op.key() {
                Some(key) => format!("{}/{key}", op.bucket()),
                None => op.bucket().to_string(),
            },
            Op::Queue(op) => op.queue().to_string(),
            Op::Ai(op) => op.model.to_string(),
            Op::D1(op) => op.database().to_string(),
            Op::Workflow(op) => match op.instance() {
                Some(id) => format!("{}/{id}", op.workflow()),
                None => op.workflow().to_string(),
            },
            Op::Fetch { to, request } => format!("{to}{}", request.path),
            Op::Deliver { batch, .. } => batch.queue.to_string(),
            Op::Notify { event, .. } => format!("{}/{}", event.bucket, event.object.key),
            Op::Rpc { object, method, .. } => format!("{object}/{method}"),
            Op::Alarm { object, .. }
            | Op::Connect { object }
            | Op::SocketMessage { object, .. } => object.to_string(),
            Op::Push { socket, .. } => format!("socket {socket}"),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::R2(op) => write!(f, "r2.{op}"),
            Op::Queue(op) => write!(f, "queue.{op}"),
            Op::Ai(op) => write!(f, "ai.{op}"),
            Op::D1(op) => write!(f, "d1.{op}"),
            Op::Workflow(op) => write!(f, "workflow.{op}"),
            Op::Fetch { to, request } => write!(f, "fetch {to} {request}"),
            Op::Deliver { to, batch } => write!(f, "queue.deliver {batch} to {to}"),
            Op::Rpc { object, method, args } if args.is_empty() => {
                write!(f, "object.rpc {object} {method}")
            }
            Op::Rpc { object, method, args } => write!(f, "object.rpc {object} {method} {args}"),
            Op::Alarm { object, info } if info.is_retry() => {
                write!(f, "object.alarm {object} retry {}", info.retry_count)
            }
            Op::Alarm { object, .. } => write!(f, "object.alarm {object}"),
            Op::Connect { object } => write!(f, "object.connect {object}"),
            Op::SocketMessage { object, socket, message } => {
                write!(f, "object.message {object} socket {socket} {message}")
            }
            Op::Push { socket, message } => write!(f, "object.push socket {socket} {message}"),
            Op::Notify { queue, event } => {
                write!(f, "r2.notify {queue} {} {}", event.action.name(), event.object.key)?;
                match &event.object.e_tag {
                    Some(etag) => write!(f, " etag={}", &etag[..etag.len().min(8)]),
                    None => Ok(()),
                }
            }
        }
    }
}
