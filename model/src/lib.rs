//! Image classification with ResNet-50 on the CPU.

mod classifier;
pub mod commands;
mod error;
mod fast;
pub mod gallery;
mod kernel;
mod labels;
mod memo;
mod network;
mod preprocess;
mod progress;
mod recognise;
mod regular;
pub mod simulated;
mod weights;

pub use classifier::{
    Classifier, DEFAULT_TOP, Label, MODEL_VARIABLE, ModelInfo, Origin, Precision, Settings,
};
pub use error::{Error, WeightsError};
pub use kernel::Kernel;
pub use memo::Memo;
pub use preprocess::Preprocessing;
pub use progress::{OnProgress, Progress, Stage};
pub use thunderhead_pictures::{ImageError, Limits, Picture, decode};
pub use weights::{Filled, MODEL_SHA256, PACKAGE, WeightStore};
