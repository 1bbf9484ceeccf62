//! Workers KV: an operation and the time go in, a reply comes out.
//!
//! A namespace keeps what every key has been. A read is answered with the latest, or, when the caller asks for a
//! location that lags, with what the key was some writes ago, as long as a location may still believe that. See
//! `docs/platform-kv.md` for what differs from the platform.

mod error;
mod key;
mod limits;
mod namespace;
mod op;
mod persistence;

use std::fmt;
use std::sync::Arc;

use crate::values::sorted_map::SortedMap;
use crate::values::time::Time;
use namespace::Namespace;

pub use error::{Error, Verb};
pub use limits::{
    DEFAULT_LIMIT, MAX_BULK_KEYS, MAX_KEY_BYTES, MAX_METADATA_BYTES, MAX_VALUE_BYTES,
    MIN_CACHE_TTL, MIN_TTL, STALE_FOR,
};
pub use op::{CALLS, Entry, ListOptions, Listed, Listing, Op, PutOptions, Reply};

/// All namespaces of the account.
///
/// ```
/// use thunderhead_sim::Time;
/// use thunderhead_sim::kv::{Kv, Op, PutOptions, Reply};
///
/// let mut kv = Kv::default();
/// kv.create_namespace("settings")?;
/// let put = |text: &str| Op::put("settings", "theme", text, PutOptions::default());
/// kv.apply(Time::ZERO, &put("light"), 0)?;
/// kv.apply(Time::from_ms(1_000), &put("dark"), 0)?;
///
/// let read = |kv: &mut Kv, at, lag| match kv.apply(Time::from_ms(at), &Op::get("settings", "theme"), lag) {
///     Ok(Reply::Value(Some(entry))) => entry.value.text().unwrap_or_default().to_string(),
///     other => panic!("{other:?}"),
/// };
/// assert_eq!(read(&mut kv, 2_000, 0), "dark");
/// assert_eq!(read(&mut kv, 2_000, 1), "light", "another location has not heard of the second write");
/// assert_eq!(read(&mut kv, 600_000, 1), "dark", "ten minutes later it has");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Kv {
    namespaces: SortedMap<Arc<str>, Namespace>,
}

/// There is a namespace of this name already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceExists(pub Arc<str>);

impl fmt::Display for NamespaceExists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is a namespace named {:?} already", self.0)
    }
}

impl std::error::Error for NamespaceExists {}

impl Kv {
    /// The name of every namespace.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.namespaces.keys().map(|name| &**name)
    }

    /// Adds an empty namespace.
    pub fn create_namespace(&mut self, name: &str) -> Result<(), NamespaceExists> {
        if self.namespaces.contains_key(name) {
            return Err(NamespaceExists(name.into()));
        }
        self.namespaces.insert(name.into(), Namespace::default());
        Ok(())
    }

    /// Carries out one operation. A read does not know the `lag` latest writes; 0 is a location that knows them all.
    pub fn apply(&mut self, now: Time, op: &Op, lag: u64) -> Result<Reply, Error> {
        op.check(now)?;
        let namespace = self.namespaces.get_mut(op.namespace());
        let namespace = namespace.ok_or_else(|| Error::NoSuchNamespace(op.namespace().into()))?;
        namespace.expire(now);
        match op {
            Op::Get { key, .. } => Ok(Reply::Value(namespace.read(now, key, lag))),
            Op::GetBulk { keys, .. } => {
                let read = keys.iter().map(|key| (key.clone(), namespace.read(now, key, lag)));
                let read: Vec<_> = read.collect();
                let bytes = read.iter().filter_map(|(_, entry)| entry.as_ref());
                if bytes.map(|entry| entry.value.len()).sum::<usize>() > MAX_VALUE_BYTES {
                    return Err(Error::bulk_too_large());
                }
                Ok(Reply::Values(read))
            }
            Op::Put { key, value, options, .. } => {
                let entry = Entry {
                    value: value.clone(),
                    metadata: options.metadata.clone(),
                    expiration: options.expires(now),
                };
                namespace.write(now, key, Some(entry));
                Ok(Reply::Done)
            }
            Op::Delete { key, .. } => {
                namespace.write(now, key, None);
                Ok(Reply::Done)
            }
            Op::List { options, .. } => Ok(Reply::Listing(namespace.list(now, options, lag))),
        }
    }
}
