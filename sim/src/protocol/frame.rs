//! What travels on a WebSocket.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::values::body::Body;

/// One frame on a WebSocket.
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
        matches!(self, Frame::Close { .. })
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Frame::Text(body) => body.fmt(f),
            Frame::Binary(body) => {
                f.write_str("binary ")?;
                body.fmt(f)
            }
            Frame::Close { code, reason } if reason.is_empty() => write!(f, "{code}"),
            Frame::Close { code, reason } => write!(f, "{code} {reason:?}"),
        }
    }
}
