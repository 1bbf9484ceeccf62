//! The provider of pictures and films, in every mood there is: slow, failing, refusing, calling
//! back early, late, twice, never and about strangers, and with results that change and whose addresses expire.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value as Json;
use thunderhead_sim::{Cloud, Env, Error, Request, Response, SortedMap, StableHasher, Time};

use super::made::Made;
use super::names::PROVIDER;
use super::signature::{SECRET, sign};
use super::wire::{Figures, JobStatus, Report, TaskType};
use crate::systems::json;

/// How long the address of a result is good for, usually and in a bad mood.
const EXPIRES: Duration = Duration::from_secs(3_600);
const EXPIRES_SOON: Duration = Duration::from_millis(1);
/// How often a webhook that is not heard is called again, and how long after.
const WEBHOOK_RETRIES: u32 = 3;
const WEBHOOK_PAUSE: Duration = Duration::from_secs(10);
/// How late a late callback is.
const LATE: Duration = Duration::from_secs(45);
/// The id of a generation that was never requested.
const STRANGER: &str = "00000000-0000-7000-8000-000000000000";

/// A provider with its jobs.
///
/// - `POST /tasks {taskUUID, reference, deliveryMethod?, webhookURL?, …}` → 200 when it is done, or 202
///   at once if the delivery is `async`; a name that is known is the same job
/// - `GET /tasks/UUID` → 200, 404
/// - `GET /results/UUID?until=TIME` → the bytes or a range of them; 410 when that time has passed
#[derive(Clone, Debug, Default)]
pub struct Provider {
    jobs: Rc<RefCell<SortedMap<String, Job>>>,
    /// Whether it takes a job on again whose name it knows.
    forgetful: bool,
}

#[derive(Clone, Debug)]
struct Job {
    status: JobStatus,
    mood: Mood,
    asked: Asked,
    made: Made,
    done_at: Time,
    /// Until when the address is good that the first report has.
    until: Time,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    #[serde(rename = "taskUUID")]
    task_uuid: String,
    model: String,
    #[serde(default)]
    input: Json,
    reference: Reference,
    #[serde(default)]
    delivery_method: String,
    #[serde(rename = "webhookURL")]
    webhook_url: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct Reference {
    generation: String,
    artifact: String,
}

impl Asked {
    /// What is made and what it costs: more for more pixels, and something by chance, so that few cost the same.
    fn figures(&self) -> Figures {
        let video = TaskType::of_model(&self.model) == TaskType::Video;
        let usual = if video { (1_280, 720) } else { (1_024, 1_024) };
        let side = |name: &str| self.input[name].as_u64().and_then(|side| u32::try_from(side).ok());
        let (width, height) = (side("width").unwrap_or(usual.0), side("height").unwrap_or(usual.1));
        let chance = StableHasher::of(self.task_uuid.as_bytes());
        let pixels = width.saturating_mul(height);
        let cost = pixels / if video { 20 } else { 800 } + (chance / 1_000 % 100) as u32;
        Figures {
            seed: Some(chance % 1_000),
            width: Some(width),
            height: Some(height),
            cost: Some(cost),
        }
    }
}

/// How a job goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    Usual,
    /// It is done before its request is answered.
    Quick,
    Slow,
    /// It takes an hour.
    Endless,
    FailsOnce,
    FailsForGood,
    /// The job is not taken on.
    Refused,
    /// The address of its result expires at once.
    Expiring,
}

const MOODS: [Mood; 8] = [
    Mood::Usual,
    Mood::Quick,
    Mood::Slow,
    Mood::Endless,
    Mood::FailsOnce,
    Mood::FailsForGood,
    Mood::Refused,
    Mood::Expiring,
];

impl Mood {
    fn work(self) -> Duration {
        Duration::from_secs(match self {
            Mood::Quick => 0,
            Mood::Slow => 60,
            Mood::Endless => 3_600,
            _ => 5,
        })
    }

    fn fails(self) -> bool {
        matches!(self, Mood::FailsOnce | Mood::FailsForGood)
    }
}

/// Puts the provider outside the cloud.
pub fn mount(cloud: &mut Cloud) {
    mount_provider(cloud, Provider::default());
}

/// Puts a provider outside the cloud for whom every request is a new job, whatever its name.
pub fn mount_forgetful(cloud: &mut Cloud) {
    mount_provider(cloud, Provider { forgetful: true, ..Provider::default() });
}

fn mount_provider(cloud: &mut Cloud, provider: Provider) {
    cloud.outside(PROVIDER, move |env, request| {
        let provider = provider.clone();
        async move { provider.serve(&env, &request).await }
    });
}

impl Provider {
    async fn serve(&self, env: &Env, request: &Request) -> Result<Response, Error> {
        let (path, query) = request.path.split_once('?').unwrap_or((&*request.path, ""));
        let path: Vec<&str> = path.trim_matches('/').split('/').collect();
        Ok(match (&*request.method, &path[..]) {
            ("POST", ["tasks"]) => match json::read::<Asked>(&request.body) {
                Ok(asked) => self.take_on(env, asked).await,
                Err(error) => Response::new(400, error.to_string()),
            },
            ("GET", ["tasks", id]) => match self.report(env, id) {
                Some(report) => Response::new(200, json::write(&report)),
                None => Response::new(404, ""),
            },
            ("GET", ["results", id]) => self.result(env, id, query, request),
            _ => Response::new(404, ""),
        })
    }

