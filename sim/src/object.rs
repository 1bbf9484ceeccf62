//! Durable Objects as application code sees them: a class, its state, namespaces and stubs.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::body::{Body, hex};
use crate::call::{Op, Reply};
use crate::env::Env;
use crate::error::Error;
use crate::host::Work;
use crate::object_storage::ObjectStorage;
use crate::time::Time;
use crate::wait::JoinHandle;

/// A class of durable objects.
///
/// An instance lives in memory until its host dies or is evicted; `new` runs again on the next
/// call. Whatever must survive goes through [`ObjectState::storage`].
pub trait DurableObject: Sized + 'static {
    /// Whether the class has an alarm handler; without one no alarm can be set.
    const ALARM: bool = true;

    /// Wakes an object up.
    fn new(ctx: ObjectState, env: Env) -> Self;

    /// Answers a call.
    fn rpc(&self, method: &str, args: Body) -> impl Future<Output = Result<Body, Error>>;

    /// Its alarm has gone off.
    fn alarm(&self, info: AlarmInfo) -> impl Future<Output = Result<(), Error>> {
        let _ = info;
        async { Ok(()) }
    }

    /// A connected client has sent something.
    fn web_socket_message(
        &self,
        socket: u32,
        message: Body,
    ) -> impl Future<Output = Result<(), Error>> {
        let _ = (socket, message);
        async { Ok(()) }
    }
}

/// What an alarm handler is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AlarmInfo {
    /// The time it was set for.
    pub scheduled_time: Time,
    /// How often it has failed before.
    pub retry_count: u32,
}

impl AlarmInfo {
    /// Whether it has failed before.
    pub fn is_retry(self) -> bool {
        self.retry_count > 0
    }
}

/// The failure of a call to an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectError {
    /// The text.
    pub message: Arc<str>,
    /// The object's own code threw it.
    pub remote: bool,
    /// Trying again may help; the call may have taken effect all the same.
    pub retryable: bool,
    /// Trying again would make it worse.
    pub overloaded: bool,
    /// The object was reset: its memory and the writes of its last turn are gone.
    pub durable_object_reset: bool,
}

impl ObjectError {
    pub(crate) fn new(message: impl Into<Arc<str>>) -> ObjectError {
        ObjectError {
            message: message.into(),
            remote: false,
            retryable: false,
            overloaded: false,
            durable_object_reset: false,
        }
    }

    /// Thrown by the object's own code.
    pub(crate) fn thrown(message: impl Into<Arc<str>>) -> ObjectError {
        ObjectError { remote: true, ..ObjectError::new(message) }
    }

    /// The object was reset on purpose.
    pub(crate) fn reset(message: impl Into<Arc<str>>) -> ObjectError {
        ObjectError { durable_object_reset: true, ..ObjectError::new(message) }
    }

    /// The connection to the object is gone.
    pub(crate) fn disconnected() -> ObjectError {
        ObjectError { retryable: true, ..ObjectError::new("Network connection lost.") }
    }

    /// The refusals of an object that has too much to do; nothing has happened.
    pub(crate) fn refusals() -> [ObjectError; 4] {
        [
            "Durable Object is overloaded. Too many requests queued.",
            "Durable Object is overloaded. Too much data queued.",
            "Durable Object is overloaded. Requests queued for too long.",
            "Durable Object is overloaded. Too many requests for the same object within a 10 second window.",
        ]
        .map(|text| ObjectError { overloaded: true, ..ObjectError::new(text) })
    }
}

impl fmt::Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// An instance with its class forgotten.
pub(crate) trait Instance {
    fn rpc(self: Rc<Self>, method: Arc<str>, args: Body) -> Work<Result<Body, Error>>;
    fn alarm(self: Rc<Self>, info: AlarmInfo) -> Work<Result<(), Error>>;
    fn message(self: Rc<Self>, socket: u32, message: Body) -> Work<Result<(), Error>>;
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
}

pub(crate) type Construct = Rc<dyn Fn(ObjectState, Env) -> Rc<dyn Instance>>;

/// What an object holds of itself.
#[derive(Clone)]
pub struct ObjectState {
    pub(crate) env: Env,
    pub(crate) id: ObjectId,
    pub(crate) storage: ObjectStorage,
}

impl ObjectState {
    /// Who it is.
    pub fn id(&self) -> &ObjectId {
        &self.id
    }

    /// What survives.
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
            // Only an error of the gate itself resets the object, so this one travels inside.
            Ok(result)
        };
        self.env.block_concurrency_while(inside).await?
    }

    /// Resets the object: memory and the writes of this turn are gone, callers get the reason.
    pub async fn abort(&self, reason: Option<&str>) -> ! {
        let reason = reason.unwrap_or("Application called abort() to reset Durable Object.");
        self.env.abort(reason);
        std::future::pending().await
    }

    /// Sends to every connected client; what a dropped client misses is gone.
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

