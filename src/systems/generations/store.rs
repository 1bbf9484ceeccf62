//! What an object remembers of its generation: the request, where it stands, and a task for each
//! artifact. Every change is made within one turn, so it is kept or lost as a whole.

use std::rc::Rc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use thunderhead_sim::{Env, Error, ObjectStorage, SortedSet, Time};

use super::copy::Copy;
use super::mistakes;
use super::wire::{Create, Figures, Progress, Standing, TaskType};
use crate::systems::ids::uuid_v7;
use crate::systems::json::{self, Kept};

const REQUEST: &str = "request";
const PHASE: &str = "phase";
const COMPLETED_AT: &str = "completedAt";
const TASK: &str = "task:";

/// How long a generation may take unless its client says otherwise.
const IMAGE_TIMEOUT: Duration = Duration::from_secs(300);
const VIDEO_TIMEOUT: Duration = Duration::from_secs(600);

/// Where a generation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// It is stored; no other service knows of it yet, and nothing has begun.
    Accepted,
    /// Its jobs are under way.
    Active,
    /// Every task is settled or out of time; the library does not know yet.
    Completing,
    /// The library has it; something may be left in the bucket.
    Sweeping,
    /// Everything is done, and forgotten but this.
    Done,
}

/// A request as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "Flat")]
pub struct Stored {
    #[serde(flatten)]
    pub create: Create,
    pub created_at: Time,
    pub timeout_at: Time,
}

/// A stored request as it is read: serde takes twice as long to read what is flattened.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Flat {
    id: String,
    model: String,
    input: Json,
    count: u32,
    tags: SortedSet<String>,
    timeout_seconds: Option<u64>,
    client: String,
    created_at: Time,
    timeout_at: Time,
}

impl From<Flat> for Stored {
    fn from(flat: Flat) -> Stored {
        let Flat { id, model, input, count, tags, timeout_seconds, client, .. } = flat;
        let create = Create { id, model, input, count, tags, timeout_seconds, client };
        Stored { create, created_at: flat.created_at, timeout_at: flat.timeout_at }
    }
}

/// One artifact to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub status: TaskStatus,
    /// Which job for this artifact it is, counting from 1.
    pub attempt: u32,
    pub artifact: String,
    /// Where the provider has the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// What the provider says of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether something may be in the bucket under its key, now or when a late request arrives.
    #[serde(default)]
    pub put: bool,
    /// How far its copy is, if that takes more than one part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<Copy>,
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskStatus {
    /// The provider may not know of its job.
    Pending,
    /// The provider has the job and will call back.
    Submitted,
    /// The provider has the result.
    Streaming,
    /// The bucket has the result.
    Stored,
    /// The library has the artifact.
    Ready,
    /// There will be no artifact.
    Failed,
}

impl Task {
    /// The name of the present job. It is known before the provider is asked, so to ask again is to
    /// ask for the same job.
    pub fn task_uuid(&self) -> String {
        format!("{}-{}", self.artifact, self.attempt)
    }

    /// Whether nothing more will come of it.
    pub fn is_settled(&self) -> bool {
        matches!(self.status, TaskStatus::Ready | TaskStatus::Failed)
    }
}

/// The storage of one generation. Only what is stored counts; what was read from it is kept as long as it is the same.
#[derive(Clone, Debug)]
pub struct Store {
    pub storage: ObjectStorage,
    read: Rc<Read>,
}

#[derive(Debug, Default)]
struct Read {
    phase: Kept<(), Phase>,
    request: Kept<(), Stored>,
    tasks: Kept<u32, Task>,
}

impl Store {
    pub fn new(storage: ObjectStorage) -> Store {
        Store { storage, read: Rc::default() }
    }

    /// Where the generation stands, if there is one.
    pub fn phase(&self) -> Result<Option<Phase>, Error> {
        let phase = self.get(PHASE, &self.read.phase, ())?;
        Ok(phase.map(|phase| *phase))
    }

    /// Moves it on.
    pub fn set_phase(&self, phase: Phase) -> Result<(), Error> {
        self.put(PHASE, &phase)
    }

    /// Whether its jobs are under way.
    pub fn is_active(&self) -> Result<bool, Error> {
        Ok(self.phase()? == Some(Phase::Active))
    }

