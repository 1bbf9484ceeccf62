//! A bucket as application code sees it. The verbs and their builders are spelled as Cloudflare's
//! own Rust bindings spell them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::env::Env;
use crate::protocol::op::Op;
use crate::protocol::outcome::{Error, Reply};
use crate::services::r2::{
    self, ByteRange, Checksum, Conditional, GetOptions, HttpMetadata, Include, ListOptions,
    Listing, MultipartOptions, Object, PutOptions, Range, StorageClass, UploadedPart,
};
use crate::values::body::Body;

/// An R2 bucket, bound by its name.
#[derive(Clone, Debug)]
pub struct Bucket {
    env: Env,
    name: Arc<str>,
}

impl Bucket {
    pub(crate) fn new(env: Env, name: &str) -> Bucket {
        Bucket { env, name: name.into() }
    }

    /// The metadata of the current object.
    pub async fn head(&self, key: &str) -> Result<Option<Arc<Object>>, Error> {
        let op = r2::Op::Head { bucket: self.name.clone(), key: key.into() };
        Ok(self.call(op).await?.object().cloned())
    }

    /// The current object with its bytes; send with `execute`.
    pub fn get(&self, key: &str) -> Get<'_> {
        Get { bucket: self, key: key.into(), options: GetOptions::default() }
    }

    /// Stores bytes under a key.
    pub fn put(&self, key: &str, body: impl Into<Body>) -> Put<'_> {
        Put { bucket: self, key: key.into(), body: body.into(), options: PutOptions::default() }
    }

    /// Deletes a key. A key that does not exist is no error.
    pub async fn delete(&self, key: &str) -> Result<(), Error> {
        self.delete_multiple(&[key]).await
    }

    /// Deletes up to 1000 keys.
    pub async fn delete_multiple(&self, keys: &[&str]) -> Result<(), Error> {
        let keys = keys.iter().map(|key| Arc::from(*key)).collect();
        self.call(r2::Op::Delete { bucket: self.name.clone(), keys }).await.map(|_| ())
    }

    /// Lists the objects of the bucket, one page per call.
    pub fn list(&self) -> List<'_> {
        List { bucket: self, options: ListOptions::default() }
    }

    /// Begins a multipart upload.
    pub fn create_multipart_upload(&self, key: &str) -> CreateMultipartUpload<'_> {
        let options = MultipartOptions::default();
        CreateMultipartUpload { bucket: self, key: key.into(), options }
    }

    /// A multipart upload that was begun earlier. Whether it still exists shows when it is used.
    pub fn resume_multipart_upload(&self, key: &str, upload_id: &str) -> MultipartUpload {
        MultipartUpload { bucket: self.clone(), key: key.into(), upload_id: upload_id.into() }
    }

    /// The S3 interface's `CopyObject` into this bucket; the binding has none.
    pub async fn copy(
        &self,
        key: &str,
        source_bucket: &str,
        source_key: &str,
    ) -> Result<Option<Arc<Object>>, Error> {
        let op = r2::Op::Copy {
            bucket: self.name.clone(),
            key: key.into(),
            source_bucket: source_bucket.into(),
            source_key: source_key.into(),
        };
        Ok(self.call(op).await?.object().cloned())
    }

    /// What a lifecycle rule of the bucket would do to an expired key.
    pub async fn lifecycle_delete(&self, key: &str) -> Result<(), Error> {
        let op = r2::Op::LifecycleDelete { bucket: self.name.clone(), key: key.into() };
        self.call(op).await.map(|_| ())
    }

    async fn call(&self, op: r2::Op) -> Result<r2::Reply, Error> {
        match self.env.call(None, Op::R2(op)).await? {
            Reply::R2(reply) => Ok(reply),
            other => unreachable!("a bucket answered with {other}"),
        }
    }
}

/// The result of a `get`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectBody {
    /// The metadata of the object.
    pub object: Arc<Object>,
    /// The bytes of the object; none when `only_if` did not hold.
    pub body: Option<Body>,
    /// Which bytes these are; none when there are none.
    pub range: Option<ByteRange>,
}

/// Builds a `get`.
#[derive(Debug)]
#[must_use = "nothing happens before `execute`"]
pub struct Get<'a> {
    bucket: &'a Bucket,
    key: Arc<str>,
    options: GetOptions,
}

impl Get<'_> {
    /// Returns the bytes only when this holds, and the metadata alone otherwise.
    pub fn only_if(mut self, only_if: Conditional) -> Self {
        self.options.only_if = Some(only_if);
        self
    }

    /// Returns only this range of bytes.
    pub fn range(mut self, range: Range) -> Self {
        self.options.range = Some(range);
        self
    }

    /// Sends the call.
    pub async fn execute(self) -> Result<Option<ObjectBody>, Error> {
        let (bucket, key, options) = (self.bucket.name.clone(), self.key, self.options);
        let reply = self.bucket.call(r2::Op::Get { bucket, key, options }).await?;
        let (body, range) = (reply.body().cloned(), reply.range());
        Ok(reply.object().map(|object| ObjectBody { object: object.clone(), body, range }))
    }
}

/// Builds a `put`.
#[derive(Debug)]
#[must_use = "nothing happens before `execute`"]
pub struct Put<'a> {
    bucket: &'a Bucket,
    key: Arc<str>,
    body: Body,
    options: PutOptions,
}