    async fn take_on(&self, env: &Env, asked: Asked) -> Response {
        let id = asked.task_uuid.clone();
        let sync = asked.delivery_method != "async";
        let known = self.jobs.borrow().contains_key(&id);
        if !known || self.forgetful {
            let mood = MOODS[env.mood(MOODS.len() as u32) as usize];
            if mood == Mood::Refused {
                return Response::new(503, "busy");
            }
            self.begin(env, asked, mood);
        }
        while sync && self.jobs.borrow()[&id].status == JobStatus::Running {
            let left = self.jobs.borrow()[&id].done_at - env.now();
            env.sleep(left.max(Duration::from_millis(1))).await;
        }
        let report = self.report(env, &id).expect("it was taken on");
        Response::new(
            if report.status == JobStatus::Running { 202 } else { 200 },
            json::write(&report),
        )
    }

    fn begin(&self, env: &Env, asked: Asked, mood: Mood) {
        let id = asked.task_uuid.clone();
        let Reference { generation, artifact } = &asked.reference;
        env.log(format!("accepted {id} for {artifact} of {generation}"));
        let video = asked.delivery_method == "async";
        let task_type = if video { TaskType::Video } else { TaskType::Image };
        let made = Made::new(&id, &asked.model, task_type);
        let (status, until) = (JobStatus::Running, Time::NEVER);
        let done_at = env.now() + mood.work();
        let job = Job { status, mood, asked, made, done_at, until };
        self.jobs.borrow_mut().insert(id.clone(), job);
        let (provider, env) = (self.clone(), env.clone());
        let work = env.clone().spawn(async move {
            env.sleep(mood.work()).await;
            provider.finish(&env, &id);
            provider.call_back(&env, &id).await;
        });
        drop(work);
    }

    fn finish(&self, env: &Env, id: &str) {
        let mut jobs = self.jobs.borrow_mut();
        let job = jobs.get_mut(id).expect("it was taken on");
        if job.mood.fails() {
            job.status = JobStatus::Failed;
            return;
        }
        job.status = JobStatus::Succeeded;
        let good = if job.mood == Mood::Expiring { EXPIRES_SOON } else { EXPIRES };
        job.until = env.now() + good;
        let Reference { generation, artifact } = &job.asked.reference;
        let Figures { width, height, cost, .. } = job.asked.figures();
        let [width, height, cost] = [width, height, cost].map(Option::unwrap_or_default);
        env.log(format!("charged {id} for {artifact} of {generation}: {width} x {height}, {cost}"));
    }

    /// Calls the webhook: once, unless the mood is otherwise.
    async fn call_back(&self, env: &Env, id: &str) {
        let webhook = self.jobs.borrow()[id].asked.webhook_url.clone();
        let Some(webhook) = webhook else { return };
        // What it says is what was so when the job was done; its address does not become younger.
        let report = self.first_report(id);
        match env.mood(5) {
            0 => deliver(env, &webhook, &report).await,
            1 => {
                deliver(env, &webhook, &report).await;
                deliver(env, &webhook, &report).await;
            }
            2 => {}
            3 => {
                env.sleep(LATE).await;
                deliver(env, &webhook, &report).await;
            }
            _ => {
                let (worker, _) = webhook.split_once('/').unwrap_or((&webhook, ""));
                let stranger = format!("{worker}/webhook?generation_id={STRANGER}");
                deliver(env, &stranger, &report).await;
                deliver(env, &webhook, &report).await;
            }
        }
    }

    /// What is said of a job to a client that asks: the address of its result is a new one.
    fn report(&self, env: &Env, id: &str) -> Option<Report> {
        let mut jobs = self.jobs.borrow_mut();
        let job = jobs.get_mut(id)?;
        if job.until < env.now() {
            job.until = env.now() + EXPIRES;
        }
        drop(jobs);
        Some(self.first_report(id))
    }

    fn first_report(&self, id: &str) -> Report {
        let jobs = self.jobs.borrow();
        let job = &jobs[id];
        let done = job.status == JobStatus::Succeeded;
        let failed = job.status == JobStatus::Failed;
        Report {
            task_uuid: id.into(),
            status: job.status,
            url: done.then(|| format!("/results/{id}?until={}", job.until.as_ms())),
            content_type: done.then(|| job.made.content_type().into()),
            figures: if done { job.asked.figures() } else { Figures::default() },
            error: failed.then(|| "the model has failed".into()),
            retryable: job.mood == Mood::FailsOnce,
        }
    }

    fn result(&self, env: &Env, id: &str, query: &str, request: &Request) -> Response {
        let until = query.strip_prefix("until=").and_then(|text| text.parse().ok());
        let mut jobs = self.jobs.borrow_mut();
        let done = |job: &&mut Job| job.status == JobStatus::Succeeded;
        let Some(job) = jobs.get_mut(id).filter(done) else { return Response::new(404, "") };
        if until.is_none_or(|until| env.now() > Time::from_ms(until)) {
            return Response::new(410, "expired");
        }
        let response = job.made.respond(request);
        // A client that has some of it, and has not said that it wants no other version, may find another.
        let some = response.status == 206 && !job.made.is_all(&response.body);
        if some && request.headers.get("if-match").is_none() && env.mood(2) == 1 {
            job.made.change();
            env.log(format!("made {id} again"));
        }
        response
    }
}

async fn deliver(env: &Env, webhook: &str, report: &Report) {
    let (worker, path) = webhook.split_once('/').unwrap_or((webhook, ""));
    let Ok(secret) = env.secret(SECRET) else { return };
    // What is called again is the same webhook: the pauses are shorter than its signature is good for.
    let request = Request::new("POST", &format!("/{path}"), json::write(report));
    let request = sign(request, secret.expose(), env.now());
    for _ in 0..=WEBHOOK_RETRIES {
        match env.fetch(worker, request.clone()).await {
            Ok(response) if response.status < 500 => return,
            Ok(_) | Err(Error::NetworkLost) => env.sleep(WEBHOOK_PAUSE).await,
            Err(_) => return,
        }
    }
}