    /// Stores a new request.
    pub fn accept(&self, create: Create, env: &Env) -> Result<(), Error> {
        let usual = match TaskType::of_model(&create.model) {
            TaskType::Image => IMAGE_TIMEOUT,
            TaskType::Video => VIDEO_TIMEOUT,
        };
        let mut timeout = create.timeout_seconds.map_or(usual, Duration::from_secs);
        if mistakes::HAS_A_DAY.is_made(env) {
            timeout = Duration::from_secs(86_400);
        }
        for n in 0..create.count {
            let artifact = match mistakes::ARTIFACTS_BY_NUMBER.is_made(env) {
                true => format!("{}-{n}", create.model),
                false => uuid_v7(env),
            };
            let task = Task {
                artifact,
                status: TaskStatus::Pending,
                attempt: 1,
                url: None,
                content_type: None,
                figures: None,
                error: None,
                put: false,
                copy: None,
            };
            self.put_task(n, &task)?;
        }
        let (created_at, timeout_at) = (env.now(), env.now() + timeout);
        self.put(REQUEST, &Stored { create, created_at, timeout_at })?;
        self.set_phase(Phase::Accepted)
    }

    /// Whose generation it is, until that is forgotten.
    pub fn client(&self) -> Result<Option<String>, Error> {
        let stored = self.get(REQUEST, &self.read.request, ())?;
        Ok(stored.map(|stored| stored.create.client.clone()))
    }

    /// Reads the request.
    pub fn request(&self) -> Result<Rc<Stored>, Error> {
        self.get(REQUEST, &self.read.request, ())?.ok_or_else(|| Error::app("there is no request"))
    }

    /// Reads one task.
    pub fn task(&self, n: u32) -> Result<Rc<Task>, Error> {
        let task = self.get(&format!("{TASK}{n}"), &self.read.tasks, n)?;
        task.ok_or_else(|| Error::app(format!("there is no task {n}")))
    }

    /// Keeps a task as it is now.
    pub fn put_task(&self, n: u32, task: &Task) -> Result<(), Error> {
        self.put(&format!("{TASK}{n}"), task)
    }

    /// Reads every task, in order.
    pub fn tasks(&self) -> Result<Vec<Rc<Task>>, Error> {
        (0..self.request()?.create.count).map(|n| self.task(n)).collect()
    }

    /// No task will be worked on any more; when that was, is remembered.
    pub fn complete(&self, now: Time) -> Result<(), Error> {
        self.put(COMPLETED_AT, &now)?;
        self.set_phase(Phase::Completing)
    }

    /// When the last task was settled, or its time was up.
    pub fn completed_at(&self) -> Result<Time, Error> {
        let at = self.storage.get(COMPLETED_AT)?.ok_or_else(|| Error::app("it is not complete"))?;
        json::read(&at)
    }

    /// Forgets everything but that there is nothing left to do.
    pub fn forget(&self, env: &Env) -> Result<(), Error> {
        self.storage.delete_all();
        if mistakes::UNREADABLE_END.is_made(env) {
            return self.storage.put(PHASE, "done");
        }
        self.set_phase(Phase::Done)
    }

    /// How far it is.
    pub fn progress(&self, env: &Env) -> Result<Progress, Error> {
        let standing = match self.phase()? {
            None => Standing::Unknown,
            Some(Phase::Sweeping) if mistakes::SWEEPING_IS_ACTIVE.is_made(env) => Standing::Active,
            Some(Phase::Accepted | Phase::Active) => Standing::Active,
            Some(Phase::Completing | Phase::Sweeping | Phase::Done) => Standing::Settled,
        };
        if standing != Standing::Active {
            return Ok(Progress { standing, count: 0, ready: 0, failed: 0, client: None });
        }
        let tasks = self.tasks()?;
        let of = |status| tasks.iter().filter(|task| task.status == status).count() as u32;
        let (ready, failed) = (of(TaskStatus::Ready), of(TaskStatus::Failed));
        Ok(Progress { standing, count: tasks.len() as u32, ready, failed, client: None })
    }

    fn get<K: Ord, T: DeserializeOwned>(
        &self,
        key: &str,
        read: &Kept<K, T>,
        of: K,
    ) -> Result<Option<Rc<T>>, Error> {
        let stored = self.storage.get(key)?;
        stored.as_ref().map(|stored| read.read(of, stored)).transpose()
    }

    fn put(&self, key: &str, value: &impl Serialize) -> Result<(), Error> {
        self.storage.put(key, json::write(value))
    }
}
