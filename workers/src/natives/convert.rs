//! Values of JavaScript as those of Rust, and back.
#![allow(unsafe_code, reason = "the bytes of a buffer are read in place")]

use rquickjs::{ArrayBuffer, Ctx, Exception, FromJs, Value};
use thunderhead_sim::Body;

/// What asynchronous calls and random values are refused with while the program boots.
const GLOBAL_SCOPE: &str = "Disallowed operation called within global scope. Asynchronous I/O (ex: fetch() or \
    connect()), setting a timeout, and generating random values are not allowed within global scope. To fix this \
    error, perform this operation within a handler. \
    https://developers.cloudflare.com/workers/runtime-apis/handlers/";

/// The error for what a program may not do at its top level.
pub fn global_scope(ctx: &Ctx<'_>) -> rquickjs::Error {
    Exception::throw_message(ctx, GLOBAL_SCOPE)
}

/// Throws an error that is described as JSON.
pub fn throw(ctx: &Ctx<'_>, error: &serde_json::Value) -> rquickjs::Error {
    let message = error["message"].as_str().unwrap_or_default();
    match error["name"].as_str() {
        Some("TypeError") => Exception::throw_type(ctx, message),
        Some("RangeError") => Exception::throw_range(ctx, message),
        Some("SyntaxError") => Exception::throw_syntax(ctx, message),
        _ => Exception::throw_message(ctx, message),
    }
}

/// A text; none for `undefined` and `null`.
pub fn text<'js>(ctx: &Ctx<'js>, value: Option<Value<'js>>) -> rquickjs::Result<Option<String>> {
    match value {
        Some(value) if !value.is_undefined() && !value.is_null() => {
            String::from_js(ctx, value).map(Some)
        }
        _ => Ok(None),
    }
}

/// A copy of the bytes of a buffer; none for anything else.
pub fn bytes(value: Option<Value<'_>>) -> Option<Body> {
    ArrayBuffer::from_value(value?).map(|buffer| body(&buffer))
}

/// A copy of the bytes of a buffer. A detached one has none.
pub fn body(buffer: &ArrayBuffer<'_>) -> Body {
    // SAFETY: no JavaScript runs while the bytes are copied.
    Body::from(unsafe { buffer.as_bytes() }.unwrap_or_default())
}
