//! Durable Objects as application code sees them: a class, its state, namespaces and stubs.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use crate::bindings::web_socket::WebSocket;
use crate::engine::env::Env;
use crate::engine::host::Instance;
use crate::engine::ids::{HostId, SocketId, StubId};
use crate::engine::objects::storage::ObjectStorage;
use crate::engine::task::Work;
use crate::engine::wait::JoinHandle;
use crate::protocol::frame::Frame;
use crate::protocol::object::{AlarmInfo, ObjectError, ObjectId};
use crate::protocol::op::Op;
use crate::protocol::outcome::{Error, Reply};
use crate::values::body::Body;

/// A class of durable objects.
///
/// An instance stays in memory until its host crashes or it is evicted; `new` runs again on the next
/// call. What must survive is written to [`ObjectState::storage`].
pub trait DurableObject: Sized + 'static {
    /// Whether the class has an alarm handler; without one no alarm can be set.
    const ALARM: bool = true;

    /// Constructs the object in memory, before the first call and after each reset. A class that is bound
    /// with [`Cloud::durable_object_with`](crate::Cloud::durable_object_with) needs none.
    fn new(ctx: ObjectState, env: Env) -> Self {
        let _ = env;
        let class = std::any::type_name::<Self>();
        panic!("{ctx:?}: `{class}` has no `new`; bind it with `Cloud::durable_object_with`")
    }

    /// Handles a method call.
    fn rpc(&self, method: &str, args: Body) -> impl Future<Output = Result<Body, Error>>;

    /// Handles the alarm of the object.
    fn alarm(&self, info: AlarmInfo) -> impl Future<Output = Result<(), Error>> {
        let _ = info;
        async { Ok(()) }
    }

    /// Handles a message from a connected client.
    fn web_socket_message(
        &self,
        socket: u32,
        message: Body,
    ) -> impl Future<Output = Result<(), Error>> {
        let _ = (socket, message);
        async { Ok(()) }
    }

    /// Handles a frame on a WebSocket that the object has accepted with
    /// [`accept_web_socket`](ObjectState::accept_web_socket), by the number of its end.
    fn web_socket_frame(&self, end: u32, frame: Frame) -> impl Future<Output = Result<(), Error>> {
        let _ = (end, frame);
        async { Ok(()) }
    }
}

impl<T: DurableObject> Instance for T {
    fn rpc(self: Rc<Self>, method: Arc<str>, args: Body) -> Work<Result<Body, Error>> {
        Box::pin(async move { T::rpc(&self, &method, args).await })
    }

    fn alarm(self: Rc<Self>, info: AlarmInfo) -> Work<Result<(), Error>> {
        Box::pin(async move { T::alarm(&self, info).await })
    }

    fn message(self: Rc<Self>, socket: u32, message: Body) -> Work<Result<(), Error>> {
        Box::pin(async move { T::web_socket_message(&self, socket, message).await })
    }

    fn frame(self: Rc<Self>, end: u32, frame: Frame) -> Work<Result<(), Error>> {
        Box::pin(async move { T::web_socket_frame(&self, end, frame).await })
    }
}

/// An object's access to its own id, storage, connections and gate.
#[derive(Clone)]
pub struct ObjectState {
    pub(crate) env: Env,
    pub(crate) id: ObjectId,
    pub(crate) storage: ObjectStorage,
}

impl ObjectState {
    /// The id of the object.
    pub fn id(&self) -> &ObjectId {
        &self.id
    }

    /// The storage of the object, which survives crashes.
    pub fn storage(&self) -> &ObjectStorage {
        &self.storage
    }

    /// Keeps every other event out until `work` is done. A failure resets the object.
    pub fn block_concurrency_while<T: 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + 'static,
    ) -> JoinHandle<Result<T, Error>> {
        self.env.block_concurrency_while(work)
    }

    /// Runs `work` with every other event kept out; its writes are kept or undone as one.
    pub async fn transaction<T: 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + 'static,
    ) -> Result<T, Error> {
        let storage = self.storage.clone();
        let inside = async move {
            storage.begin();
            let result = work.await;
            storage.end(result.is_ok());
            // An error of the gated work would reset the object, so that of the transaction is wrapped.
            Ok(result)
        };
        self.env.block_concurrency_while(inside).await?
    }

    /// Resets the object: its memory and the writes of this turn are lost, and its callers get the reason.
    pub async fn abort(&self, reason: Option<&str>) -> ! {
        let reason = reason.unwrap_or("Application called abort() to reset Durable Object.");
        self.env.abort(reason);
        std::future::pending().await
    }

    /// Sends to every connected client. A client whose connection is closed misses the message.
    pub fn broadcast(&self, message: impl Into<Body>) {
        let message = message.into();
        for socket in self.env.sockets() {
            self.env.push(socket, message.clone());
        }
    }

    /// The clients that are connected now.
    pub fn get_web_sockets(&self) -> Vec<u32> {
        self.env.sockets()
    }

    /// Sends to one connected client.
    pub fn send(&self, socket: u32, message: impl Into<Body>) {
        self.env.push(socket, message.into());
    }
}

