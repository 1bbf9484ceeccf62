//! A website outside the cloud: pages, redirects, and the moods of a server.

use std::sync::Arc;
use std::time::Duration;

use crate::bindings::cloud::Cloud;
use crate::engine::env::Env;
use crate::protocol::http::{Request, Response};
use crate::values::sorted_map::SortedMap;

/// A website with its pages.
///
/// ```
/// use thunderhead_sim::Response;
/// use thunderhead_sim::outside::Website;
///
/// let site = Website::default()
///     .page("/", Response::new(200, "Welcome.").with_header("content-type", "text/plain"))
///     .redirect("/old", 301, "/");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Website {
    pages: SortedMap<Arc<str>, Response>,
}

/// How long a slow answer takes.
const SLOW: Duration = Duration::from_secs(20);

impl Website {
    /// Adds a page: the answer to its path, query included.
    pub fn page(mut self, path: &str, answer: Response) -> Website {
        self.pages.insert(path.into(), answer);
        self
    }

    /// Adds a page that leads elsewhere: an answer with this status and a `location`.
    pub fn redirect(self, path: &str, status: u16, location: &str) -> Website {
        self.page(path, Response::new(status, "").with_header("location", location))
    }

    /// Adds the site outside the cloud, under a name or an address. During the storm it may be slow, or answer 503 or
    /// 429, as drawn.
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
                Ok(page.unwrap_or_else(|| Response::new(404, "")))
            }
        });
    }
}
