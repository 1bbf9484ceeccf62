//! JSON in bodies, as every system reads and writes it.

use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use thunderhead_sim::{Body, Error, Response};

/// Reads a value.
pub fn read<'a, T: Deserialize<'a>>(body: &'a Body) -> Result<T, Error> {
    serde_json::from_slice(body.bytes()).map_err(|error| Error::app(error.to_string()))
}

/// Reads a value; a workflow step does not retry the error, since reading again gives the same.
pub fn read_once<T: DeserializeOwned>(body: &Body) -> Result<T, Error> {
    serde_json::from_slice(body.bytes())
        .map_err(|error| Error::NonRetryable(error.to_string().into()))
}

/// Writes a value.
pub fn write<T: Serialize + ?Sized>(value: &T) -> Body {
    Body::from(serde_json::to_vec(value).expect("plain data with text keys is JSON"))
}

/// The response `{"error": …}`.
pub fn error(status: u16, why: &(impl Display + ?Sized)) -> Response {
    Response::new(status, write(&json!({ "error": why.to_string() })))
}
