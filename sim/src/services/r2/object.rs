//! An object's metadata: what `head` answers.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ArgumentError, ByteRange, Checksums, Date};
use crate::values::time::Time;

/// One version of an object, without its bytes: R2's `R2Object`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Object {
    /// The name within the bucket.
    pub key: Arc<str>,
    /// Unique for every upload, even of the same bytes.
    pub version: Arc<str>,
    /// How many bytes.
    pub size: u64,
    /// A hash of the bytes, without quotes: the same bytes uploaded again have the same ETag.
    pub etag: Arc<str>,
    /// When the upload was completed.
    pub uploaded: Time,
    /// Checksums of the bytes.
    pub checksums: Checksums,
    /// HTTP headers stored along.
    pub http_metadata: HttpMetadata,
    /// Names and values stored along.
    pub custom_metadata: BTreeMap<Arc<str>, Arc<str>>,
    /// What the storage costs; `None` is the emulator's empty string.
    pub storage_class: Option<StorageClass>,
}

impl Object {
    /// The ETag as an HTTP header has it: in quotes.
    pub fn http_etag(&self) -> String {
        format!("\"{}\"", self.etag)
    }

    /// The `range` that `head` reports: all of it.
    pub fn range(&self) -> ByteRange {
        ByteRange::whole(self.size)
    }

    /// Sets the stored HTTP headers in `headers`, whose names are lower-case.
    pub fn write_http_metadata(&self, headers: &mut BTreeMap<String, String>) {
        self.http_metadata.write(headers);
    }
}

/// HTTP headers that R2 stores with an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HttpMetadata {
    /// `Content-Type`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<Arc<str>>,
    /// `Content-Language`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_language: Option<Arc<str>>,
    /// `Content-Disposition`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_disposition: Option<Arc<str>>,
    /// `Content-Encoding`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_encoding: Option<Arc<str>>,
    /// `Cache-Control`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<Arc<str>>,
    /// `Expires`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_expiry: Option<Date>,
}

impl HttpMetadata {
    /// The headers of a request that R2 keeps, names in any case; the others are passed over.
    pub fn from_headers(headers: &[(&str, &str)]) -> Result<HttpMetadata, ArgumentError> {
        let mut metadata = HttpMetadata::default();
        for (name, value) in headers {
            let text = Some(Arc::from(*value));
            match name.to_ascii_lowercase().as_str() {
                "content-type" => metadata.content_type = text,
                "content-language" => metadata.content_language = text,
                "content-disposition" => metadata.content_disposition = text,
                "content-encoding" => metadata.content_encoding = text,
                "cache-control" => metadata.cache_control = text,
                "expires" => {
                    let date = Date::parse_http(value).ok_or(ArgumentError::NotADate)?;
                    metadata.cache_expiry = Some(date);
                }
                _ => {}
            }
        }
        Ok(metadata)
    }

    fn write(&self, headers: &mut BTreeMap<String, String>) {
        let texts = [
            ("content-type", &self.content_type),
            ("content-language", &self.content_language),
            ("content-disposition", &self.content_disposition),
            ("content-encoding", &self.content_encoding),
            ("cache-control", &self.cache_control),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                headers.insert(name.to_owned(), text.to_string());
            }
        }
        if let Some(date) = self.cache_expiry {
            headers.insert("expires".to_owned(), date.http());
        }
    }
}

/// How an object is stored and billed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StorageClass {
    /// The default.
    #[default]
    Standard,
    /// Cheaper to keep, dearer to read.
    InfrequentAccess,
}

impl fmt::Display for StorageClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StorageClass::Standard => "Standard",
            StorageClass::InfrequentAccess => "InfrequentAccess",
        })
    }
}

/// The bytes that custom metadata counts for: one a character, two in a text with characters
/// beyond Latin-1, characters being UTF-16 units.
pub(super) fn metadata_bytes(metadata: &BTreeMap<Arc<str>, Arc<str>>) -> usize {
    let bytes = |text: &str| {
        let wide = text.chars().any(|c| u32::from(c) >= 256);
        text.encode_utf16().count() * if wide { 2 } else { 1 }
    };
    metadata.iter().map(|(name, value)| bytes(name) + bytes(value)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wide_character_doubles_its_text() {
        let count = |name: &str, value: &str| {
            metadata_bytes(&BTreeMap::from([(Arc::from(name), Arc::from(value))]))
        };
        assert_eq!(count("k", "vv"), 3);
        assert_eq!(count("k", "é"), 2);
        assert_eq!(count("k", "aλ"), 5);
        assert_eq!(count("k", "😀"), 5);
    }
}
