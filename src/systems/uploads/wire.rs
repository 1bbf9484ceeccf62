//! What travels between the consumer, the agent and the workflow, as JSON.

use serde::{Deserialize, Serialize};
use thunderhead_sim::Error;
use thunderhead_sim::agents::AgentWorkflow;

use super::messages::Progress;
use super::names::parse_key;

/// The arguments of calls about one name.
#[derive(Deserialize)]
pub struct Named {
    pub name: String,
}

/// The arguments of a call about a deletion.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deleted {
    pub name: String,
    pub event_time: String,
}

/// The arguments of a question about the workflow of an event.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settle {
    pub event_id: String,
}

/// How far the workflow of a name has come.
#[derive(Deserialize, Serialize)]
pub struct NamedProgress {
    pub name: String,
    #[serde(flatten)]
    pub progress: Progress,
}

/// What a workflow reports about its event.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClassificationReport {
    pub name: String,
    pub event_id: String,
    #[serde(default)]
    pub label: String,
    /// The score in millionths.
    #[serde(default)]
    pub score: u32,
    #[serde(default)]
    pub error: String,
}

/// The parameters of a workflow.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Params {
    /// The name within the organisation.
    pub name: String,
    /// The key in the bucket.
    pub key: String,
    /// The id of the event, see `UploadEvent`.
    pub event_id: String,
    /// The bytes of the event.
    #[serde(default)]
    pub e_tag: String,
}

impl Params {
    /// Reads the parameters of an instance.
    pub fn of(workflow: &AgentWorkflow) -> Result<Params, Error> {
        serde_json::from_value(workflow.payload().clone())
            .map_err(|error| Error::NonRetryable(format!("no upload in {error}").into()))
    }

    /// The organisation that the upload belongs to.
    pub fn organisation(&self) -> &str {
        parse_key(&self.key).map_or("", |(organisation, _)| organisation)
    }
}

/// A message that could not be handled, and why.
#[derive(Deserialize)]
pub struct Rejected {
    pub message: String,
    pub reason: String,
}
