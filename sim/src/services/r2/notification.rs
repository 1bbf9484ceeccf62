//! Event notifications: the message a queue receives when an object changes.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Date, EventType};
use crate::values::body::Body;
use crate::values::printable::printable;

/// The body of a notification message.
///
/// It names no version and has no sequence number: a consumer that reads the object sees the
/// current one, which may be newer, or gone.
///
/// ```
/// use thunderhead_sim::{Body, r2::{Action, Notification}};
///
/// let message = Body::from(
///     r#"{"account":"a","action":"DeleteObject","bucket":"photos","object":{"key":"cat.jpg"},
///         "eventTime":"2024-05-24T19:36:44.379Z"}"#,
/// );
/// let event = Notification::parse(&message)?;
/// assert_eq!((event.action, &*event.object.key), (Action::DeleteObject, "cat.jpg"));
/// # Ok::<(), thunderhead_sim::r2::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "Wire")]
pub struct Notification {
    /// The account that owns the bucket.
    pub account: Arc<str>,
    /// The operation that caused the notification.
    pub action: Action,
    /// The bucket in which it happened.
    pub bucket: Arc<str>,
    /// The object to which it happened.
    pub object: NotificationObject,
    /// When it happened, to the millisecond; two events may share it.
    pub event_time: Date,
    /// Where the bytes came from, when they were copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_source: Option<CopySource>,
}

/// The object of a [`Notification`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NotificationObject {
    /// The name within the bucket.
    pub key: Arc<str>,
    /// How many bytes; absent when the object was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The ETag, without quotes; absent when the object was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub e_tag: Option<Arc<str>>,
}

/// The source of a copy.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CopySource {
    /// The bucket copied from.
    pub bucket: Arc<str>,
    /// The key copied from.
    pub object: Arc<str>,
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Action {
    /// A `put`.
    PutObject,
    /// A copy, through the S3 interface.
    CopyObject,
    /// The completion of a multipart upload.
    CompleteMultipartUpload,
    /// A `delete`.
    DeleteObject,
    /// A deletion by a lifecycle rule.
    LifecycleDeletion,
}

impl Action {
    /// The name in the message.
    pub const fn name(self) -> &'static str {
        match self {
            Action::PutObject => "PutObject",
            Action::CopyObject => "CopyObject",
            Action::CompleteMultipartUpload => "CompleteMultipartUpload",
            Action::DeleteObject => "DeleteObject",
            Action::LifecycleDeletion => "LifecycleDeletion",
        }
    }

    /// The event type under which rules list it.
    pub const fn event_type(self) -> EventType {
        match self {
            Action::PutObject | Action::CopyObject | Action::CompleteMultipartUpload => {
                EventType::ObjectCreate
            }
            Action::DeleteObject | Action::LifecycleDeletion => EventType::ObjectDelete,
        }
    }

    fn from_name(name: &str) -> Option<Action> {
        const ALL: [Action; 5] = [
            Action::PutObject,
            Action::CopyObject,
            Action::CompleteMultipartUpload,
            Action::DeleteObject,
            Action::LifecycleDeletion,
        ];
        ALL.into_iter().find(|action| action.name() == name)
    }
}

impl Notification {
    /// Reads a message body; fields it does not know are passed over.
    pub fn parse(body: &Body) -> Result<Notification, ParseError> {
        let wire: Wire =
            body.read().map_err(|error| ParseError::NotANotification(error.to_string()))?;
        wire.try_into()
    }

    /// The message body: JSON, field for field as documented.
    pub fn to_body(&self) -> Body {
        Body::from(serde_json::to_vec(self).expect("a notification has only string keys"))
    }
}

/// One line for a trace: `PutObject photos/cat.jpg etag=5d41402a…`.
impl fmt::Display for Notification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.object.key.escape_debug();
        write!(f, "{} {}/{key}", self.action.name(), printable(&self.bucket))?;
        let Some(etag) = &self.object.e_tag else { return Ok(()) };
        write!(f, " etag={}", printable(&super::Short(etag).to_string()))
    }
}

/// Why a message is not a notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// It is not JSON, or a field has the wrong type.
    NotANotification(String),
    /// A field is missing that this action has.
    MissingField(&'static str),
    /// No action has this name.
    UnknownAction(String),
    /// `eventTime` is no date.
    BadEventTime(String),
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an R2 event notification: ")?;
        match self {
            ParseError::NotANotification(reason) => f.write_str(beginning(reason)),
            ParseError::MissingField(field) => write!(f, "`{field}` is missing"),
            ParseError::UnknownAction(action) => {
                write!(f, "unknown action {:?}", beginning(action))
            }
            ParseError::BadEventTime(text) => {
                write!(f, "`eventTime` is no date: {:?}", beginning(text))
            }
        }
    }
}

/// As much of a text from outside as an objection quotes.
fn beginning(text: &str) -> &str {
    const QUOTED: usize = 200;
    text.char_indices().nth(QUOTED).map_or(text, |(end, _)| &text[..end])
}

impl std::error::Error for ParseError {}

/// The message before its fields are judged: everything may be missing, so that the error can say
/// what is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    account: Option<Arc<str>>,
    action: Option<String>,
    bucket: Option<Arc<str>>,
    object: Option<WireObject>,
    event_time: Option<String>,
    copy_source: Option<CopySource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireObject {
    key: Option<Arc<str>>,
    size: Option<u64>,
    e_tag: Option<Arc<str>>,
}

impl TryFrom<Wire> for Notification {
    type Error = ParseError;

    fn try_from(wire: Wire) -> Result<Notification, ParseError> {
        let missing = ParseError::MissingField;
        let action = wire.action.ok_or(missing("action"))?;
        let action = Action::from_name(&action).ok_or(ParseError::UnknownAction(action))?;
        let WireObject { key, size, e_tag } = wire.object.ok_or(missing("object"))?;
        if action.event_type() == EventType::ObjectCreate {
            size.ok_or(missing("object.size"))?;
            e_tag.as_ref().ok_or(missing("object.eTag"))?;
        }
        if action == Action::CopyObject {
            wire.copy_source.as_ref().ok_or(missing("copySource"))?;
        }
        let time = wire.event_time.ok_or(missing("eventTime"))?;
        Ok(Notification {
            account: wire.account.ok_or(missing("account"))?,
            action,
            bucket: wire.bucket.ok_or(missing("bucket"))?,
            object: NotificationObject { key: key.ok_or(missing("object.key"))?, size, e_tag },
            event_time: Date::parse_iso(&time).ok_or(ParseError::BadEventTime(time))?,
            copy_source: wire.copy_source,
        })
    }
}