impl fmt::Debug for ObjectState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectState({})", self.id)
    }
}

/// A namespace of objects, bound by its name.
#[derive(Clone, Debug)]
pub struct ObjectNamespace {
    env: Env,
    name: Arc<str>,
}

impl ObjectNamespace {
    pub(crate) fn new(env: Env, name: &str) -> ObjectNamespace {
        ObjectNamespace { env, name: name.into() }
    }

    /// The id of the object of that name, always the same one.
    pub fn id_from_name(&self, name: &str) -> ObjectId {
        ObjectId::from_name(&self.name, name)
    }

    /// The id of a new object.
    pub fn unique_id(&self) -> ObjectId {
        ObjectId::unique(&self.name, &self.env.unique())
    }

    /// Parses an id of this namespace, as [`ObjectId`] prints it.
    pub fn id_from_string(&self, text: &str) -> Result<ObjectId, Error> {
        ObjectId::from_hex(&self.name, text)
    }

    /// A stub for an object. Nothing is sent before it is called.
    pub fn get(&self, id: ObjectId) -> Stub {
        let stub = self.env.open_stub();
        Stub { env: self.env.clone(), id, stub, broken: Rc::default(), resets: Rc::default() }
    }

    /// A stub for the object of that name.
    pub fn get_by_name(&self, name: &str) -> Stub {
        self.get(self.id_from_name(name))
    }
}

/// A connection to an object. Calls through one stub arrive in their order; after a reset the stub
/// is broken for good and a new one is needed.
#[derive(Clone, Debug)]
pub struct Stub {
    env: Env,
    id: ObjectId,
    stub: StubId,
    broken: Rc<RefCell<Option<Error>>>,
    /// How often the object had reset itself when the stub was last used.
    resets: Rc<Cell<Option<u32>>>,
}

impl Stub {
    /// The id of the object that the stub calls.
    pub fn id(&self) -> &ObjectId {
        &self.id
    }

    /// Calls a method of the object.
    pub async fn rpc(&self, method: &str, args: impl Into<Body>) -> Result<Body, Error> {
        if let Some(error) = self.broken.borrow().clone() {
            return Err(error);
        }
        let callee = self.env.object_host(&self.id)?;
        self.check_resets(callee)?;
        let (object, method, args) = (self.env.host_name(callee), method.into(), args.into());
        let op = Op::Rpc { object, method, args };
        match self.env.call_object(self.stub, callee, op).await {
            Ok(Reply::Rpc(body)) => Ok(body),
            Ok(other) => unreachable!("a method was answered with {other}"),
            Err(error) => {
                let breaks = match &error {
                    Error::Object(error) => error.durable_object_reset || error.retryable,
                    error => *error == Error::NetworkLost,
                };
                if breaks {
                    self.broken.borrow_mut().get_or_insert_with(|| error.clone());
                }
                Err(error)
            }
        }
    }

    /// A stub that has been used before is broken once the object has reset itself, though no call of its own
    /// was lost with that.
    fn check_resets(&self, object: HostId) -> Result<(), Error> {
        let state = self.env.world().state();
        let (resets, reason) = &state.hosts.object(object).resets;
        if self.resets.replace(Some(*resets)).is_none_or(|before| before == *resets) {
            return Ok(());
        }
        let error = Error::Object(ObjectError::reset(reason.clone()));
        *self.broken.borrow_mut() = Some(error.clone());
        Err(error)
    }

    /// Opens a WebSocket to the object.
    pub async fn connect(&self) -> Result<WebSocket, Error> {
        let callee = self.env.object_host(&self.id)?;
        let op = Op::Connect { object: self.env.host_name(callee) };
        match self.env.call_object(self.stub, callee, op).await? {
            Reply::Socket(socket) => Ok(self.env.socket(SocketId(socket))),
            other => unreachable!("a connection was answered with {other}"),
        }
    }
}
