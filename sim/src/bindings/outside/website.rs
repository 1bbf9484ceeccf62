//! A website outside the cloud: pages, redirects, and the moods of a server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::bindings::cloud::Cloud;
use crate::engine::env::Env;
use crate::protocol::http::{Request, Response};
use crate::values::body::Body;

/// The answer of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Page {
    /// 200 with this body.
    Content(Body),
    /// 302 to another path, which is the body of the answer.
    Redirect(Arc<str>),
    /// This status with an empty body.
    Status(u16),
}

/// A website with its pages.
#[derive(Clone, Debug, Default)]
pub struct Website {
    pages: BTreeMap<Arc<str>, Page>,
}

/// How long a slow answer takes.
const SLOW: Duration = Duration::from_secs(20);

impl Website {
    /// Adds a page.
    pub fn page(mut self, path: &str, page: Page) -> Website {
        self.pages.insert(path.into(), page);
        self
    }

    /// Adds the site outside the cloud. During the storm it may be slow, or answer 503 or 429, as drawn.
    pub fn mount(self, cloud: &mut Cloud, name: &str) {
        cloud.outside(name, move |env: Env, request: Request| {
            let page = self.pages.get(&*request.path).cloned();
            async move {
                match env.mood(4) {
                    1 => env.sleep(SLOW).await,
                    2 => return Ok(Response::new(503, "")),
                    3 => return Ok(Response::new(429, "")),
                    _ => {}
                }
                Ok(match page {
                    Some(Page::Content(body)) => Response::new(200, body),
                    Some(Page::Redirect(to)) => Response::new(302, &*to),
                    Some(Page::Status(status)) => Response::new(status, ""),
                    None => Response::new(404, ""),
                })
            }
        });
    }
}
