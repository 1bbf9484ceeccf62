//! What of R2 outlives the process that runs it: objects, unfinished uploads, and how many names were drawn.

use std::sync::Arc;

use super::bucket::Stored;
use super::{Object, Op, R2};
use crate::values::body::Body;

/// A part of R2 that an operation may have changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Object { bucket: Arc<str>, key: Arc<str> },
    Upload { bucket: Arc<str>, id: Arc<str> },
}

impl Part {
    /// What `op` may have changed. The id of a new upload is in its reply, so that is the caller's to add.
    pub fn of(op: &Op) -> Vec<Part> {
        let object = |bucket: &Arc<str>, key: &Arc<str>| Part::Object {
            bucket: bucket.clone(),
            key: key.clone(),
        };
        match op {
            Op::Put { bucket, key, .. }
            | Op::Copy { bucket, key, .. }
            | Op::LifecycleDelete { bucket, key, .. } => vec![object(bucket, key)],
            Op::Delete { bucket, keys, .. } => keys.iter().map(|key| object(bucket, key)).collect(),
            Op::UploadPart { bucket, upload_id, .. }
            | Op::AbortMultipartUpload { bucket, upload_id, .. } => {
                vec![Part::Upload { bucket: bucket.clone(), id: upload_id.clone() }]
            }
            Op::CompleteMultipartUpload { bucket, key, upload_id, .. } => {
                vec![
                    object(bucket, key),
                    Part::Upload { bucket: bucket.clone(), id: upload_id.clone() },
                ]
            }
            Op::Head { .. }
            | Op::Get { .. }
            | Op::List { .. }
            | Op::CreateMultipartUpload { .. } => Vec::new(),
        }
    }
}

impl R2 {
    /// An object with its bytes.
    pub(crate) fn kept_object(&self, bucket: &str, key: &str) -> Option<(Arc<Object>, Body)> {
        let stored = self.buckets.get(bucket)?.current(key)?;
        Some((stored.object.clone(), stored.body.clone()))
    }

    /// Puts an object back. Returns whether there is such a bucket.
    pub(crate) fn restore_object(&mut self, bucket: &str, object: Object, body: Body) -> bool {
        let Some(bucket) = self.buckets.get_mut(bucket) else { return false };
        bucket.objects.insert(object.key.clone(), Stored { object: Arc::new(object), body });
        true
    }

    /// An upload in parts, as JSON.
    pub(crate) fn kept_upload(&self, bucket: &str, id: &str) -> Option<String> {
        let upload = self.buckets.get(bucket)?.uploads.get(id)?;
        Some(serde_json::to_string(upload).expect("an upload is JSON"))
    }

    /// Puts an upload back. Returns whether there is such a bucket.
    pub(crate) fn restore_upload(
        &mut self,
        bucket: &str,
        id: &str,
        upload: &str,
    ) -> Result<bool, serde_json::Error> {
        let Some(bucket) = self.buckets.get_mut(bucket) else { return Ok(false) };
        bucket.uploads.insert(id, serde_json::from_str(upload)?);
        Ok(true)
    }

    /// How many versions and ids have been drawn.
    pub(crate) fn drawn(&self) -> u64 {
        self.ids.drawn
    }

    /// Goes on behind the names that were drawn before.
    pub(crate) fn set_drawn(&mut self, drawn: u64) {
        self.ids.drawn = drawn;
    }
}
