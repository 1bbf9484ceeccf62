//! The bodies of requests, as JSON.

use serde::Deserialize;

/// A group that is to check out.
#[derive(Deserialize)]
pub struct Start {
    pub guests: Vec<String>,
}

/// A guest who arrives, and the debt of the stay.
#[derive(Deserialize)]
pub struct Arrival {
    pub owed: i64,
}
