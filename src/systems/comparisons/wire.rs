//! What travels between the worker, the object and the workflow, as JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::envelope::SignalEnvelope;

/// A request to compare two environments.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompareRequest {
    pub left_url: String,
    pub right_url: String,
    /// The asker's own name for this request: asked again under the same name, it is the same.
    pub request_id: Option<String>,
}

/// A request to change how many comparisons a pair keeps.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeepRequest {
    pub left_url: String,
    pub right_url: String,
    pub keep: u64,
}

/// A comparison to be made: what the object stores, and what the workflow is created with.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    pub comparison_id: String,
    pub left_url: String,
    pub right_url: String,
    pub pair_key: String,
}

/// One side of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    Left,
    Right,
}

impl Side {
    pub fn name(self) -> &'static str {
        match self {
            Side::Left => "left",
            Side::Right => "right",
        }
    }
}

/// The arguments of `saveProbe`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SaveProbe {
    pub comparison_id: String,
    pub side: Side,
    pub envelope: SignalEnvelope,
}

/// The arguments of `saveResult`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SaveResult {
    pub comparison_id: String,
    pub result: Value,
}

/// The arguments of `failComparison`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailComparison {
    pub comparison_id: String,
    pub error: String,
}

/// Where a comparison stands, as an asker is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparisonState {
    pub status: ComparisonStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Where a comparison stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ComparisonStatus {
    Running,
    Completed,
    Failed,
    /// It made way for newer ones.
    Evicted,
    /// There never was one of this id, or it was forgotten even that it was evicted.
    Unknown,
}
