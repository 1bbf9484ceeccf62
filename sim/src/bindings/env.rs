//! The accessors of an environment: one for each kind of binding.

use std::sync::Arc;

use crate::bindings::bucket::Bucket;
use crate::bindings::d1_database::D1Database;
use crate::bindings::durable_object::ObjectNamespace;
use crate::bindings::kv_namespace::KvNamespace;
use crate::bindings::producer::Queue;
use crate::bindings::web_socket::WebSocket;
use crate::bindings::workflow_instance::Workflow;
use crate::engine::env::Env;
use crate::engine::ids::SocketId;
use crate::engine::variables::Secret;
use crate::protocol::op::Op;
use crate::protocol::outcome::{Error, Reply};
use crate::services::ai::{self, Label};
use crate::values::body::Body;

impl Env {
    /// The bucket bound to `name`.
    pub fn bucket(&self, name: &str) -> Bucket {
        Bucket::new(self.clone(), name)
    }

    /// The queue bound to `name`, for sending.
    pub fn queue(&self, name: &str) -> Queue {
        Queue::new(self.clone(), name)
    }

    /// The database bound to `name`.
    pub fn d1(&self, name: &str) -> D1Database {
        D1Database::new(self.clone(), name)
    }

    /// The namespace of KV bound to `name`.
    pub fn kv(&self, name: &str) -> KvNamespace {
        KvNamespace::new(self.clone(), name)
    }

    /// The workflow bound to `name`.
    pub fn workflow(&self, name: &str) -> Workflow {
        Workflow::new(self.clone(), name)
    }

    /// Asks a model about a picture.
    pub async fn ai_run(&self, model: &str, image: impl Into<Body>) -> Result<Arc<[Label]>, Error> {
        let op = Op::Ai(ai::Op { model: model.into(), image: image.into() });
        match self.call(None, op).await? {
            Reply::Ai(labels) => Ok(labels),
            other => unreachable!("a model answered with {other}"),
        }
    }

    /// The namespace of durable objects bound to `name`.
    pub fn durable_object(&self, name: &str) -> ObjectNamespace {
        ObjectNamespace::new(self.clone(), name)
    }

    /// The value of a variable.
    pub fn var(&self, name: &str) -> Result<Arc<str>, Error> {
        let value = self.var_if_set(name);
        value.ok_or_else(|| Error::app(format!("there is no variable called `{name}`")))
    }

    /// The value of a variable that a deployment need not set.
    pub fn var_if_set(&self, name: &str) -> Option<Arc<str>> {
        self.world().state().variables.get(name)
    }

    /// A secret.
    pub fn secret(&self, name: &str) -> Result<Secret, Error> {
        let value = self.world().state().variables.secret(name);
        value.ok_or_else(|| Error::app(format!("there is no secret called `{name}`")))
    }

    pub(crate) fn socket(&self, id: SocketId) -> WebSocket {
        WebSocket::new(self.clone(), id)
    }
}
