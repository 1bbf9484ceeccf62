//! Parts of an object: the `range` of a `get`.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ArgumentError;

/// Which bytes a `get` asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Range {
    /// Counted from the start, or with `suffix` from the end.
    Bytes {
        /// Where to begin.
        offset: Option<i64>,
        /// The number of bytes.
        length: Option<i64>,
        /// How many of the last.
        suffix: Option<i64>,
    },
    /// The value of an HTTP `Range` header; one that makes no sense asks for everything.
    Header(Arc<str>),
}

impl Range {
    /// Everything from `offset` on.
    pub const fn from_offset(offset: i64) -> Range {
        Range::Bytes { offset: Some(offset), length: None, suffix: None }
    }

    /// `length` bytes from `offset` on.
    pub const fn part(offset: i64, length: i64) -> Range {
        Range::Bytes { offset: Some(offset), length: Some(length), suffix: None }
    }

    /// The last `length` bytes.
    pub const fn suffix(length: i64) -> Range {
        Range::Bytes { offset: None, length: None, suffix: Some(length) }
    }

    /// Refuses what the binding refuses before it asks R2.
    pub(super) fn check_arguments(&self) -> Result<(), ArgumentError> {
        let Range::Bytes { offset, length, suffix } = *self else { return Ok(()) };
        match (offset, length, suffix) {
            (Some(offset), _, _) if offset < 0 => Err(ArgumentError::NegativeOffset(offset)),
            (_, Some(length), _) if length < 0 => Err(ArgumentError::NegativeLength(length)),
            (Some(_), _, Some(_)) => Err(ArgumentError::SuffixWithOffset),
            (_, Some(_), Some(_)) => Err(ArgumentError::SuffixWithLength),
            (_, _, Some(suffix)) if suffix < 0 => Err(ArgumentError::NegativeSuffix(suffix)),
            _ => Ok(()),
        }
    }

    /// The bytes this means in an object of `size`, or `None` when there are none.
    pub(super) fn resolve(&self, size: u64) -> Option<ByteRange> {
        let number = |n: Option<i64>| n.and_then(|n| u64::try_from(n).ok());
        match self {
            Range::Header(header) => Some(parse(header, size).unwrap_or(ByteRange::whole(size))),
            Range::Bytes { suffix: Some(suffix), .. } => {
                let length = number(Some(*suffix))?.min(size);
                (*suffix > 0).then_some(ByteRange { offset: size - length, length })
            }
            Range::Bytes { offset, length, .. } => {
                let offset = number(*offset).unwrap_or(0);
                let left = size.checked_sub(offset)?;
                let length = number(*length).map_or(left, |length| length.min(left));
                (length > 0).then_some(ByteRange { offset, length })
            }
        }
    }
}

/// The bytes a `get` returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ByteRange {
    /// Where they begin.
    pub offset: u64,
    /// How many they are.
    pub length: u64,
}

impl ByteRange {
    /// All bytes of an object of `size`.
    pub const fn whole(size: u64) -> ByteRange {
        ByteRange { offset: 0, length: size }
    }
}

/// One satisfiable range of bytes; anything else (another unit, several ranges, a range behind the
/// end) is `None`, and the caller answers with the whole object.
fn parse(header: &str, size: u64) -> Option<ByteRange> {
    let (unit, spec) = header.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (first, last) = spec.split_once('-')?;
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
        digits.then(|| text.parse::<u64>().unwrap_or(u64::MAX))
    };
    let (first, last) = (first.trim(), last.trim());
    if first.is_empty() {
        let length = number(last)?.min(size);
        return (length > 0).then_some(ByteRange { offset: size - length, length });
    }
    let offset = number(first)?;
    let last = if last.is_empty() { u64::MAX } else { number(last)? };
    let end = last.min(size.checked_sub(1)?);
    (offset <= last && offset <= end).then(|| ByteRange { offset, length: end - offset + 1 })
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Range::Header(header) => write!(f, "range {header:?}"),
            Range::Bytes { suffix: Some(suffix), .. } => write!(f, "last {suffix} bytes"),
            Range::Bytes { offset, length, .. } => {
                write!(f, "from {}", offset.unwrap_or(0))?;
                length.map_or(Ok(()), |length| write!(f, " {length} bytes"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_range_reaches_outside_the_object() {
        let headers = ["bytes=0-0", "BYTES = 3 - ", "bytes=-0", "bytes=-9", "bytes=4-2", "bytes=-"];
        let headers = headers.map(|header| Range::Header(Arc::from(header)));
        let numbers = [None, Some(0), Some(1), Some(4), Some(5), Some(6), Some(i64::MAX)];
        let mut ranges = headers.to_vec();
        for offset in numbers {
            for length in numbers {
                ranges.push(Range::Bytes { offset, length, suffix: None });
            }
            ranges.push(Range::Bytes { offset: None, length: None, suffix: offset });
        }
        for range in ranges {
            if let Some(ByteRange { offset, length }) = range.resolve(5) {
                assert!(length > 0 && offset + length <= 5, "{range}");
            }
        }
    }

    #[test]
    fn each_impossible_range_has_the_text_of_the_binding() {
        let text = |offset, length, suffix| {
            let error = Range::Bytes { offset, length, suffix }.check_arguments().unwrap_err();
            format!("{}: {error}", error.name())
        };
        assert_eq!(
            text(None, Some(-1), None),
            "RangeError: Invalid range. Length (-1) must be greater than or equal to 0."
        );
        assert_eq!(text(None, Some(1), Some(1)), "TypeError: Suffix is incompatible with length.");
        assert_eq!(
            text(None, None, Some(-1)),
            "RangeError: Invalid suffix. Suffix (-1) must be greater than or equal to 0."
        );
    }
}
