//! Durable objects as the protocol names them: their ids, their errors, what an alarm is told.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::protocol::outcome::Error;
use crate::values::hex::hex;
use crate::values::time::Time;

/// Which object of a namespace. However they were made, two that print alike are the same.
#[derive(Clone, Debug)]
pub struct ObjectId {
    namespace: Arc<str>,
    origin: Origin,
    /// The name of its host: readable when it can be.
    host: Arc<str>,
}

/// What an id was made from. The digits of a name are computed on demand: most stubs are made
/// from names, and a digest takes longer than the call.
#[derive(Clone, Debug)]
enum Origin {
    Name(Arc<str>),
    Hex(Arc<str>),
}

impl ObjectId {
    fn new(namespace: &Arc<str>, origin: Origin) -> ObjectId {
        let told = match &origin {
            Origin::Name(name) => name,
            Origin::Hex(hex) => &hex[..8],
        };
        let host = [namespace, ":", told].concat().into();
        ObjectId { namespace: namespace.clone(), origin, host }
    }

    pub(crate) fn from_name(namespace: &Arc<str>, name: &str) -> ObjectId {
        ObjectId::new(namespace, Origin::Name(name.into()))
    }

    /// An id made from `text`, which no other call has been given.
    pub(crate) fn unique(namespace: &Arc<str>, text: &str) -> ObjectId {
        ObjectId::new(namespace, Origin::Hex(digest(namespace, "unique", text)))
    }

    /// Reads the 64 digits that an id prints as.
    pub(crate) fn from_hex(namespace: &Arc<str>, text: &str) -> Result<ObjectId, Error> {
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(Error::app("Invalid Durable Object ID: must be 64 hex digits"));
        }
        // The last quarter says which namespace the id belongs to.
        let hex = text.to_ascii_lowercase();
        if !hex.ends_with(&signature(namespace)) {
            return Err(Error::app("Durable Object ID is not valid for this namespace."));
        }
        Ok(ObjectId::new(namespace, Origin::Hex(hex.into())))
    }

    /// The name it was made from, if it was.
    pub fn name(&self) -> Option<&str> {
        match &self.origin {
            Origin::Name(name) => Some(name),
            Origin::Hex(_) => None,
        }
    }

    pub(crate) fn namespace(&self) -> &Arc<str> {
        &self.namespace
    }

    pub(crate) fn host(&self) -> &Arc<str> {
        &self.host
    }

    /// The 64 digits that it prints as.
    pub(crate) fn hex(&self) -> Arc<str> {
        match &self.origin {
            Origin::Name(name) => digest(&self.namespace, "name", name),
            Origin::Hex(hex) => hex.clone(),
        }
    }
}

impl PartialEq for ObjectId {
    fn eq(&self, other: &ObjectId) -> bool {
        match (&self.origin, &other.origin) {
            (Origin::Name(one), Origin::Name(two)) => {
                (&self.namespace, one) == (&other.namespace, two)
            }
            _ => self.hex() == other.hex(),
        }
    }
}

impl Eq for ObjectId {}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hex())
    }
}

/// The digits of an object; the last quarter is that of its namespace.
fn digest(namespace: &str, kind: &str, text: &str) -> Arc<str> {
    let digest = Sha256::digest(format!("{namespace}\0{kind}\0{text}"));
    format!("{}{}", &hex(&digest)[..48], signature(namespace)).into()
}

fn signature(namespace: &str) -> String {
    hex(&Sha256::digest(format!("namespace\0{namespace}")))[..16].to_string()
}

/// What an alarm handler is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AlarmInfo {
    /// The time it was set for.
    pub scheduled_time: Time,
    /// How often it has failed before.
    pub retry_count: u32,
}

impl AlarmInfo {
    /// Whether it has failed before.
    pub fn is_retry(self) -> bool {
        self.retry_count > 0
    }
}

/// The failure of a call to an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectError {
    /// The text of the error.
    pub message: Arc<str>,
    /// The object's own code threw it.
    pub remote: bool,
    /// Trying again may help; the call may have taken effect all the same.
    pub retryable: bool,
    /// Trying again would make it worse.
    pub overloaded: bool,
    /// The object was reset: its memory and the writes of its last turn are gone.
    pub durable_object_reset: bool,
}

impl ObjectError {
    pub(crate) fn new(message: impl Into<Arc<str>>) -> ObjectError {
        ObjectError {
            message: message.into(),
            remote: false,
            retryable: false,
            overloaded: false,
            durable_object_reset: false,
        }
    }

    /// Thrown by the object's own code.
    pub(crate) fn thrown(message: impl Into<Arc<str>>) -> ObjectError {
        ObjectError { remote: true, ..ObjectError::new(message) }
    }

    /// Why an object is reset whose gate was closed for too long.
    pub(crate) const GATE_TIMEOUT: &str = "A call to blockConcurrencyWhile() in a Durable Object \
        waited for too long. The call was canceled and the Durable Object was reset.";

    /// The object was reset on purpose. One whose gate was closed for too long counts as overloaded.
    pub(crate) fn reset(message: impl Into<Arc<str>>) -> ObjectError {
        let error = ObjectError::new(message);
        let overloaded = &*error.message == ObjectError::GATE_TIMEOUT;
        ObjectError { durable_object_reset: true, overloaded, ..error }
    }

    /// The connection to the object is gone.
    pub(crate) fn disconnected() -> ObjectError {
        ObjectError { retryable: true, ..ObjectError::new("Network connection lost.") }
    }

    /// The places in the list of [`ObjectError::refusals`], which have no numbers.
    pub(crate) const REFUSALS: &[u32] = &[1, 2, 3, 4];

    /// The refusals of an object that has too much to do; nothing has happened.
    pub(crate) fn refusals() -> [ObjectError; 4] {
        [
            "Durable Object is overloaded. Too many requests queued.",
            "Durable Object is overloaded. Too much data queued.",
            "Durable Object is overloaded. Requests queued for too long.",
            "Durable Object is overloaded. Too many requests for the same object within a 10 second window.",
        ]
        .map(|text| ObjectError { overloaded: true, ..ObjectError::new(text) })
    }
}

impl fmt::Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
