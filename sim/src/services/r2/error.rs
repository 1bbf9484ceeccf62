//! What R2 answers when it refuses, in the platform's own words.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Algorithm, ArgumentError, Method, Op};

/// Why an operation was refused; shown with the exact text of the platform.
///
/// ```
/// use thunderhead_sim::r2::{Code, Error, Method};
///
/// let error = Error::service(Method::Put, Code::InternalError);
/// assert_eq!(
///     error.to_string(),
///     "put: We encountered an internal error. Please try again. (10001)"
/// );
/// assert!(error.is_transient());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Error {
    /// The service refused, for one of its numbered reasons.
    Service {
        /// What was asked of it.
        method: Method,
        /// The reason that R2 gives.
        code: Code,
    },
    /// The bytes do not have the checksum that came with them.
    BadDigest {
        /// What was asked of the service.
        method: Method,
        /// The algorithm of the checksum.
        algorithm: Algorithm,
        /// The caller's, in hexadecimal.
        provided: Arc<str>,
        /// That of the bytes received, in hexadecimal.
        actual: Arc<str>,
    },
    /// The binding refused the arguments, and no request was sent.
    Argument(ArgumentError),
}

impl Error {
    /// The error with which `method` reports `code`.
    pub const fn service(method: Method, code: Code) -> Error {
        Error::Service { method, code }
    }

    /// The error that answers `op` with `code`, as a storm does instead of applying it.
    pub fn for_op(op: &Op, code: Code) -> Error {
        Error::service(op.method(), code)
    }

    /// The JavaScript class of the exception.
    pub fn name(&self) -> &'static str {
        match self {
            Error::Service { .. } | Error::BadDigest { .. } => "Error",
            Error::Argument(error) => error.name(),
        }
    }

    /// R2's number for the reason; argument errors have none.
    pub fn code(&self) -> Option<u32> {
        match self {
            Error::Service { code, .. } => Some(code.number()),
            Error::BadDigest { .. } => Some(BAD_DIGEST),
            Error::Argument(_) => None,
        }
    }

    /// Whether the same operation may succeed when it is tried again.
    pub fn is_transient(&self) -> bool {
        matches!(self, Error::Service { code, .. } if code.is_transient())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Service { method, code } => {
                write!(f, "{method}: {} ({})", code.text(*method), code.number())
            }
            Error::BadDigest { method, algorithm, provided, actual } => write!(
                f,
                "{method}: The {algorithm} checksum you specified did not match what we received.\n\
                 You provided a {algorithm} checksum with value: {provided}\n\
                 Actual {algorithm} was: {actual} ({BAD_DIGEST})"
            ),
            Error::Argument(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<ArgumentError> for Error {
    fn from(error: ArgumentError) -> Error {
        Error::Argument(error)
    }
}

const BAD_DIGEST: u32 = 10037;

/// The numbered reasons of R2, named as in its table of error codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Code {
    /// Something went wrong inside R2.
    InternalError,
    /// The bucket does not exist.
    NoSuchBucket,
    /// The key does not exist; the binding turns this into `null`, a copy reports it.
    NoSuchKey,
    /// A part other than the last is under 5 MiB.
    EntityTooSmall,
    /// Too much custom metadata.
    MetadataTooLarge,
    /// The key is too long.
    InvalidObjectName,
    /// The limit of a listing is not from 1 to 1000.
    InvalidMaxKeys,
    /// The multipart upload is not there, or no longer.
    NoSuchUpload,
    /// A part named at completion was not uploaded.
    InvalidPart,
    /// A delete of no key, or of more than 1000.
    InvalidKeyCount,
    /// No byte of the object is in the range.
    InvalidRange,
    /// R2 is unavailable for the moment.
    ServiceUnavailable,
    /// The parts are not of one size.
    BadUpload,
    /// The key is written, or read, too often.
    TooManyRequests,
    /// The body or the object is too large.
    EntityTooLarge,
}

impl Code {
    /// Every reason, in the order of the numbers.
    pub const ALL: [Code; 15] = [
        Code::InternalError,
        Code::NoSuchBucket,
        Code::NoSuchKey,
        Code::EntityTooSmall,
        Code::MetadataTooLarge,
        Code::InvalidObjectName,
        Code::InvalidMaxKeys,
        Code::NoSuchUpload,
        Code::InvalidPart,
        Code::InvalidKeyCount,
        Code::InvalidRange,
        Code::ServiceUnavailable,
        Code::BadUpload,
        Code::TooManyRequests,
        Code::EntityTooLarge,
    ];

    /// The numbers of all of them.
    pub const NUMBERS: [u32; Code::ALL.len()] = {
        let mut numbers = [0; Code::ALL.len()];
        let mut at = 0;
        while at < numbers.len() {
            numbers[at] = Code::ALL[at].number();
            at += 1;
        }
        numbers
    };

    /// R2's number for it, the "v4 code".
    pub const fn number(self) -> u32 {
        self.row().0
    }

    /// The reason with this number, if it is one of ours.
    pub fn from_number(number: u32) -> Option<Code> {
        Code::ALL.into_iter().find(|code| code.number() == number)
    }

    /// Whether it passes by itself.
    pub const fn is_transient(self) -> bool {
        matches!(self, Code::InternalError | Code::ServiceUnavailable | Code::TooManyRequests)
    }

    /// The platform's sentence, without the prefix and the number.
    pub const fn text(self, method: Method) -> &'static str {
        match (self, method) {
            (Code::TooManyRequests, Method::Get) => {
                "Reduce your rate of simultaneous reads on the same object."
            }
            _ => self.row().1,
        }
    }

    const fn row(self) -> (u32, &'static str) {
        match self {
            Code::InternalError => (10001, "We encountered an internal error. Please try again."),
            Code::NoSuchBucket => (10006, "The specified bucket does not exist."),
            Code::NoSuchKey => (10007, "The specified key does not exist."),
            Code::EntityTooSmall => {
                (10011, "Your proposed upload is smaller than the minimum allowed object size.")
            }
            Code::MetadataTooLarge => {
                (10012, "Your metadata headers exceed the maximum allowed metadata size.")
            }
            Code::InvalidObjectName => (10020, "The specified object name is not valid."),
            Code::InvalidMaxKeys => (10022, "MaxKeys params must be positive integer <= 1000."),
            Code::NoSuchUpload => (10024, "The specified multipart upload does not exist."),
            Code::InvalidPart => (10025, "One or more of the specified parts could not be found."),
            Code::InvalidKeyCount => {
                (10027, "The number of keys in the request must be between 1 and 1000 inclusive.")
            }
            Code::InvalidRange => (10039, "The requested range is not satisfiable"),
            Code::ServiceUnavailable => (
                10043,
                "Please look at https://www.cloudflarestatus.com for issues or contact customer support.",
            ),
            Code::BadUpload => (10048, "There was a problem with the multipart upload."),
            Code::TooManyRequests => {
                (10058, "Reduce your concurrent request rate for the same object.")
            }
            Code::EntityTooLarge => {
                (100_100, "Your proposed upload exceeds the maximum allowed object size.")
            }
        }
    }
}

/// What the platform may answer instead of applying `op`, however correct `op` is.
pub fn transient_errors(op: &Op) -> &'static [Code] {
    match op.method() {
        Method::Head | Method::Get | Method::List => {
            &[Code::InternalError, Code::ServiceUnavailable]
        }
        // A lifecycle rule has no caller that could be refused.
        Method::LifecycleDelete => &[],
        _ => &[Code::InternalError, Code::ServiceUnavailable, Code::TooManyRequests],
    }
}
