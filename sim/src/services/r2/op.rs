//! What can be asked of R2, as plain data.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::limits::MAX_PARTS;
use super::{
    ArgumentError, Checksum, Code, Conditional, Error, HttpMetadata, Range, StorageClass, checksum,
    transient_errors,
};
use crate::values::body::Body;
use crate::values::call::{Call, CallClass, calls};
use crate::values::count::count;

/// One operation on a bucket.
///
/// ```
/// use thunderhead_sim::r2::Op;
///
/// let op = Op::put("photos", "cat.jpg", "hello");
/// assert_eq!(op.to_string(), r#"put photos/cat.jpg "hello""#);
/// assert_eq!((op.name(), op.bucket(), op.key()), ("put", "photos", Some("cat.jpg")));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "the fields are the arguments of the binding's methods")]
pub enum Op {
    /// Metadata of the current object.
    Head { bucket: Arc<str>, key: Arc<str> },
    /// The current object, whole or in part.
    Get { bucket: Arc<str>, key: Arc<str>, options: GetOptions },
    /// Stores bytes under a key, in place of what was there.
    Put { bucket: Arc<str>, key: Arc<str>, body: Body, options: Arc<PutOptions> },
    /// Removes up to 1000 keys; a key that is not there is no error.
    Delete { bucket: Arc<str>, keys: Vec<Arc<str>> },
    /// One page of the objects of a bucket, in the order of their keys.
    List { bucket: Arc<str>, options: ListOptions },
    /// Begins an upload in parts.
    CreateMultipartUpload { bucket: Arc<str>, key: Arc<str>, options: Arc<MultipartOptions> },
    /// Stores one part, in place of an earlier part of that number.
    UploadPart {
        bucket: Arc<str>,
        key: Arc<str>,
        upload_id: Arc<str>,
        part_number: i64,
        body: Body,
    },
    /// Makes an object of the parts.
    CompleteMultipartUpload {
        bucket: Arc<str>,
        key: Arc<str>,
        upload_id: Arc<str>,
        parts: Vec<UploadedPart>,
    },
    /// Throws the parts away.
    AbortMultipartUpload { bucket: Arc<str>, key: Arc<str>, upload_id: Arc<str> },
    /// The S3 interface's `CopyObject`, which the binding lacks but notifications tell of.
    Copy { bucket: Arc<str>, key: Arc<str>, source_bucket: Arc<str>, source_key: Arc<str> },
    /// A lifecycle rule of the bucket removes a key.
    LifecycleDelete { bucket: Arc<str>, key: Arc<str> },
}

/// The kind of an [`Op`], by the name R2 puts before its errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "one for each variant of Op")]
pub enum Method {
    Head,
    Get,
    Put,
    Delete,
    List,
    CreateMultipartUpload,
    UploadPart,
    CompleteMultipartUpload,
    AbortMultipartUpload,
    Copy,
    LifecycleDelete,
}

/// Options of `get`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GetOptions {
    /// Without this the answer is metadata alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_if: Option<Conditional>,
    /// Which bytes; all of them by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
}

/// Options of `put`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PutOptions {
    /// Without this nothing is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_if: Option<Conditional>,
    /// HTTP headers to store along.
    pub http_metadata: HttpMetadata,
    /// Names and values to store along, at most 8192 bytes.
    pub custom_metadata: BTreeMap<Arc<str>, Arc<str>>,
    /// How to store it; the bucket's default is `Standard`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_class: Option<StorageClass>,
    /// The checksum the bytes must have; more than one is refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checksums: Vec<Checksum>,
}

/// Options of `createMultipartUpload`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MultipartOptions {
    /// HTTP headers to store along.
    pub http_metadata: HttpMetadata,
    /// Names and values to store along, at most 8192 bytes.
    pub custom_metadata: BTreeMap<Arc<str>, Arc<str>>,
    /// How to store it; the bucket's default is `Standard`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_class: Option<StorageClass>,
}

/// Options of `list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListOptions {
    /// Most entries on the page, 1 to 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only keys that begin so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<Arc<str>>,
    /// Where the page before ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Arc<str>>,
    /// Keys with this text after the prefix are shown as one shared prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<Arc<str>>,
    /// Only keys behind this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_after: Option<Arc<str>>,
    /// Metadata to show; none by default.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<Include>,
}

