//! The object that owns a request while it is under way.
//!
//! What it decides is decided between two awaits and from what is stored, so that it can die anywhere
//! and go on from there; what is in memory only keeps it from doing the same thing twice at once.
//! Three things wake it: calls, its alarm, and a message in a queue. The alarm alone would not do:
//! the platform drops one that fails too often, and one that dies with the turn that set it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use serde_json::json;
use thunderhead_sim::queue::{MessageBody, MessageSendRequest};
use thunderhead_sim::{
    AlarmInfo, Body, DurableObject, Env, Error, ObjectState, SortedSet, Time, methods,
};

use super::library;
use super::mistakes;
use super::names::{BUCKET, WATCH, key};
use super::store::{Phase, Store, Task};
use super::wire::{Create, Progress, Report};
use crate::systems::json;

/// How soon the message that looks after a generation comes.
pub const WATCH_DELAY: u32 = 30;
/// What has failed is tried again after an eighth of the time since the request, within these bounds: soon at first,
/// and not thousands of times when something is down for days.
const RETRY_MIN: Duration = Duration::from_secs(5);
const RETRY_MAX: Duration = Duration::from_secs(300);
/// The object looks at its tasks again after as long as they have taken so far, within these bounds.
const LOOK_MIN: Duration = Duration::from_secs(20);
const LOOK_MAX: Duration = Duration::from_secs(300);
/// How long after the last request to the bucket nothing of it is on its way any more.
const SETTLED: Duration = Duration::from_secs(900);

/// The object of one generation.
#[derive(Clone, Debug)]
pub struct Generation {
    pub(super) ctx: ObjectState,
    pub(super) env: Env,
    pub(super) store: Store,
    /// The tasks that are being worked on.
    pub(super) working: Rc<RefCell<SortedSet<u32>>>,
    /// Whether the end is being written.
    ending: Rc<Cell<bool>>,
}

impl DurableObject for Generation {
    const ALARM: bool = true;

    /// Creates nothing, so a request for an unknown id leaves no data behind.
    fn new(ctx: ObjectState, env: Env) -> Generation {
        let store = Store::new(ctx.storage().clone());
        if mistakes::WRITES_AT_BIRTH.is_made(&env) {
            store.storage.put("born", "yes").expect("a short key");
        }
        Generation { ctx, env, store, working: Rc::default(), ending: Rc::default() }
    }

    async fn rpc(&self, method: &str, args: Body) -> Result<Body, Error> {
        methods!(self, method, args => async create, progress, webhook, async watch)
    }

    /// The platform tries an alarm again a few times and then drops it. So a handler that runs at all sets another one
    /// when it fails, and only an alarm whose every try is lost on its way is dropped.
    async fn alarm(&self, _: AlarmInfo) -> Result<(), Error> {
        if mistakes::ALARM_READS_THE_REQUEST.is_made(&self.env) {
            self.store.request()?;
        }
        match self.resume().await {
            Err(error) => {
                self.env.log(format!("will try again: {error}"));
                self.try_again()
            }
            Ok(()) => Ok(()),
        }
    }
}

/// What became of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Heard {
    /// It was about a job that is under way, or that has been heard of before.
    Taken,
    /// There is no such generation, or no such job in it.
    Unknown,
    /// The generation is settled.
    Gone,
}

impl Generation {
    /// Takes a request on, unless it has been taken on before. The answer waits until a
    /// message in the queue looks after it too: a request that was answered is never forgotten.
    async fn create(&self, create: Create) -> Result<(), Error> {
        if self.store.phase()?.is_none() {
            self.store.accept(create, &self.env)?;
            self.wake_by(self.env.now() + LOOK_MIN)?;
        }
        self.resume().await
    }

    /// How far it is. A call notices that the alarm was lost.
    fn progress(&self, (): ()) -> Result<Progress, Error> {
        if self.ctx.storage().get_alarm().is_none() {
            self.look()?;
        } else {
            self.mind()?;
        }
        Ok(Progress { client: self.store.client()?, ..self.store.progress(&self.env)? })
    }

    /// Goes on from wherever it stands.
    async fn resume(&self) -> Result<(), Error> {
        if self.store.phase()? == Some(Phase::Accepted) {
            let id = &self.store.request()?.create.id;
            let message = MessageSendRequest { body: MessageBody::text(id), delay_seconds: None };
            if !mistakes::NOBODY_WATCHES.is_made(&self.env) {
                self.env.queue(WATCH).send_with(message.delayed(WATCH_DELAY)).await?;
            }
            // Others were let in meanwhile, and one of them may have come this far.
            if self.store.phase()? == Some(Phase::Accepted) {
                self.store.set_phase(Phase::Active)?;
            }
        }
        self.look()
    }

    /// The message from the queue: goes on, and says whether there is nothing left to do.
    async fn watch(&self, (): ()) -> Result<bool, Error> {
        self.resume().await?;
        Ok(matches!(self.store.phase()?, None | Some(Phase::Done)))
    }

