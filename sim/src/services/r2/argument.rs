//! Arguments that the binding refuses by itself, before any request leaves the isolate.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Algorithm;
use super::limits::MAX_PARTS;

/// An argument that no request can be made of; shown with the text of the JavaScript exception.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ArgumentError {
    /// A conditional ETag still has the quotes of the header form.
    QuotedEtag(Arc<str>),
    /// More than one checksum came with the bytes.
    SeveralChecksums,
    /// A checksum of the wrong length, in hexadecimal digits.
    HexLength(Algorithm, usize),
    /// A checksum of the wrong length, in bytes.
    BytesLength(Algorithm, usize),
    /// A checksum with something else than hexadecimal digits.
    NotHex(Algorithm),
    /// A part number outside 1 to 10,000.
    PartNumber(i64),
    /// A range that begins before the object does.
    NegativeOffset(i64),
    /// A range of less than nothing.
    NegativeLength(i64),
    /// A suffix of less than nothing.
    NegativeSuffix(i64),
    /// A range counted from both ends.
    SuffixWithOffset,
    /// A suffix that is given a second length.
    SuffixWithLength,
    /// Two ETags in a conditional header without a comma between.
    EtagsWithoutComma(Unexpected),
    /// A weak ETag that is not of the form `W/"…"`.
    BadWeakEtag,
    /// A conditional header whose last quote is missing.
    UnclosedEtag,
    /// A header whose date cannot be read.
    NotADate,
    /// A conditional header of this name without any ETag in it.
    NoEtag(Arc<str>),
}

/// What stood where a comma should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Unexpected {
    /// A `*`.
    Wildcard,
    /// A `"`.
    Quote,
    /// A `W`.
    Weak,
}

impl ArgumentError {
    /// The JavaScript class of the exception.
    pub fn name(&self) -> &'static str {
        match self {
            ArgumentError::NegativeOffset(_)
            | ArgumentError::NegativeLength(_)
            | ArgumentError::NegativeSuffix(_) => "RangeError",
            ArgumentError::EtagsWithoutComma(_)
            | ArgumentError::BadWeakEtag
            | ArgumentError::UnclosedEtag
            | ArgumentError::NoEtag(_) => "Error",
            _ => "TypeError",
        }
    }
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const AT_LEAST_ZERO: &str = "must be greater than or equal to 0.";
        match self {
            ArgumentError::QuotedEtag(etag) => {
                write!(f, "Conditional ETag should not be wrapped in quotes ({etag}).")
            }
            ArgumentError::SeveralChecksums => {
                f.write_str("You cannot specify multiple hashing algorithms.")
            }
            ArgumentError::HexLength(algorithm, length) => {
                let expected = 2 * algorithm.bytes();
                write!(f, "{algorithm} is {expected} hex characters, not {length}")
            }
            ArgumentError::BytesLength(algorithm, length) => {
                write!(f, "{algorithm} is {} bytes, not {length}", algorithm.bytes())
            }
            ArgumentError::NotHex(algorithm) => {
                write!(f, "Provided {algorithm} wasn't a valid hex string")
            }
            ArgumentError::PartNumber(number) => write!(
                f,
                "Part number must be between 1 and {MAX_PARTS} (inclusive). Actual value was: \
                 {number}"
            ),
            ArgumentError::NegativeOffset(offset) => {
                write!(f, "Invalid range. Starting offset ({offset}) {AT_LEAST_ZERO}")
            }
            ArgumentError::NegativeLength(length) => {
                write!(f, "Invalid range. Length ({length}) {AT_LEAST_ZERO}")
            }
            ArgumentError::NegativeSuffix(suffix) => {
                write!(f, "Invalid suffix. Suffix ({suffix}) {AT_LEAST_ZERO}")
            }
            ArgumentError::SuffixWithOffset => f.write_str("Suffix is incompatible with offset."),
            ArgumentError::SuffixWithLength => f.write_str("Suffix is incompatible with length."),
            ArgumentError::EtagsWithoutComma(found) => {
                write!(f, "Comma was expected to separate etags. Encountered a {found}")
            }
            ArgumentError::BadWeakEtag => {
                f.write_str("Weak etags must start with W/ and their value must be quoted")
            }
            ArgumentError::UnclosedEtag => f.write_str("Unclosed double quote for Etag"),
            ArgumentError::NoEtag(name) => write!(f, "Invalid ETag in {name} header"),
            ArgumentError::NotADate => {
                f.write_str("The value cannot be converted because it is not a valid Date.")
            }
        }
    }
}

impl std::error::Error for ArgumentError {}

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unexpected::Wildcard => "wildcard character '*' instead.",
            Unexpected::Quote => {
                "double quote character '\"' instead. \
                 This would otherwise indicate the start of a new strong etag."
            }
            Unexpected::Weak => {
                "weak quotation character 'W' instead. \
                 This would otherwise indicate the start of a new weak etag."
            }
        })
    }
}
