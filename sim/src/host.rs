//! Hosts: what runs application code, dies, and comes back with nothing but what it stored.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use crate::call::{Request, Response};
use crate::choices::HostKey;
use crate::env::Env;
use crate::error::Error;
use crate::hash::StableHasher;
use crate::queue::MessageBatch;

/// A future that lives on one host and dies with it.
pub(crate) type Work<T> = Pin<Box<dyn Future<Output = T>>>;
pub(crate) type FetchHandler = Rc<dyn Fn(Env, Request) -> Work<Result<Response, Error>>>;
pub(crate) type QueueHandler = Rc<dyn Fn(Env, MessageBatch) -> Work<Result<(), Error>>>;
pub(crate) type BootHandler = Rc<dyn Fn(Env) -> Work<()>>;

pub(crate) struct Host {
    pub name: Arc<str>,
    pub key: HostKey,
    /// Counts from 1; a reply to an earlier life is discarded with the task that awaited it.
    pub life: u32,
    pub up: bool,
    /// Clients and services are not ours to kill.
    pub mortal: bool,
    pub fetch: Option<FetchHandler>,
    pub queue: Option<QueueHandler>,
    pub boot: Option<BootHandler>,
}

impl Host {
    pub fn new(name: &str, index: u16, mortal: bool) -> Host {
        Host {
            name: name.into(),
            key: HostKey { index, hash: StableHasher::of(name) },
            life: 1,
            up: true,
            mortal,
            fetch: None,
            queue: None,
            boot: None,
        }
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Host({}, life {}, up {})", self.name, self.life, self.up)
    }
}
