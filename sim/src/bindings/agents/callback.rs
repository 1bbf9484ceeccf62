//! The reports that a workflow sends to its agent.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// One report of a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Callback {
    /// The binding of the workflow.
    pub workflow_name: Arc<str>,
    /// The id of the instance.
    pub workflow_id: Arc<str>,
    /// When it was sent, in milliseconds since 1970.
    pub timestamp: u64,
    /// The content of the report.
    #[serde(flatten)]
    pub report: Report,
}

/// The content of a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Report {
    /// The workflow has made progress.
    Progress {
        /// How far the workflow has come.
        progress: Json,
    },
    /// The workflow declares itself complete; its body may still run.
    Complete {
        /// The result.
        #[serde(default)]
        result: Json,
    },
    /// The workflow has failed.
    Error {
        /// The message of the error.
        error: Arc<str>,
    },
    /// An event that the application defines.
    Event {
        /// The event.
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
