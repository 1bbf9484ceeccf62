//! A provider of long jobs: it takes one, works for a while, and calls a webhook with the result.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::bindings::cloud::Cloud;
use crate::engine::env::Env;
use crate::protocol::http::{Request, Response};
use crate::protocol::outcome::Error;
use crate::values::body::Body;
use crate::values::sorted_map::SortedMap;

/// How long a job takes, as it is drawn: an ordinary while, no time at all (so that the callback
/// overtakes the answer to the request), a minute, an hour.
const WORK: [Duration; 4] =
    [Duration::from_secs(5), Duration::ZERO, Duration::from_secs(60), Duration::from_secs(3_600)];
/// How often a webhook that is not answered with 2xx is retried, and after how long.
const WEBHOOK_RETRIES: u32 = 3;
const WEBHOOK_PAUSE: Duration = Duration::from_secs(10);

/// A provider of jobs over HTTP.
///
/// - `POST /jobs` with `{"webhook": "WORKER/path", …}` → 201 `{"id", "status"}`
/// - `GET /jobs/ID` → 200 `{"id", "status", "artifact"}`, or 404
/// - `POST /jobs/ID/cancel` → 200; a job that is done stays done
/// - `GET /artifacts/ID` → the bytes that the job made
///
/// When a job is done its webhook gets `POST` with the same document. The tape draws whether a job
/// fails: one in four during the storm, none after it.
#[derive(Clone, Debug, Default)]
pub struct Provider {
    jobs: Rc<RefCell<SortedMap<String, Job>>>,
}

#[derive(Clone, Debug)]
struct Job {
    status: &'static str,
    request: Body,
    webhook: Option<(Arc<str>, Arc<str>)>,
}

impl Provider {
    /// Adds a provider outside the cloud.
    pub fn mount(cloud: &mut Cloud, name: &str) {
        let provider = Provider::default();
        cloud.outside(name, move |env, request| {
            let provider = provider.clone();
            async move { Ok(provider.serve(&env, &request)) }
        });
    }

    fn serve(&self, env: &Env, request: &Request) -> Response {
        let path: Vec<&str> = request.path.trim_matches('/').split('/').collect();
        match (&*request.method, &path[..]) {
            ("POST", ["jobs"]) => self.start(env, request.body.clone()),
            ("POST", ["jobs", id, "cancel"]) => self.with(id, |job| {
                if job.status == "running" {
                    job.status = "canceled";
                }
                200
            }),
            ("GET", ["jobs", id]) => self.with(id, |_| 200),
            ("GET", ["artifacts", id]) => self.artifact(id),
            _ => Response::new(404, ""),
        }
    }

    fn start(&self, env: &Env, request: Body) -> Response {
        let Ok(wanted) = serde_json::from_slice::<serde_json::Value>(request.bytes()) else {
            return Response::new(400, r#"{"error":"the body is not JSON"}"#);
        };
        let webhook = wanted["webhook"].as_str().and_then(|webhook| webhook.split_once('/'));
        let webhook = webhook.map(|(worker, path)| (worker.into(), format!("/{path}").into()));
        let id = format!("job-{}", &env.unique()[..8]);
        self.jobs.borrow_mut().insert(id.clone(), Job { status: "running", request, webhook });
        let work = WORK[env.mood(WORK.len() as u32) as usize];
        let fails = env.mood(4) > 0;
        let (provider, inner, name) = (self.clone(), env.clone(), id.clone());
        env.spawn(async move {
            inner.sleep(work).await;
            provider.finish(&inner, &name, fails).await;
        });
        self.document(&id, 201)
    }

    async fn finish(&self, env: &Env, id: &str, fails: bool) {
        let webhook = {
            let mut jobs = self.jobs.borrow_mut();
            let Some(job) = jobs.get_mut(id).filter(|job| job.status == "running") else { return };
            job.status = if fails { "failed" } else { "succeeded" };
            job.webhook.clone()
        };
        let Some((worker, path)) = webhook else { return };
        for _ in 0..=WEBHOOK_RETRIES {
            let document = self.document(id, 200).body;
            let request = Request::new("POST", path.as_ref(), document);
            match env.fetch(&worker, request).await {
                Ok(response) if (200..300).contains(&response.status) => return,
                Ok(_) | Err(Error::NetworkLost) => env.sleep(WEBHOOK_PAUSE).await,
                Err(_) => return,
            }
        }
    }

    fn with(&self, id: &str, act: impl FnOnce(&mut Job) -> u16) -> Response {
        let status = match self.jobs.borrow_mut().get_mut(id) {
            Some(job) => act(job),
            None => return Response::new(404, ""),
        };
        self.document(id, status)
    }

    fn document(&self, id: &str, status: u16) -> Response {
        let jobs = self.jobs.borrow();
        let Some(job) = jobs.get(id) else { return Response::new(404, "") };
        let artifact = (job.status == "succeeded").then(|| format!("/artifacts/{id}"));
        let document = json!({ "id": id, "status": job.status, "artifact": artifact });
        Response::new(status, document.to_string())
    }

    /// The bytes that a job made, which depend only on its request.
    fn artifact(&self, id: &str) -> Response {
        match self.jobs.borrow().get(id) {
            Some(job) if job.status == "succeeded" => {
                let asked = crate::values::hash::StableHasher::of(job.request.bytes());
                Response::new(200, format!("artifact {asked:016x}"))
            }
            Some(_) => Response::new(409, ""),
            None => Response::new(404, ""),
        }
    }
}
