//! Why there is no picture.

use std::fmt;

/// Why an image could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageError {
    /// There were no bytes at all.
    Empty,
    /// The content is none of the formats that are understood.
    UnknownFormat,
    /// The image declares more pixels, or needs more memory, than the limits allow.
    TooLarge {
        /// What exceeded which limit.
        detail: String,
    },
    /// The content starts like an image but is truncated, damaged or of an unsupported flavour.
    Broken {
        /// The format the content claims to be.
        format: String,
        /// The decoder's reason.
        reason: String,
    },
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageError::Empty => write!(f, "the image is empty"),
            ImageError::UnknownFormat => {
                write!(f, "not an image: expected JPEG, PNG, WebP, GIF or BMP content")
            }
            ImageError::TooLarge { detail } => write!(f, "the image is too large: {detail}"),
            ImageError::Broken { format, reason } => write!(f, "broken {format} image: {reason}"),
        }
    }
}

impl std::error::Error for ImageError {}
