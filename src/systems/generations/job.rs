//! Work on one task: the provider makes it, the bucket keeps it, the library shows it.

use std::rc::Rc;
use std::time::Duration;

use serde_json::json;
use thunderhead_sim::{Error, Request, Response};

use super::generation::Generation;
use super::library;
use super::mistakes;
use super::names::{PROVIDER, WEB};
use super::store::{Task, TaskStatus};
use super::wire::{Figures, JobStatus, Report, TaskType};
use crate::systems::json;

/// How many jobs an artifact may take, if the provider says that another may fare better.
const ATTEMPTS_MAX: u32 = 3;
/// How long the provider is waited for.
const PROVIDER_TIMEOUT: Duration = Duration::from_secs(90);

impl Generation {
    /// Sets to work on a task, unless that is happening already.
    pub(super) fn start(&self, n: u32) {
        if !self.working.borrow_mut().insert(n) {
            return;
        }
        let this = self.clone();
        drop(self.env.spawn(async move {
            let worked = this.work(n).await;
            this.working.borrow_mut().remove(&n);
            this.again_if(worked.and_then(|()| this.settle()));
        }));
    }

    async fn work(&self, n: u32) -> Result<(), Error> {
        while self.store.is_active()? {
            let task = self.store.task(n)?;
            let more = match task.status {
                TaskStatus::Pending => {
                    let report = self.submit(&task).await;
                    self.heard(n, &task, report)?
                }
                TaskStatus::Submitted => {
                    let report = self.ask(&task).await;
                    self.heard(n, &task, report)?
                }
                TaskStatus::Streaming => self.stream(n, &task).await?,
                TaskStatus::Stored => self.show(n, &task).await?,
                TaskStatus::Ready | TaskStatus::Failed => false,
            };
            if !more {
                break;
            }
        }
        Ok(())
    }

    /// Asks for the job. The provider knows by its name whether it has it already.
    async fn submit(&self, task: &Task) -> Result<Report, Error> {
        let asked = &self.store.request()?.create;
        let mut job = json!({
            "taskUUID": match mistakes::JOBS_WITHOUT_A_NAME.is_made(&self.env) {
                true => self.env.unique(),
                false => task.task_uuid(),
            },
            "model": asked.model,
            "input": asked.input,
            "reference": { "generation": asked.id, "artifact": task.artifact },
        });
        if TaskType::of_model(&asked.model) == TaskType::Video {
            job["deliveryMethod"] = "async".into();
            job["webhookURL"] = format!("{WEB}/webhook?generation_id={}", asked.id).into();
        }
        let response = self.provider(Request::new("POST", "/tasks", json::write(&job))).await?;
        match response.status {
            200..=299 => json::read(&response.body),
            // What is wrong with a request today is wrong with it tomorrow.
            400..=428 => Ok(failed(task, &response)),
            503 if mistakes::BUSY_IS_FINAL.is_made(&self.env) => Ok(failed(task, &response)),
            status => Err(Error::app(format!("the provider answered {status}"))),
        }
    }

    /// Asks how the job is getting on; one that the provider has not heard of is asked for again.
    pub(super) async fn ask(&self, task: &Task) -> Result<Report, Error> {
        let path = format!("/tasks/{}", task.task_uuid());
        let response = self.provider(Request::new("GET", &path, "")).await?;
        match response.status {
            200 => json::read(&response.body),
            404 => self.submit(task).await,
            status => Err(Error::app(format!("the provider answered {status}"))),
        }
    }

    /// Takes in an answer of the provider. That there was none does not matter if a webhook has come
    /// meanwhile.
    fn heard(&self, n: u32, asked: &Task, report: Result<Report, Error>) -> Result<bool, Error> {
        match report {
            Ok(report) => self.learn(n, asked.attempt, &report),
            Err(_) if !self.store.is_active()? => Ok(false),
            Err(error) if *self.store.task(n)? == *asked => Err(error),
            Err(_) => Ok(true),
        }
    }

    /// Takes in what the provider says of a job; whether there is something to do about it now. What
    /// it says of a job whose end is known, or that another has replaced, is no news.
    pub(super) fn learn(&self, n: u32, attempt: u32, report: &Report) -> Result<bool, Error> {
        if !self.store.is_active()? {
            return Ok(false);
        }
        let mut task = (*self.store.task(n)?).clone();
        let old_news = task.status >= TaskStatus::Streaming
            && !mistakes::HEARS_EVERYTHING_AGAIN.is_made(&self.env);
        if task.attempt != attempt || old_news {
            return Ok(!task.is_settled());
        }
        match report.status {
            JobStatus::Running if task.status == TaskStatus::Submitted => return Ok(false),
            JobStatus::Running => task.status = TaskStatus::Submitted,
            JobStatus::Succeeded => {
                task.status = TaskStatus::Streaming;
                task.url.clone_from(&report.url);
                task.content_type.clone_from(&report.content_type);
                task.figures = Some(report.figures);
            }
            JobStatus::Failed
                if report.retryable
                    && (attempt < ATTEMPTS_MAX || mistakes::TRIES_FOR_EVER.is_made(&self.env)) =>
            {
                task.status = TaskStatus::Pending;
                task.attempt += 1;
            }
            JobStatus::Failed => {
                task.status = TaskStatus::Failed;
                task.error.clone_from(&report.error);
            }
        }
        self.store.put_task(n, &task)?;
        if task.is_settled() {
            self.tell()?;
        }
        Ok(!matches!(task.status, TaskStatus::Submitted))
    }

    /// Shows the artifact in the library. Only the library knows whether it came in time.
    async fn show(&self, n: u32, task: &Task) -> Result<bool, Error> {
        let of = &self.store.request()?.create;
        if mistakes::READY_BEFORE_ITS_ROW.is_made(&self.env) {
            self.changed(n, &Task { status: TaskStatus::Ready, ..task.clone() })?;
            self.tell()?;
        }
        let stored = |other: &Rc<Task>| other.status == TaskStatus::Stored;
        let shown = match mistakes::ALL_AT_ONCE.is_made(&self.env) {
            true => self.store.tasks()?.into_iter().filter(stored).collect(),
            false => vec![Rc::new(task.clone())],
        };
        library::add_artifacts(&self.env, of, &shown).await?;
        if self.changed(n, &Task { status: TaskStatus::Ready, ..task.clone() })? {
            self.tell()?;
        }
        Ok(false)
    }

    /// Keeps a task as it is now, if the generation is still under way.
    pub(super) fn changed(&self, n: u32, task: &Task) -> Result<bool, Error> {
        let active = self.store.is_active()?;
        if active {
            self.store.put_task(n, task)?;
        }
        Ok(active)
    }

    pub(super) async fn provider(&self, request: Request) -> Result<Response, Error> {
        let answer = self.env.timeout(PROVIDER_TIMEOUT, self.env.fetch(PROVIDER, request)).await;
        answer.unwrap_or(Err(Error::NetworkLost))
    }

    /// Tells connected clients how far it is; others have to ask.
    fn tell(&self) -> Result<(), Error> {
        self.ctx.broadcast(json::write(&self.store.progress(&self.env)?));
        Ok(())
    }
}

fn failed(task: &Task, response: &Response) -> Report {
    Report {
        task_uuid: task.task_uuid(),
        status: JobStatus::Failed,
        url: None,
        content_type: None,
        figures: Figures::default(),
        error: Some(response.body.text().unwrap_or_default().into()),
        retryable: false,
    }
}
