//! What a message says, and in which of the platform's four formats.

use std::fmt;
use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Error;
use crate::values::body::Body;

/// How a message's body was serialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ContentType {
    /// JSON, which is what a producer gets when it says nothing.
    Json,
    /// A string, as UTF-8.
    Text,
    /// Bytes as they are.
    Bytes,
    /// The runtime's own structured clone; its content is opaque here.
    V8,
}

impl FromStr for ContentType {
    type Err = Error;

    /// Reads the name as the runtime does, in any case of letters.
    fn from_str(name: &str) -> Result<ContentType, Error> {
        match name.to_ascii_lowercase().as_str() {
            "json" => Ok(ContentType::Json),
            "text" => Ok(ContentType::Text),
            "bytes" => Ok(ContentType::Bytes),
            "v8" => Ok(ContentType::V8),
            _ => Err(Error::type_error(format!("Unsupported queue message content type: {name}"))),
        }
    }
}

/// The body of a message as it is stored: its format and its serialised bytes.
///
/// ```
/// use thunderhead_sim::queue::MessageBody;
///
/// let body = MessageBody::json(&vec![1, 2]).unwrap();
/// assert_eq!(body.len(), 5);
/// assert_eq!(body.to_json::<Vec<u8>>().unwrap(), [1, 2]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageBody {
    /// The format in which the body was serialised.
    pub content_type: ContentType,
    /// The serialised bytes; these are what the size limits count.
    pub data: Body,
}

impl MessageBody {
    /// The value as JSON.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<MessageBody, Error> {
        let bytes = serde_json::to_vec(value).map_err(|error| Error::type_error(error.to_string()));
        Ok(MessageBody { content_type: ContentType::Json, data: Body::from(bytes?) })
    }

    /// A body that holds a string.
    pub fn text(text: &str) -> MessageBody {
        MessageBody { content_type: ContentType::Text, data: Body::from(text) }
    }

    /// A body that holds plain bytes.
    pub fn bytes(bytes: impl Into<Body>) -> MessageBody {
        MessageBody { content_type: ContentType::Bytes, data: bytes.into() }
    }

    /// A structured clone, whatever its bytes mean to the application.
    pub fn v8(bytes: impl Into<Body>) -> MessageBody {
        MessageBody { content_type: ContentType::V8, data: bytes.into() }
    }

    /// The value that the bytes spell in JSON.
    pub fn to_json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.data.read().map_err(|error| Error::type_error(error.to_string()))
    }

    /// The string of a `text` or `json` body, when it is one.
    pub fn to_text(&self) -> Option<String> {
        match self.content_type {
            ContentType::Json => self.to_json().ok(),
            _ => self.data.text().map(str::to_owned),
        }
    }

    /// How many bytes the limits count.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The body itself when it is one short word, for a trace that is read at a glance.
    pub(super) fn word(&self) -> Option<&str> {
        let text = self.data.text()?;
        let text = match self.content_type {
            ContentType::Json => {
                text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text)
            }
            _ => text,
        };
        let plain = |c: char| c.is_alphanumeric() || "-_./:".contains(c);
        (!text.is_empty() && text.len() <= 16 && text.chars().all(plain)).then_some(text)
    }
}

impl fmt::Display for MessageBody {
    /// JSON is shown as it is, since it brings its own quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.data.text() {
            Some(text)
                if self.content_type == ContentType::Json
                    && (f.alternate() || text.len() <= 40) =>
            {
                f.write_str(text)
            }
            _ => self.data.fmt(f),
        }
    }
}
