//! Hosts: what runs application code, dies, and comes back with nothing but what it stored.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use smol_str::SmolStr;

use crate::choices::HostKey;
use crate::engine::env::Env;
use crate::engine::objects::instance::{Construct, Instance};
use crate::engine::objects::storage::ObjectStorage;
use crate::protocol::object::{AlarmInfo, ObjectId};
use crate::services::queue::MessageBatch;
use crate::services::workflow::Engine;
use crate::values::hash::StableHasher;
use crate::values::time::Time;

/// A future that lives on one host and dies with it.
pub(crate) type Work<T> = Pin<Box<dyn Future<Output = T>>>;
/// Called with the state in hand: it makes the future, in which the application's handler is called.
pub(crate) type FetchHandler = Rc<dyn Fn(Env, Invocation) -> Work<()>>;
/// Likewise.
pub(crate) type QueueHandler = Rc<dyn Fn(Env, MessageBatch, Invocation) -> Work<()>>;
pub(crate) type WorkflowBody = Rc<dyn Fn(Env, Engine) -> Work<()>>;
pub(crate) type BootHandler = Rc<dyn Fn(Env) -> Work<()>>;

pub(crate) struct Host {
    pub name: Arc<str>,
    /// The name where every call tells it: to count references to the other would take longer.
    pub label: SmolStr,
    pub key: HostKey,
    /// Counts from 1; a reply to an earlier life is discarded with the task that awaited it.
    pub life: u32,
    pub up: bool,
    /// Clients and services are not ours to kill.
    pub can_crash: bool,
    pub fetch: Option<FetchHandler>,
    pub queue: Option<QueueHandler>,
    pub boot: Option<BootHandler>,
    pub object: Option<ObjectHost>,
    /// The life of a workflow instance that runs here.
    pub engine: Option<Engine>,
}

/// The call that a handler works on, and whether it is the network's own repetition of it.
#[derive(Clone, Copy)]
pub(crate) struct Invocation {
    pub call: u32,
    pub copy: bool,
}

/// What makes a host a durable object.
pub(crate) struct ObjectHost {
    pub id: ObjectId,
    pub class: Rc<ObjectClass>,
    /// The object in memory; none before the first call and after a reset.
    pub instance: Option<Rc<dyn Instance>>,
    pub storage: ObjectStorage,
    /// Who may run while `block_concurrency_while` is open, innermost last.
    pub gates: Vec<Gate>,
    pub last_busy: Time,
    pub alarm: Alarm,
}

/// A class of objects, as it was registered.
pub(crate) struct ObjectClass {
    pub construct: Construct,
    pub alarms: bool,
}

/// Only tasks with its pass run; the others wait.
pub(crate) struct Gate {
    pub id: u32,
    pub waiting: Vec<u32>,
}

/// Where an object's alarm stands.
#[derive(Default)]
pub(crate) struct Alarm {
    /// The time for which an event is scheduled.
    pub scheduled: Option<Time>,
    /// The handler that is running.
    pub running: Option<AlarmInfo>,
    /// How often it has failed in a row.
    pub failures: u32,
}

impl Host {
    pub fn new(name: &str, index: u16, can_crash: bool) -> Host {
        Host {
            name: name.into(),
            label: name.into(),
            key: HostKey { index, hash: StableHasher::of(name) },
            life: 1,
            up: true,
            can_crash,
            fetch: None,
            queue: None,
            boot: None,
            object: None,
            engine: None,
        }
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Host({}, life {}, up {})", self.name, self.life, self.up)
    }
}