/// Metadata that a listing shows on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Include {
    /// [`Object::http_metadata`](super::Object::http_metadata).
    HttpMetadata,
    /// [`Object::custom_metadata`](super::Object::custom_metadata).
    CustomMetadata,
}

/// A part, as `uploadPart` answers and `complete` takes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UploadedPart {
    /// Its place among the parts, 1 to 10,000.
    pub part_number: i64,
    /// Its own ETag.
    pub etag: Arc<str>,
}

impl Op {
    /// `head(key)`.
    pub fn head(bucket: impl Into<Arc<str>>, key: impl Into<Arc<str>>) -> Op {
        Op::Head { bucket: bucket.into(), key: key.into() }
    }

    /// `get(key)`.
    pub fn get(bucket: impl Into<Arc<str>>, key: impl Into<Arc<str>>) -> Op {
        Op::Get { bucket: bucket.into(), key: key.into(), options: GetOptions::default() }
    }

    /// `put(key, body)`.
    pub fn put(bucket: impl Into<Arc<str>>, key: impl Into<Arc<str>>, body: impl Into<Body>) -> Op {
        Op::put_with(bucket, key, body, PutOptions::default())
    }

    /// `put(key, body, options)`.
    pub fn put_with(
        bucket: impl Into<Arc<str>>,
        key: impl Into<Arc<str>>,
        body: impl Into<Body>,
        options: PutOptions,
    ) -> Op {
        let (bucket, key) = (bucket.into(), key.into());
        Op::Put { bucket, key, body: body.into(), options: Arc::new(options) }
    }

    /// `delete(key)`.
    pub fn delete(bucket: impl Into<Arc<str>>, key: impl Into<Arc<str>>) -> Op {
        Op::Delete { bucket: bucket.into(), keys: vec![key.into()] }
    }

    /// `list(options)`.
    pub fn list(bucket: impl Into<Arc<str>>, options: ListOptions) -> Op {
        Op::List { bucket: bucket.into(), options }
    }

    /// The kind of operation.
    pub fn method(&self) -> Method {
        match self {
            Op::Head { .. } => Method::Head,
            Op::Get { .. } => Method::Get,
            Op::Put { .. } => Method::Put,
            Op::Delete { .. } => Method::Delete,
            Op::List { .. } => Method::List,
            Op::CreateMultipartUpload { .. } => Method::CreateMultipartUpload,
            Op::UploadPart { .. } => Method::UploadPart,
            Op::CompleteMultipartUpload { .. } => Method::CompleteMultipartUpload,
            Op::AbortMultipartUpload { .. } => Method::AbortMultipartUpload,
            Op::Copy { .. } => Method::Copy,
            Op::LifecycleDelete { .. } => Method::LifecycleDelete,
        }
    }

    /// The kind of call that it is.
    pub fn call(&self) -> Call {
        self.method().call()
    }

    /// The boundary that it crosses.
    pub fn class(&self) -> CallClass {
        CallClass::Service
    }

    /// The errors that the platform may answer with instead of applying it.
    pub fn refusals(&self) -> Vec<Error> {
        transient_errors(self).iter().map(|code| Error::for_op(self, *code)).collect()
    }

    /// The error with R2's number `code`.
    pub fn refusal(&self, code: u32) -> Option<Error> {
        Some(Error::for_op(self, Code::from_number(code)?))
    }

    /// The object or bucket that it is about, as scripts name it: `photos/cat.jpg`.
    pub fn target(&self) -> String {
        match self.key() {
            Some(key) => format!("{}/{key}", self.bucket()),
            None => self.bucket().to_string(),
        }
    }

