//! A host: it runs application code, crashes, and restarts with nothing but what it stored.

use std::rc::Rc;
use std::sync::Arc;

use smol_str::SmolStr;

use crate::choices::HostKey;
use crate::engine::env::Env;
use crate::engine::ids::{CallId, GateId, HostId, TaskId};
use crate::engine::objects::storage::ObjectStorage;
use crate::engine::task::Work;
use crate::protocol::frame::Frame;
use crate::protocol::object::{AlarmInfo, ObjectId};
use crate::protocol::outcome::Error;
use crate::services::queue::MessageBatch;
use crate::services::workflow::Engine;
use crate::values::body::Body;
use crate::values::hash::StableHasher;
use crate::values::time::Time;

/// Makes the future that serves a request. It is called while the state is borrowed, so the application's
/// handler runs inside the future and not here.
pub(crate) type FetchHandler = Rc<dyn Fn(Env, Invocation) -> Work<()>>;
/// Makes the future that consumes a batch, also while the state is borrowed.
pub(crate) type QueueHandler = Rc<dyn Fn(Env, MessageBatch, Invocation) -> Work<()>>;
pub(crate) type WorkflowBody = Rc<dyn Fn(Env, Engine) -> Work<()>>;
pub(crate) type BootHandler = Rc<dyn Fn(Env) -> Work<()>>;

pub(crate) struct Host {
    pub name: Arc<str>,
    /// A copy of the name for the operation of every fetch: cloning it counts no references.
    pub label: SmolStr,
    pub key: HostKey,
    /// How often the host has started, counting from 1.
    pub life: u32,
    pub up: bool,
    /// Clients and services never crash.
    pub can_crash: bool,
    /// Whether work that was spawned ends with the invocation that spawned it, as in a Worker. Elsewhere it
    /// goes on until the host crashes.
    pub ends_spawned: bool,
    pub fetch: Option<FetchHandler>,
    pub queue: Option<QueueHandler>,
    pub boot: Option<BootHandler>,
    pub object: Option<ObjectHost>,
    /// The workflow engine that runs an instance here.
    pub workflow_engine: Option<Engine>,
}

impl Host {
    pub fn new(name: &str, id: HostId, can_crash: bool) -> Host {
        Host {
            name: name.into(),
            label: name.into(),
            key: HostKey { index: id.0, hash: StableHasher::of(name) },
            life: 1,
            up: true,
            can_crash,
            ends_spawned: false,
            fetch: None,
            queue: None,
            boot: None,
            object: None,
            workflow_engine: None,
        }
    }

    pub fn id(&self) -> HostId {
        HostId(self.key.index)
    }

    /// Takes what the application has given it to run, if there is anything.
    pub fn take_handlers(&mut self) -> Option<Handlers> {
        let (fetch, queue, boot) = (self.fetch.take(), self.queue.take(), self.boot.take());
        let any = fetch.is_some() || queue.is_some() || boot.is_some();
        any.then_some(Handlers { _fetch: fetch, _queue: queue, _boot: boot })
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Host({}, life {}, up {})", self.name, self.life, self.up)
    }
}

/// The handlers of a host that serves no more; they are kept only to be dropped.
pub(crate) struct Handlers {
    _fetch: Option<FetchHandler>,
    _queue: Option<QueueHandler>,
    _boot: Option<BootHandler>,
}

/// The call that a handler works on, and whether it is the copy that a fault made of it.
#[derive(Clone, Copy)]
pub(crate) struct Invocation {
    pub call: CallId,
    pub copy: bool,
}

/// What makes a host a durable object.
pub(crate) struct ObjectHost {
    pub id: ObjectId,
    pub class: Rc<ObjectClass>,
    /// The object in memory; none before the first call and after a reset.
    pub instance: Option<Rc<dyn Instance>>,
    pub storage: ObjectStorage,
    /// The gates that `block_concurrency_while` has closed, innermost last.
    pub gates: Vec<Gate>,
    pub last_busy: Time,
    pub alarm: Alarm,
    /// How often it has reset itself, and why it did so the last time.
    pub resets: (u32, Arc<str>),
}

/// A class of objects, as it was registered.
pub(crate) struct ObjectClass {
    pub construct: Construct,
    pub alarms: bool,
}

/// An object in memory, whatever its class.
pub(crate) trait Instance {
    fn rpc(self: Rc<Self>, method: Arc<str>, args: Body) -> Work<Result<Body, Error>>;
    fn alarm(self: Rc<Self>, info: AlarmInfo) -> Work<Result<(), Error>>;
    fn message(self: Rc<Self>, socket: u32, message: Body) -> Work<Result<(), Error>>;
    fn frame(self: Rc<Self>, end: u32, frame: Frame) -> Work<Result<(), Error>>;
}

/// Makes an instance, or fails to. The binding builds what the class is given from these parts.
pub(crate) type Construct =
    Rc<dyn Fn(Env, ObjectId, ObjectStorage) -> Result<Rc<dyn Instance>, Error>>;

/// A closed gate of an object: until it opens, only tasks with its pass run.
pub(crate) struct Gate {
    pub id: GateId,
    pub waiting: Vec<TaskId>,
    /// The task that awaits the end of what keeps the gate closed.
    pub caller: Option<TaskId>,
    /// Whether that has ended, so that the gate opens when the caller has gone on.
    pub ended: bool,
    /// The pass that the caller had before.
    pub outer: Option<GateId>,
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
    /// The time at which it is tried again. An alarm that is set meanwhile has to wait for that.
    pub retry: Option<Time>,
    /// Whether it was due while a gate was closed, so that it is sent when that opens.
    pub held: bool,
}
