//! What comes on a WebSocket or a body that is read, and how the prelude is told of it.

use serde_json::{Value, json};
use thunderhead_sim::{Body, Frame};

use super::Asked;
use crate::failure::type_error;
use crate::pump::{Told, Work};

/// The next frame. Nothing is answered when a close has been read.
pub fn next(asked: &Asked) -> Result<Work, Value> {
    let number: u32 = asked.parse()?;
    let end = asked.pump.env.connection_end(number);
    let end = end.ok_or_else(|| type_error("there is no such WebSocket"))?;
    Ok(Box::pin(async move {
        let (json, bytes) = end.next().await.map_or((Value::Null, None), told);
        Ok((Told::Json(json.to_string()), bytes))
    }))
}

/// Sends a part of a body, and waits while the reader is far behind.
pub fn write(asked: &Asked) -> Result<Work, Value> {
    let number: u32 = asked.parse()?;
    let end = asked.pump.env.connection_end(number);
    let end = end.ok_or_else(|| type_error("there is no such stream"))?;
    end.send(Frame::Part(asked.bytes.clone().unwrap_or(Body::empty())));
    Ok(Box::pin(async move {
        end.room_for_more().await;
        Ok((Told::Nothing, None))
    }))
}

/// A frame, as the prelude reads it.
pub fn told(frame: Frame) -> (Value, Option<Body>) {
    match frame {
        Frame::Text(body) => (json!({ "text": body.text().unwrap_or_default() }), None),
        Frame::Binary(body) => (json!({}), Some(body)),
        Frame::Close { code, reason } => {
            (json!({ "close": { "code": code, "reason": reason } }), None)
        }
        Frame::Part(body) => (json!({ "part": true }), Some(body)),
        Frame::End => (json!({ "end": true }), None),
        Frame::Cancel { reason } => (json!({ "cancel": reason }), None),
        Frame::Broken => (json!({ "broken": true }), None),
    }
}
