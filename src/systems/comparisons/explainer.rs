//! Puts a difference into words: a text model is given the diff and what came before.

use serde::Serialize;
use thunderhead_sim::{Env, Error, Request};

use super::diff::EnvDiff;

/// The model's host.
pub const MODEL: &str = "model";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Prompt<'a> {
    comparison_id: &'a str,
    diff: &'a EnvDiff,
    /// The last completed comparisons of the same pair, newest first.
    history: &'a serde_json::Value,
}

/// Asks for an explanation. A model that has none now may have one later.
pub async fn explain(
    env: &Env,
    comparison_id: &str,
    diff: &EnvDiff,
    history: &serde_json::Value,
) -> Result<String, Error> {
    let prompt = crate::systems::json::write(&Prompt { comparison_id, diff, history });
    let answer = env.fetch(MODEL, Request::new("POST", "/", prompt)).await?;
    match (answer.status, answer.body.text()) {
        (200, Some(text)) if !text.is_empty() => Ok(text.into()),
        (status, _) => {
            Err(Error::app(format!("the model answered {status} and explained nothing")))
        }
    }
}
