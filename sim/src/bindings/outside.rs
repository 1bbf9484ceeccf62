//! The world outside the cloud: providers that take jobs and call back, websites, a resolver of
//! names, a model that writes text. They are hosts that never crash. Their calls pass the doorway like all others,
//! so the storm loses, delays, duplicates and reorders their requests and callbacks too.

mod provider;
mod resolver;
mod text_model;
mod website;

pub use provider::Provider;
pub use resolver::Resolver;
pub use text_model::TextModel;
pub use website::Website;

use std::future::Future;

use crate::bindings::cloud::Cloud;
use crate::engine::env::Env;
use crate::protocol::http::{Request, Response};
use crate::protocol::outcome::Error;

impl Cloud<'_> {
    /// Whether requests to hosts outside leave the process, so that none of those need be simulated.
    pub fn reaches_outside(&self) -> bool {
        self.world.state().reaches_outside()
    }

    /// Adds a host outside the cloud: it serves requests and never crashes, so it keeps its memory.
    pub fn outside<F>(&mut self, name: &str, handler: impl Fn(Env, Request) -> F + 'static)
    where
        F: Future<Output = Result<Response, Error>> + 'static,
    {
        self.machine(name).never_crashes().fetch(handler);
    }
}
