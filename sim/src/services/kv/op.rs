//! What a Worker can ask of KV, and what it is answered.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::{READS, WRITES};
use super::limits::{
    DEFAULT_LIMIT, MAX_BULK_KEYS, MAX_KEY_BYTES, MAX_METADATA_BYTES, MAX_VALUE_BYTES,
    MIN_CACHE_TTL, MIN_TTL,
};
use super::{Error, Verb};
use crate::values::body::Body;
use crate::values::call::{CallClass, calls};
use crate::values::time::Time;

/// One operation on one namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Op {
    /// `get(key)` and `getWithMetadata(key)`.
    Get {
        /// The namespace.
        namespace: Arc<str>,
        /// The key.
        key: Arc<str>,
        /// How many seconds the location may keep the answer.
        #[serde(default)]
        cache_ttl: Option<i64>,
    },
    /// `get(keys)` and `getWithMetadata(keys)`.
    GetBulk {
        /// The namespace.
        namespace: Arc<str>,
        /// The keys.
        keys: Vec<Arc<str>>,
    },
    /// `put(key, value, options)`.
    Put {
        /// The namespace.
        namespace: Arc<str>,
        /// The key.
        key: Arc<str>,
        /// The value.
        value: Body,
        /// Metadata, and how long it is kept.
        #[serde(default)]
        options: PutOptions,
    },
    /// `delete(key)`.
    Delete {
        /// The namespace.
        namespace: Arc<str>,
        /// The key.
        key: Arc<str>,
    },
    /// `list(options)`.
    List {
        /// The namespace.
        namespace: Arc<str>,
        /// Which keys.
        #[serde(default)]
        options: ListOptions,
    },
}

calls! {
    Op:
    Get => 49, "kv.get", READS;
    GetBulk => 50, "kv.getBulk", READS;
    Put => 51, "kv.put", WRITES;
    Delete => 52, "kv.delete", WRITES;
    List => 53, "kv.list", READS;
}

/// What is stored with a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PutOptions {
    /// When the value expires, in seconds since 1970.
    pub expiration: Option<i64>,
    /// After how many seconds it expires; this counts more than `expiration`.
    pub expiration_ttl: Option<i64>,
    /// JSON of the application's own.
    pub metadata: Option<Arc<str>>,
}

impl PutOptions {
    pub(super) fn expires(&self, now: Time) -> Option<i64> {
        self.expiration_ttl.map(|ttl| seconds(now) + ttl).or(self.expiration)
    }

    fn check(&self, now: Time) -> Result<(), Error> {
        let invalid = |what: &str, given: i64, why: &str| {
            Err(Error::invalid(Verb::Put, format!("Invalid {what} of {given}. {why}")))
        };
        if let Some(ttl) = self.expiration_ttl {
            if ttl <= 0 {
                return invalid("expiration_ttl", ttl, "Please specify integer greater than 0.");
            }
            if ttl < MIN_TTL {
                let why = format!("Expiration TTL must be at least {MIN_TTL}.");
                return invalid("expiration_ttl", ttl, &why);
            }
        } else if let Some(expiration) = self.expiration {
            if expiration <= seconds(now) {
                let why = "Please specify integer greater than the current number of seconds since the UNIX epoch.";
                return invalid("expiration", expiration, why);
            }
            if expiration < seconds(now) + MIN_TTL {
                let why =
                    format!("Expiration times must be at least {MIN_TTL} seconds in the future.");
                return invalid("expiration", expiration, &why);
            }
        }
        match self.metadata.as_ref().map(|metadata| metadata.len()) {
            Some(bytes) if bytes > MAX_METADATA_BYTES => Err(Error::metadata_too_large(bytes)),
            _ => Ok(()),
        }
    }
}

/// Which keys a page has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListOptions {
    /// How the keys begin.
    pub prefix: Option<Arc<str>>,
    /// The most keys on the page.
    pub limit: Option<i64>,
    /// The last key of the page before.
    pub cursor: Option<Arc<str>>,
}

/// A value and what is stored with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// The value.
    pub value: Body,
    /// JSON of the application's own.
    pub metadata: Option<Arc<str>>,
    /// When it expires, in seconds since 1970.
    pub expiration: Option<i64>,
}

impl Entry {
    pub(super) fn has_expired(&self, now: Time) -> bool {
        self.expiration.is_some_and(|expiration| expiration <= seconds(now))
    }
}

/// A key on a page.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// The key.
    pub name: Arc<str>,
    /// When it expires, in seconds since 1970.
    pub expiration: Option<i64>,
    /// JSON of the application's own.
    pub metadata: Option<Arc<str>>,
}

/// A page of keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Listing {
    /// In the order of their bytes.
    pub keys: Vec<Listed>,
    /// Whether there are no more.
    pub complete: bool,
    /// From where the next page goes on.
    pub cursor: Option<Arc<str>>,
}

/// What an operation answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reply {
    /// What the key holds, if anything.
    Value(Option<Entry>),
    /// What each key holds, in the order in which they were asked for.
    Values(Vec<(Arc<str>, Option<Entry>)>),
    /// The write was taken.
    Done,
    /// A page of keys.
    Listing(Listing),
}

pub(super) fn seconds(now: Time) -> i64 {
    i64::try_from(now.unix_ms() / 1000).unwrap_or(i64::MAX)
}

impl Op {
    /// `get(key)`.
    pub fn get(namespace: &str, key: &str) -> Op {
        Op::Get { namespace: namespace.into(), key: key.into(), cache_ttl: None }
    }

