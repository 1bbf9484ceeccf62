//! The plan's object: all the messy state of a request in flight, in memory and in storage.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use thunderhead_sim::{AlarmInfo, Body, DurableObject, Env, Error, ObjectState, Request, Time};

use crate::systems::generations::names::{BUCKET, LIBRARY, PROVIDER, WEB, key};
use crate::systems::generations::wire::{Create, JobStatus, Report, TaskType};
use crate::systems::ids::uuid_v7;
use crate::systems::json;

const ARTIFACT: &str =
    "INSERT INTO artifacts (id, generation_id, content_type, metadata, created_at)
  VALUES (?, ?, ?, ?, ?)";
const GENERATION: &str = "INSERT INTO generations
  (id, status, provider, model, input, output_count, created_at, completed_at)
  VALUES (?, ?, 'provider', ?, ?, ?, ?, ?)";
const TAG: &str = "INSERT INTO tags (tag, target_type, target_id) VALUES (?, 'generation', ?)";

/// What a request that is fired again after a restart is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Refire {
    /// The same request: it keeps its name.
    Same,
    /// A request of its own.
    Anew,
}

/// The object of one generation.
pub struct Manager {
    ctx: ObjectState,
    env: Env,
    state: Rc<RefCell<Option<RequestState>>>,
    refire: Refire,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestState {
    status: Status,
    tasks: Vec<Task>,
    #[serde(flatten)]
    create: Create,
    created_at: Time,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Active,
    Completing,
    Done,
    Failed,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Task {
    status: TaskStatus,
    artifact_id: String,
    task_uuid: Option<String>,
    error: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TaskStatus {
    Pending,
    Submitted,
    Streaming,
    Ready,
    Failed,
}

impl Task {
    fn is_resolved(&self) -> bool {
        matches!(self.status, TaskStatus::Ready | TaskStatus::Failed)
    }
}

impl DurableObject for Manager {
    async fn rpc(&self, method: &str, args: Body) -> Result<Body, Error> {
        match method {
            "create" => self.create(json::read(&args)?),
            "handleWebhook" => self.handle_webhook(&json::read(&args)?).await,
            "status" => Ok(self.status()),
            _ => Err(Error::app(format!("there is no method {method}"))),
        }
    }

    async fn alarm(&self, _: AlarmInfo) -> Result<(), Error> {
        let over = |state: &RequestState| matches!(state.status, Status::Done | Status::Failed);
        if self.state.borrow().as_ref().is_none_or(over) {
            return Ok(());
        }
        self.change(|state| {
            for task in state.tasks.iter_mut().filter(|task| !task.is_resolved()) {
                task.status = TaskStatus::Failed;
                task.error = Some("timed out".into());
            }
        })?;
        self.finish().await
    }
}

/// The plan sets no limit. More tasks than these do not fit into the memory that an isolate has.
const TASKS_MAX: u32 = 100_000;

impl Manager {
    /// A restart resumes from where it was.
    pub fn new(ctx: ObjectState, env: Env, refire: Refire) -> Manager {
        let stored = ctx.storage().get("request").ok().flatten();
        let state: Option<RequestState> = stored.and_then(|body| json::read(&body).ok());
        let manager = Manager { ctx, env, state: Rc::new(RefCell::new(state)), refire };
        manager.resume();
        manager
    }

    fn this(&self) -> Manager {
        let (ctx, env, state) = (self.ctx.clone(), self.env.clone(), self.state.clone());
        Manager { ctx, env, state, refire: self.refire }
    }

    fn create(&self, create: Create) -> Result<Body, Error> {
        if create.count > TASKS_MAX {
            return Err(Error::app("RangeError: Invalid array length"));
        }
        let now = self.env.now();
        let usual = match TaskType::of_model(&create.model) {
            TaskType::Image => 300,
            TaskType::Video => 600,
        };
        let timeout = Duration::from_secs(create.timeout_seconds.unwrap_or(usual));
        let task = |_| Task {
            artifact_id: uuid_v7(&self.env),
            status: TaskStatus::Pending,
            task_uuid: None,
            error: None,
        };
        let tasks = (0..create.count).map(task).collect();
        let state = RequestState { create, tasks, status: Status::Active, created_at: now };
        *self.state.borrow_mut() = Some(state);
        self.change(|_| {})?;
        self.ctx.storage().set_alarm(now + timeout)?;
        self.resume();
        Ok(Body::empty())
    }

    /// Changes the state in memory and in storage.
    fn change(&self, change: impl FnOnce(&mut RequestState)) -> Result<(), Error> {
        let mut state = self.state.borrow_mut();
        let state = state.as_mut().ok_or_else(|| Error::app("tasks of undefined"))?;
        change(state);
        self.ctx.storage().put("request", json::write(state))
    }

    /// Fires the requests that have no response yet. A job that will call back is left alone.
    fn resume(&self) {
        let Some(state) = self.state.borrow().clone() else { return };
        if state.status != Status::Active {
            return;
        }
        let calls_back = TaskType::of_model(&state.create.model) == TaskType::Video;
        for (n, task) in state.tasks.iter().enumerate() {
            let waits = calls_back && task.status == TaskStatus::Submitted;
            if !task.is_resolved() && !waits {
                let this = self.this();
                drop(self.env.spawn(async move { this.fire(n).await }));
            }
        }
    }

    async fn fire(&self, n: usize) -> Result<(), Error> {
        let uuid = uuid_v7(&self.env);
        self.change(|state| {
            let task = &mut state.tasks[n];
            task.status = TaskStatus::Submitted;
            if !(self.refire == Refire::Same && task.task_uuid.is_some()) {
                task.task_uuid = Some(uuid);
            }
        })?;
        let state = self.state.borrow().clone().ok_or_else(|| Error::app("tasks of undefined"))?;
        let task = &state.tasks[n];
        let mut job = json!({
            "taskUUID": task.task_uuid,
            "model": state.create.model,
            "input": state.create.input,
            "reference": { "generation": state.create.id, "artifact": task.artifact_id },
        });
        if TaskType::of_model(&state.create.model) == TaskType::Video {
            job["deliveryMethod"] = "async".into();
            job["webhookURL"] = format!("{WEB}/webhook?generation_id={}", state.create.id).into();
        }
        let answer =
            self.env.fetch(PROVIDER, Request::new("POST", "/tasks", json::write(&job))).await;
        match answer.and_then(|response| json::read::<Report>(&response.body)) {
            Ok(report) => self.handle(n, &report).await,
            Err(error) => self.failed(n, &error.to_string()).await,
        }
    }

    async fn handle_webhook(&self, report: &Report) -> Result<Body, Error> {
        let state = self.state.borrow().clone().ok_or_else(|| Error::app("tasks of undefined"))?;
        let ours = |task: &Task| task.task_uuid.as_ref() == Some(&report.task_uuid);
        if let Some(n) = state.tasks.iter().position(ours) {
            self.handle(n, report).await?;
        }
        Ok(Body::empty())
    }

    /// Takes in what the provider says: a failure of one output leaves the others alone.
    async fn handle(&self, n: usize, report: &Report) -> Result<(), Error> {
        let resolved =
            self.state.borrow().as_ref().is_some_and(|state| state.tasks[n].is_resolved());
        match report.status {
            _ if resolved => Ok(()),
            JobStatus::Running => Ok(()),
            JobStatus::Failed => self.failed(n, report.error.as_deref().unwrap_or_default()).await,
            JobStatus::Succeeded => match self.store(n, report).await {
                Ok(()) => self.completed().await,
                Err(error) => self.failed(n, &error.to_string()).await,
            },
        }
    }

    async fn failed(&self, n: usize, error: &str) -> Result<(), Error> {
        self.change(|state| {
            state.tasks[n].status = TaskStatus::Failed;
            state.tasks[n].error = Some(error.into());
        })?;
        self.completed().await
    }

    /// Streams the result to R2 and writes its row.
    async fn store(&self, n: usize, report: &Report) -> Result<(), Error> {
        self.change(|state| state.tasks[n].status = TaskStatus::Streaming)?;
        let state = self.state.borrow().clone().ok_or_else(|| Error::app("tasks of undefined"))?;
        let (artifact, generation) = (&state.tasks[n].artifact_id, &state.create.id);
        let url = report.url.as_deref().unwrap_or_default();
        let response = self.env.fetch(PROVIDER, Request::new("GET", url, "")).await?;
        if response.status != 200 {
            return Err(Error::app(format!("the result answers {}", response.status)));
        }
        self.env.bucket(BUCKET).put(&key(artifact), response.body).execute().await?;
        let row = vec![
            artifact.as_str().into(),
            generation.as_str().into(),
            report.content_type.as_deref().unwrap_or_default().into(),
            json!(report.figures).to_string().into(),
            self.env.now().unix_ms().cast_signed().into(),
        ];
        self.env.d1(LIBRARY).prepare(ARTIFACT).bind(row).run().await?;
        self.change(|state| state.tasks[n].status = TaskStatus::Ready)
    }

    /// Finishes when all outputs are resolved.
    async fn completed(&self) -> Result<(), Error> {
        let all = |state: &RequestState| state.tasks.iter().all(Task::is_resolved);
        let due =
            self.state.borrow().as_ref().is_some_and(|s| s.status == Status::Active && all(s));
        if due { self.finish().await } else { Ok(()) }
    }

    /// Writes the generation, then its tags.
    async fn finish(&self) -> Result<(), Error> {
        self.change(|state| state.status = Status::Completing)?;
        let state = self.state.borrow().clone().ok_or_else(|| Error::app("tasks of undefined"))?;
        let ready =
            state.tasks.iter().filter(|task| task.status == TaskStatus::Ready).count() as i64;
        let (end, status) =
            if ready > 0 { (Status::Done, "ready") } else { (Status::Failed, "failed") };
        let id = state.create.id.as_str();
        let row = vec![
            id.into(),
            status.into(),
            state.create.model.as_str().into(),
            state.create.input.to_string().into(),
            ready.into(),
            state.created_at.unix_ms().cast_signed().into(),
            self.env.now().unix_ms().cast_signed().into(),
        ];
        let db = self.env.d1(LIBRARY);
        db.prepare(GENERATION).bind(row).run().await?;
        for tag in &state.create.tags {
            db.prepare(TAG).bind(vec![tag.as_str().into(), id.into()]).run().await?;
        }
        self.change(|state| state.status = end)
    }

    /// Status and progress while it is in flight; nothing when D1 has the truth.
    fn status(&self) -> Body {
        let state = self.state.borrow();
        let flying =
            |state: &&RequestState| matches!(state.status, Status::Active | Status::Completing);
        let Some(state) = state.as_ref().filter(flying) else { return Body::empty() };
        let of = |status| state.tasks.iter().filter(|task| task.status == status).count();
        let (ready, failed) = (of(TaskStatus::Ready), of(TaskStatus::Failed));
        let count = state.tasks.len();
        json::write(
            &json!({ "id": state.create.id, "status": "active", "count": count, "ready": ready, "failed": failed }),
        )
    }
}
