//! What a caller is told when a workflow will not do as it is asked, and why an engine must stop.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::config::{MAX_BATCH_INSTANCES, Options};
use super::op::Op;

/// Why an operation on a workflow failed.
///
/// ```
/// use thunderhead_sim::workflow::{AlreadyExists, Error};
///
/// let error = Error::already_exists("a", AlreadyExists::Production, false);
/// assert_eq!(error.to_string(), "(instance.already_exists) Instance already exists");
/// assert!(error.is_already_exists() && !error.is_transient());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Error {
    /// The platform refused, in these words.
    Refused {
        /// What for, so that a program need not read the words.
        code: Code,
        /// The exact text.
        message: Arc<str>,
    },
    /// The service failed and may not fail again; the code is the one its API uses.
    Service(u32),
    /// The engine that asks has no say any more: its body must be dropped where it stands.
    Aborted(Abort),
}

/// What a refusal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Code {
    /// The id belongs to an instance that has not passed its retention.
    AlreadyExists,
    /// There is no such instance.
    NotFound,
    /// There is no such workflow.
    WorkflowNotFound,
    /// The id is empty, too long, or has characters that an id may not have.
    InvalidId,
    /// The instance has ended already.
    CannotTerminate,
    /// The step to restart from was never reached.
    CannotRestart,
    /// The instance is running already.
    CannotResume,
    /// The instance has ended and takes no events.
    CannotSendEvent,
    /// The type is empty, too long, or has characters that a type may not have.
    InvalidEventType,
    /// A batch without instances.
    EmptyBatch,
    /// A batch of more instances than one call may create.
    BatchTooLarge,
    /// Parameters or a payload of more than 1 MiB.
    TooLarge,
}

/// How the error of a duplicate id is worded.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub enum AlreadyExists {
    /// `(instance.already_exists) Instance already exists`: reported from production.
    #[default]
    Production,
    /// `(instance.already_exists) Workflow instance with id "a" already exists`: the emulator's.
    WithId,
    /// `workflows.api.error.instance.already_exists`: the form of the API, whose code is 10405.
    Api,
}

impl AlreadyExists {
    /// Every wording that is known.
    pub const ALL: [AlreadyExists; 3] =
        [AlreadyExists::Production, AlreadyExists::WithId, AlreadyExists::Api];
}

/// The API's code for an id that exists.
pub const API_ALREADY_EXISTS: u32 = 10405;
/// The API's code for an id that a batch names twice.
pub const API_DUPLICATE_IN_BATCH: u32 = 10415;
const INTERNAL_SERVER: u32 = 10001;
const TOO_MANY_REQUESTS: u32 = 429;
/// What a storm may answer to a `create`; to other calls, only the first.
pub const CREATE_ERRORS: [u32; 2] = [INTERNAL_SERVER, TOO_MANY_REQUESTS];

/// The codes that an application may meet on a bad day and should survive by asking again.
///
/// What an engine asks about its own steps stays within the platform and fails only by a crash.
pub fn transient_errors(op: &Op) -> &'static [u32] {
    match op {
        Op::Create { .. } | Op::CreateBatch { .. } => &CREATE_ERRORS,
        op if op.engine().is_some() => &[],
        _ => &[INTERNAL_SERVER],
    }
}

impl Error {
    /// The service's failure with this code.
    pub fn service(code: u32) -> Error {
        Error::Service(code)
    }

    /// The error of a duplicate id, in one of its wordings, with or without `WorkflowError: `.
    pub fn already_exists(id: &str, wording: AlreadyExists, prefix: bool) -> Error {
        let text = match wording {
            AlreadyExists::Production => {
                "(instance.already_exists) Instance already exists".to_owned()
            }
            AlreadyExists::WithId => format!(
                "(instance.already_exists) Workflow instance with id \"{id}\" already exists"
            ),
            AlreadyExists::Api => "workflows.api.error.instance.already_exists".to_owned(),
        };
        Error::worded(Code::AlreadyExists, &text, prefix)
    }

