//! What an agent writes down: which upload is current under each name, and what is known of every
//! upload it has ever heard of.
//!
//! The second part is what the plans forget. The same bytes uploaded again are the same event, whose
//! one workflow may have ended long ago; without a memory of its result the row could only wait for
//! ever, or start a second workflow.

mod current;
mod history;
mod migration;

use serde_json::Value as Json;
use thunderhead_sim::ai::Score;
use thunderhead_sim::sqlite::Value;
use thunderhead_sim::{Env, Error, ObjectStorage};

pub use current::Current;
pub use history::History;
pub use migration::Migrating;

use super::names::{UploadEvent, key};

/// Where an upload stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadStatus {
    /// Its workflow is not known to exist.
    Queued,
    /// Its workflow exists.
    Running,
    /// Classified or failed.
    Final,
}

/// The result of a classification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassificationResult {
    /// The likeliest label.
    Classified {
        /// The name of the label.
        label: String,
        /// How likely, from 0 to 1.
        score: Value,
    },
    /// Why there is none.
    Failed(String),
}

impl ClassificationResult {
    /// The likeliest label; its score is read from decimals, so that nothing is computed in floating
    /// point.
    pub fn classified(label: &str, score: Score) -> ClassificationResult {
        let score: f64 = score.to_string().parse().expect("a score is written as a number");
        ClassificationResult::Classified { label: label.into(), score: score.into() }
    }

    /// `status`, `classificationLabel`, `classificationScore` and `error`.
    pub fn columns(&self) -> [Value; 4] {
        match self {
            ClassificationResult::Classified { label, score } => {
                ["classified".into(), label.as_str().into(), score.clone(), Value::Null]
            }
            ClassificationResult::Failed(error) => {
                ["failed".into(), Value::Null, Value::Null, error.as_str().into()]
            }
        }
    }
}

/// The tables of an agent. Every method is one turn of the object or less: all of it is kept, or none.
/// Those that change rows say whether a client would see the difference.
pub trait Ledger {
    /// The tables, made if they are not there. The environment says which mistake is made, if any.
    fn open(storage: &ObjectStorage, env: &Env) -> Self
    where
        Self: Sized;

    /// Makes the row of `name` describe this event, as far as it is known; no event, no row.
    fn told(&self, name: &str, event: Option<&UploadEvent>, now: i64) -> Result<bool, Error>;

    /// The event that the row of `name` describes.
    fn current(&self, name: &str) -> Result<Option<String>, Error>;

    /// What is known of an event.
    fn status(&self, event_id: &str) -> Result<Option<UploadStatus>, Error>;

    /// The workflow of an event exists.
    fn started(&self, event_id: &str, now: i64) -> Result<bool, Error>;

    /// The workflow of an event has ended. What has ended before stays as it is, and what never
    /// seemed to start passes through `running`.
    fn finished(
        &self,
        event_id: &str,
        result: &ClassificationResult,
        now: i64,
    ) -> Result<bool, Error>;

    /// Name, creation time, status, label, score and error of every row.
    fn rows(&self) -> Result<Vec<Vec<Value>>, Error>;

    /// Moves to the tables of the next release, if there are any; whether it did.
    fn migrate(&self, now: i64) -> Result<bool, Error> {
        let _ = now;
        Ok(false)
    }
}

/// The list of uploads as the route returns it.
pub fn list(organisation: &str, rows: Vec<Vec<Value>>) -> Json {
    let item = |row: Vec<Value>| {
        let name = row[0].as_str().unwrap_or_default();
        serde_json::json!({
            "name": name,
            "createdAt": row[1].as_i64(),
            "status": row[2].as_str(),
            "classificationLabel": row[3].as_str(),
            "classificationScore": row[4].as_f64(),
            "error": row[5].as_str(),
            "imageUrl": format!("/{}", key(organisation, name)),
            "thumbnailUrl": format!("/thumbnails/{}", key(organisation, name)),
        })
    };
    rows.into_iter().map(item).collect()
}

/// Runs a statement; whether it changed anything.
fn change(storage: &ObjectStorage, sql: &str, bindings: &[Value]) -> Result<bool, Error> {
    Ok(storage.exec(sql, bindings)?.rows_written() > 0)
}

/// The first column of the first row.
fn first(storage: &ObjectStorage, sql: &str, bindings: &[Value]) -> Result<Option<Value>, Error> {
    let mut cursor = storage.exec(sql, bindings)?;
    Ok(cursor.raw().next().and_then(|row| row.into_iter().next()))
}

fn text(found: Option<Value>) -> Option<String> {
    found.as_ref().and_then(Value::as_str).map(String::from)
}

fn status(found: Option<Value>) -> Option<UploadStatus> {
    Some(match found?.as_str()? {
        "queued" => UploadStatus::Queued,
        "running" => UploadStatus::Running,
        _ => UploadStatus::Final,
    })
}
