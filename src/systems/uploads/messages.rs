//! What the agent tells the clients of its organisation, and what a workflow tells its agent about its progress.

use serde::{Deserialize, Serialize};
use thunderhead_sim::Body;

use super::ledger::ClassificationResult;
use crate::systems::json;

/// A message to clients. All but two kinds say that a row is different, so that a client asks for the list again; what
/// `upload_progress` says while a picture is classified and what `upload_delete_error` says is in no row.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message<'a> {
    /// Something is different.
    Invalidate,
    /// How far the workflow of an upload has come.
    #[serde(rename_all = "camelCase")]
    UploadProgress {
        /// The name within the organisation.
        name: &'a str,
        /// Which upload of that name.
        event_id: &'a str,
        /// How far.
        #[serde(flatten)]
        progress: &'a Progress,
    },
    /// An upload is deleted.
    #[serde(rename_all = "camelCase")]
    UploadDeleted {
        /// The name within the organisation.
        name: &'a str,
        /// When R2 deleted the object, or when the agent saw that it was gone.
        event_time: &'a str,
    },
    /// A deletion could not be carried out yet, and is tried again.
    UploadDeleteError {
        /// The name within the organisation.
        name: &'a str,
        /// Why.
        error: &'a str,
    },
}

impl Message<'_> {
    /// The message as it travels.
    pub fn to_body(&self) -> Body {
        match self {
            Message::Invalidate => Body::from(INVALIDATE),
            other => json::write(other),
        }
    }
}

/// The message that something is different.
pub const INVALIDATE: &str = r#"{"type":"invalidate"}"#;

/// How far a workflow has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Whether it is under way, and how it ended.
    pub status: ProgressStatus,
    /// The step that it is at.
    pub step: ProgressStep,
    /// What a person may read.
    pub message: String,
}

/// Whether a workflow is under way, and how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProgressStatus {
    Running,
    Classified,
    Failed,
}

/// The steps of the workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProgressStep {
    LoadImage,
    ClassifyImage,
    PersistResult,
}

impl Progress {
    /// The workflow exists.
    pub fn started() -> Progress {
        let message = "the picture is being loaded".into();
        Progress { status: ProgressStatus::Running, step: ProgressStep::LoadImage, message }
    }

    /// The picture is loaded, and the model is asked.
    pub fn classifying() -> Progress {
        let message = "the picture is being classified".into();
        Progress { status: ProgressStatus::Running, step: ProgressStep::ClassifyImage, message }
    }

    /// There is a result.
    pub fn finished(result: &ClassificationResult) -> Progress {
        let (status, message) = match result {
            ClassificationResult::Classified { label, .. } => (ProgressStatus::Classified, label),
            ClassificationResult::Failed(error) => (ProgressStatus::Failed, error),
        };
        Progress { status, step: ProgressStep::PersistResult, message: message.clone() }
    }
}

/// Whether a client that is told this asks for the list again.
pub fn changes_the_list(message: &Body) -> bool {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(rename = "type")]
        kind: &'a str,
        step: Option<ProgressStep>,
    }
    match json::read::<Kind<'_>>(message) {
        Ok(Kind { kind: "upload_progress", step }) => step != Some(ProgressStep::ClassifyImage),
        Ok(Kind { kind, .. }) => kind != "upload_delete_error",
        // What it does not understand may be about anything.
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_written_as_the_plan_names_them() {
        let progress = Progress::finished(&ClassificationResult::Failed("too large".into()));
        let message =
            Message::UploadProgress { name: "cat.jpg", event_id: "ab", progress: &progress };
        let text = r#"{"type":"upload_progress","name":"cat.jpg","eventId":"ab","status":"failed","step":"persist-result","message":"too large"}"#;
        assert_eq!(message.to_body().text(), Some(text));
        let deleted = Message::UploadDeleted { name: "cat.jpg", event_time: "now" };
        let text = r#"{"type":"upload_deleted","name":"cat.jpg","eventTime":"now"}"#;
        assert_eq!(deleted.to_body().text(), Some(text));
        let error = Message::UploadDeleteError { name: "cat.jpg", error: "R2 is down" };
        let text = r#"{"type":"upload_delete_error","name":"cat.jpg","error":"R2 is down"}"#;
        assert_eq!(error.to_body().text(), Some(text));
        assert_eq!(json::write(&Message::Invalidate).text(), Some(INVALIDATE));
    }

    #[test]
    fn a_client_asks_again_for_what_changes_a_row_and_for_what_it_does_not_know() {
        let told = |progress: &Progress| {
            let message = Message::UploadProgress { name: "cat.jpg", event_id: "ab", progress };
            changes_the_list(&message.to_body())
        };
        assert!(told(&Progress::started()) && !told(&Progress::classifying()));
        assert!(told(&Progress::finished(&ClassificationResult::Failed("it".into()))));
        let error = Message::UploadDeleteError { name: "cat.jpg", error: "it" }.to_body();
        assert!(!changes_the_list(&error));
        assert!(changes_the_list(&INVALIDATE.into()) && changes_the_list(&"?".into()));
    }
}