    /// `put(key, value, options)`.
    pub fn put(namespace: &str, key: &str, value: impl Into<Body>, options: PutOptions) -> Op {
        Op::Put { namespace: namespace.into(), key: key.into(), value: value.into(), options }
    }

    /// `delete(key)`.
    pub fn delete(namespace: &str, key: &str) -> Op {
        Op::Delete { namespace: namespace.into(), key: key.into() }
    }

    /// `list(options)`.
    pub fn list(namespace: &str, options: ListOptions) -> Op {
        Op::List { namespace: namespace.into(), options }
    }

    /// The name of the namespace.
    pub fn namespace(&self) -> &str {
        match self {
            Op::Get { namespace, .. }
            | Op::GetBulk { namespace, .. }
            | Op::Put { namespace, .. }
            | Op::Delete { namespace, .. }
            | Op::List { namespace, .. } => namespace,
        }
    }

    /// The method's name on the platform.
    pub fn name(&self) -> &'static str {
        self.call().method()
    }

    /// The boundary that it crosses: a location that lags may answer every read.
    pub fn class(&self) -> CallClass {
        match self {
            Op::Get { .. } | Op::GetBulk { .. } | Op::List { .. } => CallClass::Read,
            Op::Put { .. } | Op::Delete { .. } => CallClass::Service,
        }
    }

    /// The errors that the platform may answer with instead of applying it.
    pub fn refusals(&self) -> Vec<Error> {
        self.call().codes.iter().map(|code| Error::passing(self.verb(), *code)).collect()
    }

    /// The passing error with that status.
    pub fn refusal(&self, code: u32) -> Option<Error> {
        self.call().codes.contains(&code).then(|| Error::passing(self.verb(), code))
    }

    /// What it is about, as scripts name it: `settings/theme`.
    pub fn target(&self) -> String {
        match self {
            Op::Get { namespace, key, .. }
            | Op::Put { namespace, key, .. }
            | Op::Delete { namespace, key } => format!("{namespace}/{key}"),
            Op::GetBulk { namespace, .. } | Op::List { namespace, .. } => namespace.to_string(),
        }
    }

    fn verb(&self) -> Verb {
        match self {
            Op::Get { .. } | Op::List { .. } => Verb::Get,
            Op::GetBulk { .. } => Verb::GetBulk,
            Op::Put { .. } => Verb::Put,
            Op::Delete { .. } => Verb::Delete,
        }
    }

    /// The platform's limits, in the order in which they are tested.
    pub(super) fn check(&self, now: Time) -> Result<(), Error> {
        let verb = self.verb();
        let fits = |key: &str| match key.len() {
            bytes if bytes > MAX_KEY_BYTES => Err(Error::key_too_long(verb, bytes)),
            _ => Ok(()),
        };
        match self {
            Op::Get { key, cache_ttl, .. } => {
                fits(key)?;
                match cache_ttl {
                    Some(ttl) if *ttl < MIN_CACHE_TTL => Err(Error::invalid(
                        verb,
                        format!(
                            "Invalid cache_ttl of {ttl}. Cache TTL must be at least {MIN_CACHE_TTL}."
                        ),
                    )),
                    _ => Ok(()),
                }
            }
            Op::GetBulk { keys, .. } => {
                if keys.len() > MAX_BULK_KEYS {
                    let text = format!("You can request a maximum of {MAX_BULK_KEYS} keys");
                    return Err(Error::invalid(verb, text));
                }
                keys.iter().try_for_each(|key| fits(key))
            }
            Op::Put { key, value, options, .. } => {
                fits(key)?;
                options.check(now)?;
                if value.len() > MAX_VALUE_BYTES {
                    return Err(Error::value_too_large(value.len()));
                }
                Ok(())
            }
            Op::Delete { key, .. } => fits(key),
            Op::List { options, .. } => {
                fits(options.prefix.as_deref().unwrap_or_default())?;
                let why = match options.limit {
                    Some(limit) if limit < 1 => (limit, "greater than 0"),
                    Some(limit) if limit > DEFAULT_LIMIT => (limit, "less than 1000"),
                    _ => return Ok(()),
                };
                let text = format!(
                    "Invalid key_count_limit of {}. Please specify an integer {}.",
                    why.0, why.1
                );
                Err(Error::invalid(verb, text))
            }
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name(), self.target())?;
        match self {
            Op::Put { value, options, .. } => {
                f.write_str(" ")?;
                value.fmt(f)?;
                match (options.expiration_ttl, options.expiration) {
                    (Some(ttl), _) => write!(f, " for {ttl}s"),
                    (None, Some(expiration)) => write!(f, " until {expiration}"),
                    (None, None) => Ok(()),
                }
            }
            Op::GetBulk { keys, .. } => write!(f, " [{}]", keys.join(", ")),
            Op::List { options: ListOptions { prefix: Some(prefix), .. }, .. } => {
                write!(f, " {prefix}*")
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Value(Some(entry)) => entry.value.fmt(f),
            Reply::Value(None) => f.write_str("nothing"),
            Reply::Values(values) => {
                let found = values.iter().filter(|(_, entry)| entry.is_some()).count();
                write!(f, "{found} of {}", values.len())
            }
            Reply::Done => f.write_str("done"),
            Reply::Listing(listing) => {
                let more = if listing.complete { "" } else { " and more" };
                write!(f, "{} keys{more}", listing.keys.len())
            }
        }
    }
}