    /// The name of the operation, as R2 puts it before its errors.
    pub fn name(&self) -> &'static str {
        self.method().name()
    }

    /// The bucket it works on.
    pub fn bucket(&self) -> &str {
        match self {
            Op::Head { bucket, .. }
            | Op::Get { bucket, .. }
            | Op::Put { bucket, .. }
            | Op::Delete { bucket, .. }
            | Op::List { bucket, .. }
            | Op::CreateMultipartUpload { bucket, .. }
            | Op::UploadPart { bucket, .. }
            | Op::CompleteMultipartUpload { bucket, .. }
            | Op::AbortMultipartUpload { bucket, .. }
            | Op::Copy { bucket, .. }
            | Op::LifecycleDelete { bucket, .. } => bucket,
        }
    }

    /// The one key it works on; none for a listing or a delete of several keys.
    pub fn key(&self) -> Option<&str> {
        match self.keys() {
            [key] => Some(key),
            _ => None,
        }
    }

    /// All keys it works on.
    pub fn keys(&self) -> &[Arc<str>] {
        match self {
            Op::Head { key, .. }
            | Op::Get { key, .. }
            | Op::Put { key, .. }
            | Op::CreateMultipartUpload { key, .. }
            | Op::UploadPart { key, .. }
            | Op::CompleteMultipartUpload { key, .. }
            | Op::AbortMultipartUpload { key, .. }
            | Op::Copy { key, .. }
            | Op::LifecycleDelete { key, .. } => std::slice::from_ref(key),
            Op::Delete { keys, .. } => keys,
            Op::List { .. } => &[],
        }
    }

    /// Refuses arguments that the binding refuses by itself: such a call never reaches R2, so no
    /// fault can befall it.
    pub fn check_arguments(&self) -> Result<(), ArgumentError> {
        let part_number = |number: i64| {
            let fits = (1..=MAX_PARTS).contains(&number);
            if fits { Ok(()) } else { Err(ArgumentError::PartNumber(number)) }
        };
        match self {
            Op::Get { options: GetOptions { only_if, range }, .. } => {
                only_if.as_ref().map_or(Ok(()), Conditional::check_arguments)?;
                range.as_ref().map_or(Ok(()), Range::check_arguments)
            }
            Op::Put { options, .. } => {
                options.only_if.as_ref().map_or(Ok(()), Conditional::check_arguments)?;
                checksum::check_arguments(&options.checksums)
            }
            Op::UploadPart { part_number: number, .. } => part_number(*number),
            Op::CompleteMultipartUpload { parts, .. } => {
                parts.iter().try_for_each(|part| part_number(part.part_number))
            }
            _ => Ok(()),
        }
    }
}

calls! {
    Method:
    AbortMultipartUpload => 19, "r2.abortMultipartUpload", &Code::NUMBERS;
    CompleteMultipartUpload => 20, "r2.completeMultipartUpload", &Code::NUMBERS;
    Copy => 21, "r2.copy", &Code::NUMBERS;
    CreateMultipartUpload => 22, "r2.createMultipartUpload", &Code::NUMBERS;
    Delete => 23, "r2.delete", &Code::NUMBERS;
    Get => 24, "r2.get", &Code::NUMBERS;
    Head => 25, "r2.head", &Code::NUMBERS;
    LifecycleDelete => 26, "r2.lifecycleDelete", &Code::NUMBERS;
    List => 27, "r2.list", &Code::NUMBERS;
    Put => 29, "r2.put", &Code::NUMBERS;
    UploadPart => 30, "r2.uploadPart", &Code::NUMBERS;
}

impl Method {
    /// The name that R2 puts before its errors.
    pub fn name(self) -> &'static str {
        self.call().method()
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One line for a trace; a key with line breaks is escaped.
impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name(), self.bucket())?;
        if let Some(key) = self.key() {
            write!(f, "/{}", key.escape_debug())?;
        }
        match self {
            Op::Get { options: GetOptions { only_if, range }, .. } => {
                range.as_ref().map_or(Ok(()), |range| write!(f, " {range}"))?;
                only_if.as_ref().map_or(Ok(()), |condition| write!(f, " {condition}"))
            }
            Op::Put { body, options, .. } => {
                f.write_str(" ")?;
                body.fmt(f)?;
                options.only_if.as_ref().map_or(Ok(()), |condition| write!(f, " {condition}"))
            }
            Op::Delete { keys, .. } if keys.len() != 1 => write!(f, " ({} keys)", keys.len()),
            Op::List { options: ListOptions { prefix: Some(prefix), .. }, .. } => {
                write!(f, "/{}*", prefix.escape_debug())
            }
            Op::UploadPart { part_number, body, .. } => {
                write!(f, " part {part_number} ")?;
                body.fmt(f)
            }
            Op::CompleteMultipartUpload { parts, .. } => {
                write!(f, " ({})", count(parts.len(), "part"))
            }
            Op::Copy { source_bucket, source_key, .. } => {
                write!(f, " from {source_bucket}/{}", source_key.escape_debug())
            }
            _ => Ok(()),
        }
    }
}
