//! The messages that R2 sends to a queue, which an application reads.

use thunderhead_sim::Body;
use thunderhead_sim::r2::Notification;

use crate::{Input, mutation, scripts};

/// Messages of R2.
pub const NOTIFICATIONS: Input = Input {
    name: "notifications",
    about: "messages of R2: read and written",
    examples,
    words: || {
        vec![
            "account",
            "action",
            "bucket",
            "object",
            "key",
            "size",
            "eTag",
            "eventTime",
            "copySource",
            "PutObject",
            "CopyObject",
            "CompleteMultipartUpload",
            "DeleteObject",
            "LifecycleDeletion",
            "null",
            "[",
            "1e999",
        ]
    },
    mutated: mutation::text,
    check,
};

fn examples() -> Vec<Vec<u8>> {
    let messages = [
        r#"{"account":"3f4b","action":"PutObject","bucket":"photos","object":{"key":"cat.jpg","size":65536,"eTag":"c846ff7a18f28c2e262116d6e8719ef0"},"eventTime":"2026-05-24T19:36:44.379Z"}"#,
        r#"{"account":"3f4b","action":"DeleteObject","bucket":"photos","object":{"key":"cat.jpg"},"eventTime":"2026-05-24T19:36:44.379Z"}"#,
        r#"{"account":"3f4b","action":"CopyObject","bucket":"b","object":{"key":"k","size":1,"eTag":"0"},"eventTime":"2026-05-24T19:36:44.379Z","copySource":{"bucket":"a","object":"o"}}"#,
    ];
    messages.map(|text| text.as_bytes().to_vec()).to_vec()
}

fn check(bytes: &[u8]) -> Result<(), String> {
    match Notification::parse(&Body::from(bytes.to_vec())) {
        Err(error) => scripts::objection(&error.to_string()),
        Ok(event) => {
            scripts::clean("a notification", &event.to_string())?;
            match Notification::parse(&event.to_body()) {
                Ok(again) if again == event => Ok(()),
                other => Err(format!("{event:?} was read again as {other:?}")),
            }
        }
    }
}