impl Put<'_> {
    /// Stores the object only when this holds.
    pub fn only_if(mut self, only_if: Conditional) -> Self {
        self.options.only_if = Some(only_if);
        self
    }

    /// Adds custom metadata.
    pub fn custom_metadata(mut self, name: &str, value: &str) -> Self {
        self.options.custom_metadata.insert(name.into(), value.into());
        self
    }

    /// Adds HTTP headers, which are stored with the object.
    pub fn http_metadata(mut self, metadata: HttpMetadata) -> Self {
        self.options.http_metadata = metadata;
        self
    }

    /// Sets the storage class.
    pub fn storage_class(mut self, class: StorageClass) -> Self {
        self.options.storage_class = Some(class);
        self
    }

    /// Sets a checksum; the call fails when the bytes do not have it.
    pub fn checksum(mut self, checksum: Checksum) -> Self {
        self.options.checksums.push(checksum);
        self
    }

    /// Sends the call. The result is `None` when `only_if` did not hold.
    pub async fn execute(self) -> Result<Option<Arc<Object>>, Error> {
        let Put { bucket, key, body, options } = self;
        let options = Arc::new(options);
        let op = r2::Op::Put { bucket: bucket.name.clone(), key, body, options };
        match bucket.call(op).await? {
            r2::Reply::Stored(object) => Ok(Some(object)),
            _ => Ok(None),
        }
    }
}

/// Builds a `list`.
#[derive(Debug)]
#[must_use = "nothing happens before `execute`"]
pub struct List<'a> {
    bucket: &'a Bucket,
    options: ListOptions,
}

impl List<'_> {
    /// Limits the number of keys on a page.
    pub fn limit(mut self, limit: u32) -> Self {
        self.options.limit = Some(limit);
        self
    }

    /// Lists only keys with this prefix.
    pub fn prefix(mut self, prefix: &str) -> Self {
        self.options.prefix = Some(prefix.into());
        self
    }

    /// Continues from the cursor of the previous page.
    pub fn cursor(mut self, cursor: &str) -> Self {
        self.options.cursor = Some(cursor.into());
        self
    }

    /// Groups keys that share their text up to this delimiter into one common prefix.
    pub fn delimiter(mut self, delimiter: &str) -> Self {
        self.options.delimiter = Some(delimiter.into());
        self
    }

    /// Lists only keys after this one.
    pub fn start_after(mut self, key: &str) -> Self {
        self.options.start_after = Some(key.into());
        self
    }

    /// Includes this metadata with each object.
    pub fn include(mut self, include: &[Include]) -> Self {
        self.options.include = include.to_vec();
        self
    }

    /// Sends the call.
    pub async fn execute(self) -> Result<Listing, Error> {
        let op = r2::Op::List { bucket: self.bucket.name.clone(), options: self.options };
        match self.bucket.call(op).await? {
            r2::Reply::Listing(listing) => Ok(listing),
            other => unreachable!("a list was answered with {other}"),
        }
    }
}

/// Builds a `create_multipart_upload`.
#[derive(Debug)]
#[must_use = "nothing happens before `execute`"]
pub struct CreateMultipartUpload<'a> {
    bucket: &'a Bucket,
    key: Arc<str>,
    options: MultipartOptions,
}

impl CreateMultipartUpload<'_> {
    /// Adds custom metadata.
    pub fn custom_metadata(mut self, metadata: BTreeMap<Arc<str>, Arc<str>>) -> Self {
        self.options.custom_metadata = metadata;
        self
    }

    /// Adds HTTP headers, which are stored with the object.
    pub fn http_metadata(mut self, metadata: HttpMetadata) -> Self {
        self.options.http_metadata = metadata;
        self
    }

    /// Sends the call.
    pub async fn execute(self) -> Result<MultipartUpload, Error> {
        let (bucket, key) = (self.bucket.clone(), self.key);
        let op = r2::Op::CreateMultipartUpload {
            bucket: bucket.name.clone(),
            key: key.clone(),
            options: Arc::new(self.options),
        };
        match bucket.call(op).await? {
            r2::Reply::MultipartUpload { upload_id, .. } => {
                Ok(MultipartUpload { bucket, key, upload_id })
            }
            other => unreachable!("an upload was answered with {other}"),
        }
    }
}

/// A multipart upload.
#[derive(Clone, Debug)]
pub struct MultipartUpload {
    bucket: Bucket,
    key: Arc<str>,
    upload_id: Arc<str>,
}

impl MultipartUpload {
    /// The id of the upload, with which it can be resumed.
    pub fn upload_id(&self) -> &str {
        &self.upload_id
    }

    /// Uploads one part.
    pub async fn upload_part(
        &self,
        part_number: i64,
        body: impl Into<Body>,
    ) -> Result<UploadedPart, Error> {
        let op = r2::Op::UploadPart {
            bucket: self.bucket.name.clone(),
            key: self.key.clone(),
            upload_id: self.upload_id.clone(),
            part_number,
            body: body.into(),
        };
        match self.bucket.call(op).await? {
            r2::Reply::UploadedPart(part) => Ok(part),
            other => unreachable!("a part was answered with {other}"),
        }
    }

    /// Completes the upload: the parts become one object.
    pub async fn complete(&self, parts: Vec<UploadedPart>) -> Result<Arc<Object>, Error> {
        let op = r2::Op::CompleteMultipartUpload {
            bucket: self.bucket.name.clone(),
            key: self.key.clone(),
            upload_id: self.upload_id.clone(),
            parts,
        };
        match self.bucket.call(op).await? {
            r2::Reply::Stored(object) => Ok(object),
            other => unreachable!("a completion was answered with {other}"),
        }
    }

    /// Aborts the upload and deletes its parts.
    pub async fn abort(&self) -> Result<(), Error> {
        let op = r2::Op::AbortMultipartUpload {
            bucket: self.bucket.name.clone(),
            key: self.key.clone(),
            upload_id: self.upload_id.clone(),
        };
        self.bucket.call(op).await.map(|_| ())
    }
}
