//! Checksums: the one a caller may send along, and those an object keeps.

use std::sync::Arc;

use md5::{Digest, Md5};
use serde::{Deserialize, Serialize};

use super::{Algorithm, ArgumentError, Error, Method};
use crate::values::body::Body;
use crate::values::hex::{hex, unhex};

/// A checksum that a caller sends along with the bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Checksum {
    /// The algorithm of the digest.
    pub algorithm: Algorithm,
    /// The digest as the caller gave it.
    pub value: ChecksumValue,
}

/// The two forms in which the binding takes a checksum.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChecksumValue {
    /// The digest in hexadecimal digits.
    Hex(Arc<str>),
    /// The digest itself.
    Bytes(Body),
}

impl Checksum {
    /// A checksum written in hexadecimal.
    pub fn hex(algorithm: Algorithm, digits: &str) -> Checksum {
        Checksum { algorithm, value: ChecksumValue::Hex(Arc::from(digits)) }
    }

    /// A checksum as raw bytes.
    pub fn bytes(algorithm: Algorithm, digest: impl Into<Body>) -> Checksum {
        Checksum { algorithm, value: ChecksumValue::Bytes(digest.into()) }
    }

    fn digest(&self) -> Result<Vec<u8>, ArgumentError> {
        let expected = self.algorithm.bytes();
        match &self.value {
            ChecksumValue::Hex(digits) if digits.len() != 2 * expected => {
                Err(ArgumentError::HexLength(self.algorithm, digits.len()))
            }
            ChecksumValue::Hex(digits) => {
                unhex(digits).ok_or(ArgumentError::NotHex(self.algorithm))
            }
            ChecksumValue::Bytes(body) if body.len() != expected => {
                Err(ArgumentError::BytesLength(self.algorithm, body.len()))
            }
            ChecksumValue::Bytes(body) => Ok(body.bytes().to_vec()),
        }
    }
}

/// Refuses checksums that no request can carry.
pub(super) fn check_arguments(checksums: &[Checksum]) -> Result<(), ArgumentError> {
    for (i, checksum) in checksums.iter().enumerate() {
        if i > 0 {
            return Err(ArgumentError::SeveralChecksums);
        }
        checksum.digest()?;
    }
    Ok(())
}

/// The checksums an object keeps, in hexadecimal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Checksums {
    /// Present on every object that was uploaded in one part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub md5: Option<Arc<str>>,
    /// Present when the upload came with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha1: Option<Arc<str>>,
    /// Present when the upload came with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Arc<str>>,
    /// Present when the upload came with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha384: Option<Arc<str>>,
    /// Present when the upload came with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha512: Option<Arc<str>>,
}

impl Checksums {
    /// What a put of `body` keeps: its MD5, which is `etag`, and the checksum it came with, once
    /// that is found to be true.
    pub(super) fn verify(
        body: &Body,
        etag: &Arc<str>,
        expected: &[Checksum],
    ) -> Result<Checksums, Error> {
        let mut kept = Checksums { md5: Some(etag.clone()), ..Checksums::default() };
        for checksum in expected {
            let algorithm = checksum.algorithm;
            let (provided, actual) = (checksum.digest()?, algorithm.digest(&body.look()));
            let text = Arc::from(hex(&actual));
            if provided != actual {
                return Err(Error::BadDigest {
                    method: Method::Put,
                    algorithm,
                    provided: Arc::from(hex(&provided)),
                    actual: text,
                });
            }
            *kept.slot(algorithm) = Some(text);
        }
        Ok(kept)
    }

    fn slot(&mut self, algorithm: Algorithm) -> &mut Option<Arc<str>> {
        match algorithm {
            Algorithm::Md5 => &mut self.md5,
            Algorithm::Sha1 => &mut self.sha1,
            Algorithm::Sha256 => &mut self.sha256,
            Algorithm::Sha384 => &mut self.sha384,
            Algorithm::Sha512 => &mut self.sha512,
        }
    }
}

/// The MD5 of one part or one whole object.
pub(super) fn md5(body: &Body) -> [u8; 16] {
    body.digests().map_or_else(|| Md5::digest(body.look()).into(), |known| known.md5)
}

/// The ETag of an object put together from parts: the MD5 of their MD5s, and how many there are.
pub(super) fn multipart_etag(parts: &[[u8; 16]]) -> Arc<str> {
    let mut whole = Md5::new();
    for part in parts {
        whole.update(part);
    }
    Arc::from(format!("{}-{}", hex(&whole.finalize()), parts.len()))
}
