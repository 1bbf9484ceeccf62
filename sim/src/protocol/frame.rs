//! What travels on a connection: a WebSocket, or a body that is streamed.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::values::body::Body;

/// One frame on a WebSocket, or one of a body that is streamed.
///
/// ```
/// use thunderhead_sim::Frame;
///
/// assert_eq!(Frame::text("hi").to_string(), r#""hi""#);
/// assert_eq!(Frame::close(4000, "bye").to_string(), r#"4000 "bye""#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Frame {
    /// A message that is text.
    Text(Body),
    /// A message that is bytes.
    Binary(Body),
    /// The sender has closed the connection and sends nothing more.
    Close {
        /// Why, as a number.
        code: u16,
        /// Why, in words.
        reason: Arc<str>,
    },
    /// A part of a body that is sent while it is made.
    Part(Body),
    /// The body is whole.
    End,
    /// The reader of a body wants no more of it.
    Cancel {
        /// Why, in words.
        reason: Arc<str>,
    },
    /// The connection of a body is lost, and the rest of it too. Nobody has sent this.
    Broken,
}

impl Frame {
    /// The code that stands for a connection that was lost: nobody has sent it.
    pub const LOST: u16 = 1006;

    /// A message that is text.
    pub fn text(text: impl Into<Body>) -> Frame {
        Frame::Text(text.into())
    }

    /// A close with a code and a reason.
    pub fn close(code: u16, reason: &str) -> Frame {
        Frame::Close { code, reason: reason.into() }
    }

    /// What an end hears when the connection was lost.
    pub fn lost() -> Frame {
        Frame::close(Frame::LOST, "WebSocket disconnected without sending Close frame.")
    }

    /// Whether nothing can follow it.
    pub fn closes(&self) -> bool {
        !matches!(self, Frame::Text(_) | Frame::Binary(_) | Frame::Part(_))
    }

    /// Whether its kind is all there is to tell of it.
    pub(crate) fn is_bare(&self) -> bool {
        match self {
            Frame::Cancel { reason } => reason.is_empty(),
            frame => *frame == Frame::End,
        }
    }

    /// Whether it is of a body that is streamed, and not of a WebSocket.
    pub fn is_of_body(&self) -> bool {
        !matches!(self, Frame::Text(_) | Frame::Binary(_) | Frame::Close { .. })
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Frame::Text(body) | Frame::Part(body) => body.fmt(f),
            Frame::Binary(body) => {
                f.write_str("binary ")?;
                body.fmt(f)
            }
            Frame::Close { code, reason } if reason.is_empty() => write!(f, "{code}"),
            Frame::Close { code, reason } => write!(f, "{code} {reason:?}"),
            Frame::Cancel { reason } if !reason.is_empty() => write!(f, "{reason:?}"),
            Frame::End | Frame::Cancel { .. } => Ok(()),
            Frame::Broken => f.write_str("broken off"),
        }
    }
}
