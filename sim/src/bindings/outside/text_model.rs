//! A model that writes text: the same text for the same question, unless a mood is drawn.

use std::time::Duration;

use crate::bindings::cloud::Cloud;
use crate::engine::env::Env;
use crate::protocol::http::{Request, Response};
use crate::values::hash::StableHasher;

/// A model behind `POST /`: the body is the question, the answer is text.
#[derive(Clone, Copy, Debug)]
pub struct TextModel;

/// How long a slow answer takes.
const SLOW: Duration = Duration::from_secs(45);

impl TextModel {
    /// Adds the model outside the cloud. During the storm its answers may be slow, empty, or an error for
    /// lack of capacity, as drawn.
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
