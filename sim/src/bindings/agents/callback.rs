//! What a workflow tells its agent.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// One report of a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Callback {
    /// The binding of the workflow.
    pub workflow_name: Arc<str>,
    /// The instance.
    pub workflow_id: Arc<str>,
    /// When it was sent, in milliseconds since 1970.
    pub timestamp: u64,
    /// What it says.
    #[serde(flatten)]
    pub report: Report,
}

/// What a report says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Report {
    /// It is on its way.
    Progress {
        /// How far.
        progress: Json,
    },
    /// It calls itself complete; its body may still run.
    Complete {
        /// With what.
        #[serde(default)]
        result: Json,
    },
    /// It has failed.
    Error {
        /// The message.
        error: Arc<str>,
    },
    /// Something of its own.
    Event {
        /// What.
        event: Json,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_travels_as_one_flat_object() {
        let text =
            r#"{"workflowName":"W","workflowId":"a","timestamp":7,"type":"error","error":"no"}"#;
        let callback: Callback = serde_json::from_str(text).unwrap();
        assert_eq!(callback.report, Report::Error { error: "no".into() });
        assert_eq!(serde_json::to_string(&callback).unwrap(), text);
        let bare = r#"{"workflowName":"W","workflowId":"a","timestamp":7,"type":"complete"}"#;
        let callback: Callback = serde_json::from_str(bare).unwrap();
        assert_eq!(callback.report, Report::Complete { result: Json::Null });
        assert!(serde_json::from_str::<Callback>(r#"{"type":"maybe"}"#).is_err());
    }
}