    /// The refusal of `code`, as a workflow with these options words it.
    pub(super) fn refused(code: Code, about: &str, options: Options) -> Error {
        let text = match code {
            Code::AlreadyExists => {
                let (wording, prefix) = (options.already_exists, options.miniflare_error_prefix);
                return Error::already_exists(about, wording, prefix);
            }
            Code::NotFound => "(instance.not_found) Instance does not exist".to_owned(),
            Code::WorkflowNotFound => "workflow.not_found".to_owned(),
            Code::InvalidId => "Workflow instance has invalid id".to_owned(),
            Code::CannotTerminate => "(instance.cannot_terminate) Cannot terminate instance \
                                      since its on a finite state"
                .to_owned(),
            Code::CannotRestart => {
                format!("(instance.cannot_restart) Step \"{about}\" not found in execution history")
            }
            Code::CannotResume => {
                "(instance.cannot_resume) Cannot resume instance since it is running".to_owned()
            }
            Code::CannotSendEvent => "(instance.cannot_send_event) Cannot send event to instance \
                                      since it is not running"
                .to_owned(),
            Code::InvalidEventType => format!("Event type {about:?} is invalid"),
            Code::EmptyBatch => "batchCreate should have at least 1 instance".to_owned(),
            Code::BatchTooLarge if options.miniflare_error_prefix => {
                format!("batchCreate only supports {MAX_BATCH_INSTANCES} instances at a time")
            }
            Code::BatchTooLarge => {
                format!("batchCreate should have at most {MAX_BATCH_INSTANCES} instances")
            }
            Code::TooLarge => format!("{about} is too large. Maximum allowed size is 1MiB."),
        };
        Error::worded(code, &text, options.miniflare_error_prefix)
    }

    /// What `get` says of an unknown id: the bare code, from every runtime that was asked.
    pub(super) fn get_unknown() -> Error {
        Error::worded(Code::NotFound, "instance.not_found", false)
    }

    fn worded(code: Code, text: &str, prefix: bool) -> Error {
        let message = if prefix { format!("WorkflowError: {text}").into() } else { text.into() };
        Error::Refused { code, message }
    }

    /// What a refusal is about.
    pub fn code(&self) -> Option<Code> {
        match self {
            Error::Refused { code, .. } => Some(*code),
            Error::Service(_) | Error::Aborted(_) => None,
        }
    }

    /// What `error.name` would say.
    pub fn name(&self) -> &'static str {
        "Error"
    }

    /// Whether this is the error of a duplicate id, in any wording: a program that compares the
    /// whole text breaks with the next runtime.
    pub fn is_already_exists(&self) -> bool {
        self.to_string().contains("instance.already_exists")
    }

    /// Whether there is no such instance, in any wording.
    pub fn is_not_found(&self) -> bool {
        self.to_string().contains("instance.not_found")
    }

    /// Whether the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Error::Service(INTERNAL_SERVER | TOO_MANY_REQUESTS))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused { message, .. } => f.write_str(message),
            Error::Service(TOO_MANY_REQUESTS) => f.write_str("Too many requests (429)"),
            Error::Service(code) => write!(f, "workflows.api.error.internal_server ({code})"),
            Error::Aborted(abort) => abort.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

/// Why an engine must stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Abort {
    /// The instance is paused.
    Pause,
    /// The instance begins again from the start, or from a step.
    Restart,
    /// The instance is over by decree.
    Terminate,
    /// The instance and all it stored are gone.
    Delete,
    /// The body has returned or thrown already; steps that it left running cannot report.
    Finished,
    /// This engine was given up for dead, and a newer one runs the body.
    Superseded,
}

impl fmt::Display for Abort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Abort::Pause => "Aborting engine: User called pause",
            Abort::Restart => "Aborting engine: User called restart",
            Abort::Terminate => "Aborting engine: User called terminate",
            Abort::Delete => "Aborting engine: User called delete",
            Abort::Finished => "Aborting engine: Instance has finished",
            Abort::Superseded => "Aborting engine: Superseded by a newer engine",
        })
    }
}
