//! R2, the object store: an operation and the time go in, a reply and notifications come out.
//!
//! Where production and the local emulator differ, production is the default; see
//! `docs/platform-r2.md` for each difference and for what is not documented.

mod algorithm;
mod argument;
mod bucket;
mod checksum;
mod conditional;
mod date;
mod error;
mod ids;
pub mod limits;
mod list;
mod multipart;
mod notification;
mod object;
mod op;
mod persistence;
mod range;
mod reply;
mod rule;

use std::rc::Rc;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::values::backing_store::BackingStore;
use crate::values::sorted_map::SortedMap;
use crate::values::time::Time;
use bucket::{Bucket, Turn};
use ids::Ids;
use reply::Short;

pub use algorithm::Algorithm;
pub use argument::{ArgumentError, Unexpected};
pub use checksum::{Checksum, ChecksumValue, Checksums};
pub use conditional::{Conditional, Etag};
pub use date::Date;
pub use error::{Code, Error, transient_errors};
pub use notification::{Action, CopySource, Notification, NotificationObject, ParseError};
pub use object::{HttpMetadata, Object, StorageClass};
pub use op::{
    CALLS, GetOptions, Include, ListOptions, Method, MultipartOptions, Op, PutOptions, UploadedPart,
};
pub(crate) use persistence::Part;
pub use range::{ByteRange, Range};
pub use reply::{Listing, Reply};
pub use rule::{ConfigError, EventType, Rule};

/// The account that owns every simulated bucket.
pub const ACCOUNT: &str = "7468756e6465726865616420636c6f75";

/// All buckets of the account.
///
/// ```
/// use thunderhead_sim::Time;
/// use thunderhead_sim::r2::{BucketConfig, EventType, Op, R2, Rule};
///
/// let mut r2 = R2::new();
/// let rules = vec![Rule::new("uploads", [EventType::ObjectCreate])];
/// r2.create_bucket("photos", BucketConfig { rules, ..BucketConfig::default() })?;
///
/// let outcome = r2.apply(Time::ZERO, &Op::put("photos", "cat.jpg", "hello"));
/// assert!(outcome.reply?.to_string().starts_with("stored etag=5d41402a… version="));
/// assert_eq!(&*outcome.notifications[0].queue, "uploads");
/// assert_eq!(r2.current("photos", "cat.jpg").map(|object| object.size), Some(5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct R2 {
    buckets: SortedMap<Arc<str>, Bucket>,
    ids: Ids,
    /// Where large bodies are, in a process that runs for long.
    backing_store: Option<Rc<dyn BackingStore>>,
    /// How many bodies have been given a file.
    files: u64,
}

/// How a bucket is set up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BucketConfig {
    /// Which changes which queue hears of, at most 100 rules.
    pub rules: Vec<Rule>,
    /// Where the bucket differs from production.
    pub options: Options,
}

/// Deviations from production, or choices where production is unknown; all off by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Options {
    /// Deleting a key that is not there sends `DeleteObject` all the same. What production does is
    /// not documented, so a consumer must tolerate both.
    pub event_for_missing_delete: bool,
    /// `uploadPart` answers with a random opaque ETag, as the emulator does; production's is the
    /// MD5 of the part.
    pub miniflare_part_etags: bool,
    /// Custom metadata ends at 2048 bytes, as in miniflare 4; production allows 8192.
    pub miniflare_metadata_limit: bool,
    /// Objects have an empty storage class, as in the emulator; production says `Standard`.
    pub miniflare_storage_class: bool,
    /// A second write of a key within a second is refused with 10058. The documented limit is
    /// enforced at the platform's discretion, which is a storm's to draw.
    pub strict_same_key_rate: bool,
    /// The least size of a part in an upload, except the last; production's is 5 MiB. A system whose simulated files
    /// are short has parts that are as much shorter.
    pub min_part_bytes: Option<u64>,
}

