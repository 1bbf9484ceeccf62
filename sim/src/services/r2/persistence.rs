//! What of R2 outlives the process that runs it: objects, unfinished uploads, and how many names were drawn.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use super::bucket::{Bytes, Stored};
use super::{Object, Op, R2};
use crate::values::backing_store::BackingStore;
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

/// From this size on the bytes of an object have a file of their own, and are not held in memory.
const LARGE: usize = 16 * 1024;

/// An object as it is written down.
pub(crate) struct KeptObject {
    pub object: Arc<Object>,
    /// The file that has the bytes, if they are many.
    pub file: Option<u64>,
    /// The bytes, if they are not in the file yet.
    pub body: Option<Body>,
}

impl R2 {
    /// From now on large bodies are given files, and are read from there when they are asked for.
    pub(crate) fn set_backing_store(&mut self, backing_store: Rc<dyn BackingStore>) {
        self.backing_store = Some(backing_store);
    }

    /// Where a file is, or is to be.
    pub(crate) fn place(&self, file: u64) -> Option<PathBuf> {
        self.backing_store.as_ref()?.place(file)
    }

    /// The number and the place of a new file, which something else than an object needs.
    pub(crate) fn another_file(&mut self) -> Option<(u64, PathBuf)> {
        let path = self.place(self.files + 1)?;
        self.files += 1;
        Some((self.files, path))
    }

    /// An object with its bytes.
    pub(crate) fn keep_object(&mut self, bucket: &str, key: &str) -> Option<KeptObject> {
        let stored = self.buckets.get_mut(bucket)?.objects.get_mut(key)?;
        let object = stored.object.clone();
        Some(match &stored.bytes {
            Bytes::Here(body) if self.backing_store.is_some() && body.len() >= LARGE => {
                self.files += 1;
                let (body, file) = (body.clone(), self.files);
                stored.bytes = Bytes::Leaving { body: body.clone(), file };
                KeptObject { object, file: Some(file), body: Some(body) }
            }
            Bytes::Here(body) => KeptObject { object, file: None, body: Some(body.clone()) },
            Bytes::Leaving { file, .. } | Bytes::Away { file } => {
                KeptObject { object, file: Some(*file), body: None }
            }
        })
    }

    /// The bytes of an object are in their file, unless it has others by now.
    pub(crate) fn has_left(&mut self, bucket: &str, key: &str, written: u64) {
        let objects = self.buckets.get_mut(bucket).map(|bucket| &mut bucket.objects);
        if let Some(stored) = objects.and_then(|objects| objects.get_mut(key))
            && let Bytes::Leaving { file, .. } = stored.bytes
            && file == written
        {
            stored.bytes = Bytes::Away { file };
        }
    }

    /// Puts an object back whose bytes are at hand. Returns whether there is such a bucket.
    pub(crate) fn restore_object(&mut self, bucket: &str, object: Object, body: Body) -> bool {
        self.restore(bucket, object, Bytes::Here(body))
    }

    /// Puts an object back whose bytes are in a file. Returns whether there is such a bucket.
    pub(crate) fn restore_filed(&mut self, bucket: &str, object: Object, file: u64) -> bool {
        self.restore(bucket, object, Bytes::Away { file })
    }

    fn restore(&mut self, bucket: &str, object: Object, bytes: Bytes) -> bool {
        let Some(bucket) = self.buckets.get_mut(bucket) else { return false };
        bucket.objects.insert(object.key.clone(), Stored { object: Arc::new(object), bytes });
        true
    }

    /// An upload in parts, as JSON.
    pub(crate) fn kept_upload(&self, bucket: &str, id: &str) -> Option<String> {
        let upload = self.buckets.get(bucket)?.uploads.get(id)?;
        Some(serde_json::to_string(upload).expect("an upload is JSON"))
    }

    /// Puts an upload back. Returns whether there is such a bucket.
    #[inline]
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

    /// How many versions and ids have been drawn, and how many files there were.
    pub(crate) fn numbers(&self) -> (u64, u64) {
        (self.ids.drawn, self.files)
    }

    /// Goes on behind numbers that were given before.
    pub(crate) fn set_numbers(&mut self, (drawn, files): (u64, u64)) {
        (self.ids.drawn, self.files) = (drawn, files);
    }
}
