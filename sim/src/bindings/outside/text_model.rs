//! A model that writes text: the same words for the same question, unless it is in a mood.

use std::time::Duration;

use crate::bindings::cloud::Cloud;
use crate::engine::env::Env;
use crate::protocol::http::{Request, Response};
use crate::values::hash::StableHasher;

/// A model behind `POST /`: the body is the question, the answer is text.
#[derive(Clone, Copy, Debug)]
pub struct TextModel;

/// How long it thinks when it thinks long.
const SLOW: Duration = Duration::from_secs(45);

impl TextModel {
    /// Adds the model to the cloud's surroundings. In a storm it sometimes thinks long, answers
    /// with nothing, or is out of capacity, as drawn.
    pub fn mount(cloud: &mut Cloud, name: &str) {
        cloud.outside(name, |env: Env, request: Request| async move {
            match env.mood(4) {
                1 => env.sleep(SLOW).await,
                2 => return Ok(Response::new(200, "")),
                3 => return Ok(Response::new(429, "3040: Capacity temporarily exceeded")),
                _ => {}
            }
            let asked = StableHasher::of(request.body.bytes());
            Ok(Response::new(200, format!("explanation {asked:016x}")))
        });
    }
}
