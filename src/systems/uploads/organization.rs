//! The agent of an organisation: it looks at R2, writes down what is there, and sees to it that every
//! upload gets its one workflow.
//!
//! A notification is only a reason to look. It names no version, comes late, twice or out of order,
//! and its time has ties; so what it says about the object is not believed. The agent asks R2 for the
//! current object and describes that. Looks are applied in the order in which R2 answered them (see
//! [`Organization::look`]), so a row never goes back.

mod termination;
mod tracking;

use std::cell::RefCell;

use serde_json::json;
use thunderhead_sim::agents::{self, Agent, Report, RunWorkflowOptions};
use thunderhead_sim::ai::Score;
use thunderhead_sim::r2::Date;
use thunderhead_sim::sqlite::Value;
use thunderhead_sim::workflow::{InstanceStatus, Status as Instance};
use thunderhead_sim::{Body, DurableObject, Env, Error, ObjectState, SortedMap};

use super::ledger::{ClassificationResult, Ledger, UploadStatus, list};
use super::messages::{Message, Progress};
use super::mistakes;
use super::names::{BUCKET, UploadEvent, WORKFLOW, key, workflow_id};
use super::wire::{ClassificationReport, Deleted, Named, NamedProgress, Settle};
use crate::systems::json;

/// Events whose workflow has ended before it could read the bytes, and how often that was.
const SCHEMA: &str = "create table if not exists Abandoned (eventId text primary key, \
    stops integer not null)";
const STOPS: &str = "select stops from Abandoned where eventId = ?";
const ABANDON: &str = "insert into Abandoned values (?, 1) \
    on conflict (eventId) do update set stops = stops + 1";
const RESUMED: &str = "delete from Abandoned where eventId = ? and stops = ?";

/// The agent, over one of the ledgers.
pub struct Organization {
    agent: Agent,
    ctx: ObjectState,
    env: Env,
    ledger: Box<dyn Ledger>,
    /// How many looks at each name have been applied in this life.
    applied: RefCell<SortedMap<String, u64>>,
}

impl DurableObject for Organization {
    const ALARM: bool = false;

    async fn rpc(&self, method: &str, args: Body) -> Result<Body, Error> {
        match method {
            "ingestUploadEvent" => {
                let Named { name } = json::read(&args)?;
                self.refresh(&name, None).await?;
            }
            "onDelete" => {
                let Deleted { name, event_time } = json::read(&args)?;
                if mistakes::TELLS_OF_EVERY_DELETION.is_made(&self.env) {
                    self.tell_deleted(&name, Some(&event_time));
                }
                self.refresh(&name, Some(&event_time)).await?;
            }
            "persistClassificationSuccess" => {
                let about: ClassificationReport = json::read(&args)?;
                if mistakes::RESULT_MAKES_CURRENT.is_made(&self.env) {
                    let event = UploadEvent { id: about.event_id.clone(), e_tag: String::new() };
                    self.ledger.told(&about.name, Some(&event), self.now())?;
                }
                let score = match mistakes::LOSES_THE_SCORE.is_made(&self.env) {
                    true => Score::from_millionths(0),
                    false => Score::from_millionths(about.score),
                };
                let result = ClassificationResult::classified(&about.label, score);
                self.finished(Some(&about.name), &about.event_id, &result)?;
            }
            "persistClassificationFailure" => {
                let ClassificationReport { name, event_id, error, .. } = json::read(&args)?;
                self.finished(Some(&name), &event_id, &ClassificationResult::Failed(error))?;
            }
            "onImageGone" => return self.image_gone(&json::read(&args)?).await,
            "reconcile" => {
                let Named { name } = json::read(&args)?;
                self.reconcile(&name).await?;
            }
            "getUploads" => {
                let mut rows = self.ledger.rows()?;
                if mistakes::HIDES_THE_REASON.is_made(&self.env) {
                    rows.iter_mut().for_each(|row| row[5] = Value::Null);
                }
                let uploads = list(self.agent.name()?, rows);
                return Ok(Body::from(uploads.to_string()));
            }
            "settle" => {
                let Settle { event_id } = json::read(&args)?;
                return Ok(Body::from(self.settle(&event_id).await?.to_string()));
            }
            "migrate" => drop(self.ledger.migrate(self.now())?),
            agents::CALLBACK => self.reported(&args)?,
            other => return Err(Error::app(format!("an organisation has no `{other}`"))),
        }
        Ok(Body::empty())
    }
}