/// Which object of a namespace. However they were made, two that print alike are the same.
#[derive(Clone, Debug)]
pub struct ObjectId {
    namespace: Arc<str>,
    origin: Origin,
    /// The name of its host: readable when it can be.
    host: Arc<str>,
}

/// What an id was made from. The digits of a name are worked out when somebody asks: most stubs are
/// got by name, and a digest takes longer than the call.
#[derive(Clone, Debug)]
enum Origin {
    Name(Arc<str>),
    Hex(Arc<str>),
}

impl ObjectId {
    fn new(namespace: &Arc<str>, origin: Origin) -> ObjectId {
        let told = match &origin {
            Origin::Name(name) => name,
            Origin::Hex(hex) => &hex[..8],
        };
        let host = [namespace, ":", told].concat().into();
        ObjectId { namespace: namespace.clone(), origin, host }
    }

    /// The name it was made from, if it was.
    pub fn name(&self) -> Option<&str> {
        match &self.origin {
            Origin::Name(name) => Some(name),
            Origin::Hex(_) => None,
        }
    }

    pub(crate) fn namespace(&self) -> &Arc<str> {
        &self.namespace
    }

    pub(crate) fn host(&self) -> &Arc<str> {
        &self.host
    }

    /// The 64 digits that it prints as.
    pub(crate) fn hex(&self) -> Arc<str> {
        match &self.origin {
            Origin::Name(name) => digest(&self.namespace, "name", name),
            Origin::Hex(hex) => hex.clone(),
        }
    }
}

impl PartialEq for ObjectId {
    fn eq(&self, other: &ObjectId) -> bool {
        match (&self.origin, &other.origin) {
            (Origin::Name(one), Origin::Name(two)) => {
                (&self.namespace, one) == (&other.namespace, two)
            }
            _ => self.hex() == other.hex(),
        }
    }
}

impl Eq for ObjectId {}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hex())
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

    /// The object of that name, always the same one.
    pub fn id_from_name(&self, name: &str) -> ObjectId {
        ObjectId::new(&self.name, Origin::Name(name.into()))
    }

    /// An object that nobody has yet.
    pub fn unique_id(&self) -> ObjectId {
        let hex = digest(&self.name, "unique", &self.env.unique());
        ObjectId::new(&self.name, Origin::Hex(hex))
    }

    /// The id that [`ObjectId`] prints, of this namespace.
    pub fn id_from_string(&self, text: &str) -> Result<ObjectId, Error> {
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(Error::app("Invalid Durable Object ID: must be 64 hex digits"));
        }
        // The last quarter says which namespace the id belongs to.
        let hex = text.to_ascii_lowercase();
        if !hex.ends_with(&signature(&self.name)) {
            return Err(Error::app("Durable Object ID is not valid for this namespace."));
        }
        Ok(ObjectId::new(&self.name, Origin::Hex(hex.into())))
    }

    /// A stub for an object. Nothing happens before it is called.
    pub fn get(&self, id: ObjectId) -> Stub {
        let line = self.env.open_line();
        Stub { env: self.env.clone(), id, line, broken: Rc::default() }
    }

    /// A stub for the object of that name.
    pub fn get_by_name(&self, name: &str) -> Stub {
        self.get(self.id_from_name(name))
    }
}

/// The digits of an object; the last quarter is that of its namespace.
fn digest(namespace: &str, kind: &str, text: &str) -> Arc<str> {
    let digest = Sha256::digest(format!("{namespace}\0{kind}\0{text}"));
    format!("{}{}", &hex(&digest)[..48], signature(namespace)).into()
}

fn signature(namespace: &str) -> String {
    hex(&Sha256::digest(format!("namespace\0{namespace}")))[..16].to_string()
}

/// A connection to an object. Calls through one stub arrive in their order; after a reset the stub
/// is broken for good and a new one is needed.
#[derive(Clone, Debug)]
pub struct Stub {
    env: Env,
    id: ObjectId,
    line: u32,
    broken: Rc<RefCell<Option<Error>>>,
}

impl Stub {
    /// Which object.
    pub fn id(&self) -> &ObjectId {
        &self.id
    }

    /// Calls a method.
    pub async fn rpc(&self, method: &str, args: impl Into<Body>) -> Result<Body, Error> {
        if let Some(error) = self.broken.borrow().clone() {
            return Err(error);
        }
        let callee = self.env.object_host(&self.id)?;
        let (object, method, args) = (self.env.host_name(callee), method.into(), args.into());
        let op = Op::Rpc { object, method, args };
        match self.env.call_on(Some(callee), Some(self.line), op).await {
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

    /// Opens a WebSocket to the object.
    pub async fn connect(&self) -> Result<crate::socket::WebSocket, Error> {
        let callee = self.env.object_host(&self.id)?;
        let op = Op::Connect { object: self.env.host_name(callee) };
        match self.env.call_on(Some(callee), Some(self.line), op).await? {
            Reply::Socket(socket) => Ok(self.env.socket(socket)),
            other => unreachable!("a connection was answered with {other}"),
        }
    }
}