    /// A job has ended, says the provider. Only what is stored counts, and only once.
    fn webhook(&self, report: Report) -> Result<Heard, Error> {
        match self.store.phase()? {
            // Before it is active it has no jobs.
            _ if mistakes::EVERY_WEBHOOK_IS_WELCOME.is_made(&self.env)
                && !self.store.is_active()? =>
            {
                return Ok(Heard::Taken);
            }
            None | Some(Phase::Accepted) => return Ok(Heard::Unknown),
            Some(Phase::Active) => {}
            Some(_) => return Ok(Heard::Gone),
        }
        let mut tasks = (0..).zip(self.store.tasks()?);
        let ours = |task: &Task| report.task_uuid.starts_with(&task.artifact);
        let Some((n, task)) = tasks.find(|(_, task)| ours(task)) else { return Ok(Heard::Unknown) };
        if task.task_uuid() == report.task_uuid && self.learn(n, task.attempt, &report)? {
            self.start(n);
        }
        self.mind()?;
        Ok(Heard::Taken)
    }

    /// Sets to work on every task that is not settled, and makes sure to look again.
    fn look(&self) -> Result<(), Error> {
        self.mind()?;
        if self.store.is_active()? {
            for (n, task) in (0..).zip(self.store.tasks()?) {
                if !task.is_settled() {
                    self.start(n);
                }
            }
        }
        Ok(())
    }

    /// Ends what is to be ended, and sees to it that the alarm is set as long as anything is left to
    /// do.
    fn mind(&self) -> Result<(), Error> {
        self.settle()?;
        let now = self.env.now();
        let at = match self.store.phase()? {
            None | Some(Phase::Done) => return Ok(()),
            Some(Phase::Accepted) => now + LOOK_MIN,
            Some(Phase::Completing) => now + self.pause(self.store.completed_at()?),
            Some(Phase::Active) => {
                let asked = self.store.request()?;
                asked.timeout_at.min(now + self.pause(asked.created_at))
            }
            Some(Phase::Sweeping) => {
                let due = self.store.completed_at()? + SETTLED;
                due.max(now + self.pause(due))
            }
        };
        self.wake_by(at)
    }

    /// How long to wait before the next look at what has gone on since then.
    fn pause(&self, since: Time) -> Duration {
        (self.env.now() - since).clamp(LOOK_MIN, LOOK_MAX)
    }

    /// Ends the generation when its tasks are settled or its time is up.
    pub(super) fn settle(&self) -> Result<(), Error> {
        let now = self.env.now();
        if self.store.is_active()? {
            let late = now >= self.store.request()?.timeout_at;
            if late || self.store.tasks()?.iter().all(|task| task.is_settled()) {
                self.store.complete(now)?;
            }
        }
        let due = match self.store.phase()? {
            Some(Phase::Completing) => true,
            Some(Phase::Sweeping) => now >= self.store.completed_at()? + SETTLED,
            _ => false,
        };
        if due && !self.ending.replace(true) {
            let this = self.clone();
            drop(self.env.spawn(async move {
                let ended = this.end().await;
                this.ending.set(false);
                this.again_if(ended);
            }));
        }
        Ok(())
    }

    /// Tells the library, and clears up what no row leads to.
    async fn end(&self) -> Result<(), Error> {
        let tasks = self.store.tasks()?;
        let (asked, completed_at) = (self.store.request()?, self.store.completed_at()?);
        let settled = || json::write(&json!({ "standing": "settled" }));
        if mistakes::TELLS_THE_END_EARLY.is_made(&self.env) {
            self.ctx.broadcast(settled());
        }
        // Asked again when it is time to sweep: what it says then is what it said before.
        let made = library::finish(&self.env, &asked, completed_at).await?;
        self.ctx.broadcast(settled());
        // What was not answered may still arrive in the bucket, and no row leads there.
        let sweeps_all = mistakes::SWEEPS_EVERYTHING.is_made(&self.env);
        let doubtful =
            |task: &&Rc<Task>| task.put && (sweeps_all || !made.contains(&task.artifact));
        let doubtful: Vec<&Rc<Task>> = tasks.iter().filter(doubtful).collect();
        if doubtful.is_empty() || mistakes::NEVER_SWEEPS.is_made(&self.env) {
            return self.store.forget(&self.env);
        }
        let settled_at = match mistakes::SWEEPS_AT_ONCE.is_made(&self.env) {
            true => completed_at,
            false => completed_at + SETTLED,
        };
        if self.env.now() < settled_at {
            self.store.set_phase(Phase::Sweeping)?;
            return self.mind();
        }
        for task in &doubtful {
            self.abort(task).await?;
        }
        let keys: Vec<String> = doubtful.iter().map(|task| key(&task.artifact)).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        self.env.bucket(BUCKET).delete_multiple(&keys).await?;
        self.store.forget(&self.env)
    }

    /// Tries again soon what did not work, if anything is left to do.
    pub(super) fn again_if<T>(&self, result: Result<T, Error>) {
        let Err(error) = result else { return };
        if !matches!(self.store.phase(), Ok(None | Some(Phase::Done))) {
            self.env.log(format!("will try again: {error}"));
            self.try_again().expect("the class has an alarm");
        }
    }

    fn try_again(&self) -> Result<(), Error> {
        let now = self.env.now();
        let age = self.store.request().map_or(Duration::ZERO, |asked| now - asked.created_at);
        self.wake_by(now + (age / 8).clamp(RETRY_MIN, RETRY_MAX))
    }

    /// Sees to it that the alarm goes off no later than that.
    fn wake_by(&self, at: Time) -> Result<(), Error> {
        let storage = self.ctx.storage();
        if storage.get_alarm().is_none_or(|set| set > at) {
            storage.set_alarm(at)?;
        }
        Ok(())
    }
}
