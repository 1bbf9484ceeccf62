//! Pictures from outside: untrusted bytes become pixels, or a typed error, within limits of memory and time. What a
//! network sees of them is resized here too.
//!
//! It is a package of its own, so that hostile files can be tried without compiling the inference engine.

mod decode;
mod error;
mod resize;
mod samples;

pub use decode::{Limits, Picture, decode};
pub use error::ImageError;
pub use samples::samples;
