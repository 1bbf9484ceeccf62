//! An object in memory, as the engine calls it.

use std::rc::Rc;
use std::sync::Arc;

use crate::engine::env::Env;
use crate::engine::host::Work;
use crate::engine::objects::storage::ObjectStorage;
use crate::protocol::error::Error;
use crate::protocol::object::{AlarmInfo, ObjectId};
use crate::values::body::Body;

/// An instance with its class forgotten.
pub(crate) trait Instance {
    fn rpc(self: Rc<Self>, method: Arc<str>, args: Body) -> Work<Result<Body, Error>>;
    fn alarm(self: Rc<Self>, info: AlarmInfo) -> Work<Result<(), Error>>;
    fn message(self: Rc<Self>, socket: u32, message: Body) -> Work<Result<(), Error>>;
}

/// Makes an instance. The binding builds what the class is given from these parts.
pub(crate) type Construct = Rc<dyn Fn(Env, ObjectId, ObjectStorage) -> Rc<dyn Instance>>;