impl Organization {
    /// The agent over a ledger of this kind.
    pub fn over<L: Ledger + 'static>(ctx: ObjectState, env: Env) -> Organization {
        let agent = Agent::new(ctx.clone(), env.clone());
        let ledger = Box::new(L::open(ctx.storage(), &env));
        for schema in [SCHEMA, termination::SCHEMA] {
            ctx.storage().exec(schema, &[]).expect("the names of the tables are free");
        }
        Organization { agent, ctx, env, ledger, applied: RefCell::default() }
    }

    /// Something happened to a name: describes what R2 holds now, and has it classified.
    /// If it was deleted, clients hear when, or that R2 could not be asked and it takes longer.
    async fn refresh(
        &self,
        name: &str,
        deleted: Option<&str>,
    ) -> Result<Option<UploadEvent>, Error> {
        let looked = self.look(name).await;
        if let (Err(error), Some(_)) = (&looked, deleted) {
            self.tell(&Message::UploadDeleteError { name, error: &error.to_string() });
        }
        let found = looked?;
        if found.is_none() && mistakes::KEEPS_DELETED.is_made(&self.env) {
            return Ok(None);
        }
        match &found {
            Some(event) => {
                let seen = self.ledger.told(name, found.as_ref(), self.now())?;
                self.invalidate(seen);
                self.dispatch(name, event).await?;
            }
            None => {
                let gone = self.ledger.current(name)?;
                if self.ledger.told(name, None, self.now())? {
                    self.tell_deleted(name, deleted);
                }
                if let Some(event_id) = gone {
                    self.terminate(&event_id).await?;
                }
            }
        }
        Ok(found)
    }

    /// What R2 holds under a name, to be acted upon before the next `await`.
    ///
    /// An answer of R2 is true of some moment between question and answer. If another look has been
    /// applied in between, it may have seen more, and this one asks again. So every look that is
    /// applied was asked after the one before it was applied: their order is R2's. A life of the
    /// object needs no memory of its predecessors, because their questions died with them.
    async fn look(&self, name: &str) -> Result<Option<UploadEvent>, Error> {
        let key = key(self.agent.name()?, name);
        let applied = || self.applied.borrow().get(name).copied().unwrap_or(0);
        loop {
            let before = applied();
            let found = self.env.bucket(BUCKET).head(&key).await?;
            if applied() == before || mistakes::BELIEVES_EVERY_LOOK.is_made(&self.env) {
                self.applied.borrow_mut().insert(name.into(), before + 1);
                let named = if mistakes::NAMES_ALONE.is_made(&self.env) { name } else { &key };
                return Ok(found.map(|object| UploadEvent::new(named, &object.etag)));
            }
        }
    }

    /// Sees to it that the workflow of an event has run, runs, or will.
    async fn dispatch(&self, name: &str, event: &UploadEvent) -> Result<(), Error> {
        match self.ledger.status(&event.id)? {
            Some(UploadStatus::Queued) => self.start(name, event).await,
            Some(UploadStatus::Running) if self.was_terminated(&event.id)? => {
                self.look_after(name, event).await
            }
            Some(UploadStatus::Running) => match self.stops(&event.id)? {
                Some(_) if mistakes::NEVER_RESUMES.is_made(&self.env) => Ok(()),
                Some(stops) => self.resume(&event.id, &stops).await,
                None => Ok(()),
            },
            Some(UploadStatus::Final) | None => Ok(()),
        }
    }

    async fn start(&self, name: &str, event: &UploadEvent) -> Result<(), Error> {
        self.watch(&event.id).await?;
        let id = match mistakes::RANDOM_INSTANCE.is_made(&self.env) {
            true => workflow_id(&self.env.unique()),
            false => workflow_id(&event.id),
        };
        let key = key(self.agent.name()?, name);
        let params = json!({ "name": name, "key": key, "eventId": event.id, "eTag": event.e_tag });
        let metadata = Some(json!({ "name": name }));
        let options =
            RunWorkflowOptions { id: Some(id.as_str().into()), metadata, ..Default::default() };
        match self.agent.run_workflow(WORKFLOW, params, options).await {
            Ok(_) => {}
            Err(error) if is_duplicate(&error) && mistakes::BELIEVES_EXISTS.is_made(&self.env) => {}
            // "Exists" may be false, and what exists may have ended: only its status is believed.
            Err(error) if is_duplicate(&error) => {
                let status = self.env.workflow(WORKFLOW).get(&id).await?.status().await?;
                self.track(&id)?;
                self.take_over(name, &event.id, &status)?;
            }
            Err(error) => return Err(error),
        }
        if self.ledger.started(&event.id, self.now())? {
            self.tell_progress(name, &event.id, &Progress::started());
        }
        if self.was_terminated(&event.id)? {
            self.look_after(name, event).await?;
        }
        Ok(())
    }

    /// The bytes that an abandoned workflow did not find are back: the same instance tries again.
    async fn resume(&self, event_id: &str, stops: &Value) -> Result<(), Error> {
        match self.restart(event_id).await {
            // If it has stopped again meanwhile, the count has changed, and it stays abandoned.
            Ok(()) => {
                self.ctx.storage().exec(RESUMED, &[event_id.into(), stops.clone()])?;
                Ok(())
            }
            Err(Error::Workflow(error)) if error.is_not_found() => self.not_kept(event_id),
            Err(error) => Err(error),
        }
    }

    /// A workflow did not find the bytes of its event. Unless they are back by now, it is to end, and
    /// that is written down before it hears of it: the next look that finds the bytes starts it again.
    async fn image_gone(&self, about: &ClassificationReport) -> Result<Body, Error> {
        if mistakes::PAUSES_FOR_GOOD.is_made(&self.env) {
            let instance = self.env.workflow(WORKFLOW).get(&workflow_id(&about.event_id)).await?;
            instance.pause().await?;
            return Ok(Body::from("\"again\""));
        }
        self.track(&workflow_id(&about.event_id))?;
        let found = self.look(&about.name).await?;
        let seen = self.ledger.told(&about.name, found.as_ref(), self.now())?;
        let started = self.ledger.started(&about.event_id, self.now())?;
        match found {
            None if seen => self.tell_deleted(&about.name, None),
            _ => self.invalidate(seen || started),
        }
        if found.is_some_and(|event| event.id == about.event_id) {
            return Ok(Body::from("\"again\""));
        }
        let abandons = !mistakes::ABANDONS_SILENTLY.is_made(&self.env);
        if abandons && self.ledger.status(&about.event_id)? == Some(UploadStatus::Running) {
            self.ctx.storage().exec(ABANDON, &[about.event_id.as_str().into()])?;
        }
        Ok(Body::from("\"stop\""))
    }

    /// Looks at a name without being told to, and at a workflow that should have ended long ago.
    async fn reconcile(&self, name: &str) -> Result<(), Error> {
        let Some(event) = self.refresh(name, None).await? else { return Ok(()) };
        if self.ledger.status(&event.id)? != Some(UploadStatus::Running) {
            return Ok(());
        }
        let instance = self.env.workflow(WORKFLOW).get(&workflow_id(&event.id)).await?;
        let status = instance.status().await?;
        self.take_over(name, &event.id, &status)
    }

    /// Takes the result of an instance from the platform, if it has one.
    fn take_over(&self, name: &str, event_id: &str, status: &InstanceStatus) -> Result<(), Error> {
        if !status.status.is_final() || self.stops(event_id)?.is_some() {
            return Ok(());
        }
        let output =
            status.output.as_ref().and_then(|body| json::read::<ClassificationReport>(body).ok());
        let failed = |error: &str| ClassificationResult::Failed(error.into());
        let result = match (status.status, output) {
            (Instance::Complete, Some(about)) if !about.label.is_empty() => {
                ClassificationResult::classified(&about.label, Score::from_millionths(about.score))
            }
            (Instance::Complete, Some(about)) => failed(&about.error),
            // It has ended because its bytes were gone.
            (Instance::Complete, None) => {
                self.ctx.storage().exec(ABANDON, &[event_id.into()])?;
                return Ok(());
            }
            // Its bytes were gone, and are back: it is to be restarted.
            (Instance::Terminated, _) if self.was_terminated(event_id)? => return Ok(()),
            (other, _) => match &status.error {
                Some(error) => failed(&error.message),
                None => failed(&format!("the workflow is {other}")),
            },
        };
        self.finished(Some(name), event_id, &result)
    }

    /// The workflow of an event is over; only the first report counts.
    fn finished(
        &self,
        name: Option<&str>,
        event_id: &str,
        result: &ClassificationResult,
    ) -> Result<(), Error> {
        let id = workflow_id(event_id);
        self.track(&id)?;
        self.track_result(&id, result)?;
        let seen = self.ledger.finished(event_id, result, self.now())?;
        let silent = mistakes::TELLS_NO_END.is_made(&self.env);
        match name {
            Some(name) if seen && !silent => {
                self.tell_progress(name, event_id, &Progress::finished(result));
            }
            _ => self.invalidate(seen && !silent),
        }
        Ok(())
    }

    /// What a workflow reports: how far it is, or that its body threw, which is to say that it could not persist.
    fn reported(&self, args: &Body) -> Result<(), Error> {
        let callback = self.agent.on_callback(args)?;
        let Some(event_id) = callback.workflow_id.strip_prefix("imgcls_") else { return Ok(()) };
        match callback.report {
            Report::Error { error } => {
                self.finished(None, event_id, &ClassificationResult::Failed(error.to_string()))
            }
            Report::Progress { progress } if !self.ctx.get_web_sockets().is_empty() => {
                let read = serde_json::from_value(progress);
                let NamedProgress { name, progress } =
                    read.map_err(|error| Error::app(format!("no progress: {error}")))?;
                // A report that comes late is about a row that says more.
                let current = self.ledger.current(&name)?.as_deref() == Some(event_id);
                if current && self.ledger.status(event_id)? == Some(UploadStatus::Running) {
                    self.tell_progress(&name, event_id, &progress);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn stops(&self, event_id: &str) -> Result<Option<Value>, Error> {
        let mut found = self.ctx.storage().exec(STOPS, &[event_id.into()])?;
        Ok(found.raw().next().and_then(|row| row.into_iter().next()))
    }

    fn invalidate(&self, seen: bool) {
        if seen {
            self.tell(&Message::Invalidate);
        }
    }

    fn tell_progress(&self, name: &str, event_id: &str, progress: &Progress) {
        self.tell(&Message::UploadProgress { name, event_id, progress });
    }

    fn tell_deleted(&self, name: &str, deleted: Option<&str>) {
        let now = || Date::from(self.env.now()).to_string();
        let event_time = &*deleted.map_or_else(now, String::from);
        if !mistakes::SILENT_DELETION.is_made(&self.env) {
            self.tell(&Message::UploadDeleted { name, event_time });
        }
    }

    fn tell(&self, message: &Message<'_>) {
        if !self.ctx.get_web_sockets().is_empty() {
            self.ctx.broadcast(message.to_body());
        }
    }

    fn now(&self) -> i64 {
        self.env.now().unix_ms().cast_signed()
    }
}

/// Whether `create` says that the instance is there, in the words of the platform or of the SDK.
pub fn is_duplicate(error: &Error) -> bool {
    match error {
        Error::Workflow(error) => error.is_already_exists(),
        other => other.to_string().contains("is already being tracked"),
    }
}