impl Options {
    /// The emulator in every respect: miniflare 5, which allows as much metadata as production.
    pub fn miniflare() -> Options {
        Options { miniflare_part_etags: true, miniflare_storage_class: true, ..Options::default() }
    }
}

/// What came of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The answer to the caller.
    pub reply: Result<Reply, Error>,
    /// Messages for queues, in the order of the changes they tell of.
    pub notifications: Vec<Notify>,
}

/// A message for a queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Notify {
    /// The queue to send it to.
    pub queue: Arc<str>,
    /// What it says.
    pub event: Notification,
}

impl R2 {
    /// The name of every bucket.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.buckets.keys().map(|name| &**name)
    }

    /// An account without buckets.
    pub fn new() -> R2 {
        R2::default()
    }

    /// Adds an empty bucket.
    pub fn create_bucket(&mut self, name: &str, config: BucketConfig) -> Result<(), ConfigError> {
        rule::check_name(name)?;
        rule::check(&config.rules)?;
        if self.buckets.contains_key(name) {
            return Err(ConfigError::BucketConflict(name.to_owned()));
        }
        self.buckets.insert(Arc::from(name), Bucket::new(name, config));
        Ok(())
    }

    /// Carries out one operation, wholly or not at all.
    pub fn apply(&mut self, now: Time, op: &Op) -> Applied {
        if let Err(error) = op.check_arguments() {
            return Applied { reply: Err(error.into()), notifications: Vec::new() };
        }
        let backing_store = self.backing_store.as_deref();
        let mut turn = Turn { now, ids: &mut self.ids, backing_store, notifications: Vec::new() };
        let reply = dispatch(&mut self.buckets, &mut turn, op);
        Applied { reply, notifications: turn.notifications }
    }

    /// The current object at a key, for a look from outside.
    pub fn current(&self, bucket: &str, key: &str) -> Option<&Object> {
        Some(&self.buckets.get(bucket)?.current(key)?.object)
    }
}

fn dispatch(
    buckets: &mut SortedMap<Arc<str>, Bucket>,
    turn: &mut Turn<'_>,
    op: &Op,
) -> Result<Reply, Error> {
    let source = match op {
        Op::Copy { source_bucket, source_key, .. } => {
            let from = buckets.get(source_bucket).ok_or(Error::for_op(op, Code::NoSuchBucket))?;
            let stored = from.current(source_key).ok_or(Error::for_op(op, Code::NoSuchKey))?;
            Some(stored.clone())
        }
        _ => None,
    };
    let bucket = buckets.get_mut(op.bucket()).ok_or(Error::for_op(op, Code::NoSuchBucket))?;
    match op {
        Op::Head { key, .. } => bucket.head(key),
        Op::Get { key, options, .. } => bucket.get(turn, key, options),
        Op::Put { key, body, options, .. } => bucket.put(turn, key, body, options),
        Op::Delete { keys, .. } => bucket.delete(turn, keys),
        Op::List { options, .. } => bucket.list(options),
        Op::CreateMultipartUpload { key, options, .. } => {
            bucket.create_multipart_upload(turn, key, options)
        }
        Op::UploadPart { key, upload_id, part_number, body, .. } => {
            bucket.upload_part(turn, (key, upload_id), *part_number, body)
        }
        Op::CompleteMultipartUpload { key, upload_id, parts, .. } => {
            bucket.complete_multipart_upload(turn, key, upload_id, parts)
        }
        Op::AbortMultipartUpload { key, upload_id, .. } => {
            bucket.abort_multipart_upload(turn.now, key, upload_id)
        }
        Op::Copy { key, source_bucket, source_key, .. } => {
            let source = source.expect("looked up above for every copy");
            let (from, object) = (source_bucket.clone(), source_key.clone());
            bucket.copy(turn, key, &source, CopySource { bucket: from, object })
        }
        Op::LifecycleDelete { key, .. } => Ok(bucket.lifecycle_delete(turn, key)),
    }
}
