//! A namespace of Workers KV as application code sees it.

use std::sync::Arc;

use crate::engine::env::Env;
use crate::protocol::op::Op;
use crate::protocol::outcome::{Error, Reply};
use crate::services::kv::{self, Entry, ListOptions, Listing, PutOptions};
use crate::values::body::Body;

/// A namespace, bound by its name. What is read may be old: see [`kv`].
#[derive(Clone, Debug)]
pub struct KvNamespace {
    env: Env,
    name: Arc<str>,
}

impl KvNamespace {
    pub(crate) fn new(env: Env, name: &str) -> KvNamespace {
        KvNamespace { env, name: name.into() }
    }

    /// The value of a key.
    pub async fn get(&self, key: &str) -> Result<Option<Body>, Error> {
        Ok(self.get_with_metadata(key).await?.map(|entry| entry.value))
    }

    /// The value of a key, with its metadata and when it expires.
    pub async fn get_with_metadata(&self, key: &str) -> Result<Option<Entry>, Error> {
        match self.call(kv::Op::get(&self.name, key)).await? {
            kv::Reply::Value(entry) => Ok(entry),
            other => unreachable!("get was answered with {other}"),
        }
    }

    /// Stores a value for ever.
    pub async fn put(&self, key: &str, value: impl Into<Body>) -> Result<(), Error> {
        self.put_with(key, value, PutOptions::default()).await
    }

    /// Stores a value with metadata, or for a time.
    pub async fn put_with(
        &self,
        key: &str,
        value: impl Into<Body>,
        options: PutOptions,
    ) -> Result<(), Error> {
        self.call(kv::Op::put(&self.name, key, value, options)).await.map(drop)
    }

    /// Deletes a key.
    pub async fn delete(&self, key: &str) -> Result<(), Error> {
        self.call(kv::Op::delete(&self.name, key)).await.map(drop)
    }

    /// A page of keys.
    pub async fn list(&self, options: ListOptions) -> Result<Listing, Error> {
        match self.call(kv::Op::list(&self.name, options)).await? {
            kv::Reply::Listing(listing) => Ok(listing),
            other => unreachable!("list was answered with {other}"),
        }
    }

    async fn call(&self, op: kv::Op) -> Result<kv::Reply, Error> {
        match self.env.call(None, Op::Kv(op)).await? {
            Reply::Kv(reply) => Ok(reply),
            other => unreachable!("a namespace answered with {other}"),
        }
    }
}
