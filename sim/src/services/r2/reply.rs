//! What R2 answers, as plain data.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ByteRange, Object, UploadedPart};
use crate::values::body::Body;
use crate::values::count::count;

/// The answer to an [`Op`](super::Op) that was not refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Reply {
    /// `head` and `get` of a key that is not there: JavaScript's `null`.
    NotFound,
    /// `head`: the current object.
    Object(Arc<Object>),
    /// `get`: the current object and the bytes asked for, which later writes do not change.
    ObjectBody {
        /// The metadata of the object.
        object: Arc<Object>,
        /// The range of the bytes in the object.
        range: ByteRange,
        /// The bytes in that range.
        body: Body,
    },
    /// `put`, `complete` and copies: the object as stored.
    Stored(Arc<Object>),
    /// `onlyIf` did not hold: `put` stored nothing (`null`), `get` answers with metadata alone.
    PreconditionFailed(Option<Arc<Object>>),
    /// `delete`: the keys are gone, or never were.
    Deleted,
    /// `list`: one page.
    Listing(Listing),
    /// `createMultipartUpload`: what the parts must name.
    MultipartUpload {
        /// The key of the object to be.
        key: Arc<str>,
        /// The id of the upload.
        upload_id: Arc<str>,
    },
    /// `uploadPart`: what `complete` must name.
    UploadedPart(UploadedPart),
    /// `abort`: the parts are gone.
    Aborted,
}

/// One page of a bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Listing {
    /// Objects in the order of their keys.
    pub objects: Vec<Arc<Object>>,
    /// Whether there is more.
    pub truncated: bool,
    /// Where the next page begins, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Arc<str>>,
    /// What keys with the delimiter have in common, up to it.
    pub delimited_prefixes: Vec<Arc<str>>,
}

impl Reply {
    /// The metadata in the answer, if it has any.
    pub fn object(&self) -> Option<&Arc<Object>> {
        match self {
            Reply::Object(object) | Reply::ObjectBody { object, .. } | Reply::Stored(object) => {
                Some(object)
            }
            Reply::PreconditionFailed(object) => object.as_ref(),
            _ => None,
        }
    }

    /// The bytes in the answer, if it has any.
    pub fn body(&self) -> Option<&Body> {
        match self {
            Reply::ObjectBody { body, .. } => Some(body),
            _ => None,
        }
    }

    /// Which bytes of the object are in the answer, if any are.
    pub fn range(&self) -> Option<ByteRange> {
        match self {
            Reply::ObjectBody { range, .. } => Some(*range),
            _ => None,
        }
    }
}

/// One line for a trace.
impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tags = |object: &Object| {
            format!("etag={} version={}", Short(&object.etag), Short(&object.version))
        };
        match self {
            Reply::NotFound => f.write_str("not found"),
            Reply::Object(object) => write!(f, "object {}", tags(object)),
            Reply::ObjectBody { object, body, .. } => {
                body.fmt(f)?;
                write!(f, " {}", tags(object))
            }
            Reply::Stored(object) => write!(f, "stored {}", tags(object)),
            Reply::PreconditionFailed(None) => f.write_str("precondition failed"),
            Reply::PreconditionFailed(Some(object)) => {
                write!(f, "precondition failed {}", tags(object))
            }
            Reply::Deleted => f.write_str("done"),
            Reply::Listing(page) => {
                f.write_str(&count(page.objects.len(), "object"))?;
                if !page.delimited_prefixes.is_empty() {
                    match page.delimited_prefixes.len() {
                        1 => f.write_str(", 1 prefix")?,
                        many => write!(f, ", {many} prefixes")?,
                    }
                }
                f.write_str(if page.truncated { ", more" } else { "" })
            }
            Reply::MultipartUpload { upload_id, .. } => write!(f, "upload {}", Short(upload_id)),
            Reply::UploadedPart(part) => {
                write!(f, "part {} etag={}", part.part_number, Short(&part.etag))
            }
            Reply::Aborted => f.write_str("aborted"),
        }
    }
}

/// The first eight characters of a name that only a machine reads to the end.
pub(super) struct Short<'a>(pub(super) &'a str);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(8) {
            Some((end, _)) => write!(f, "{}…", &self.0[..end]),
            None => f.write_str(self.0),
        }
    }
}
