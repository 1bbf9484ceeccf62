//! The simulated cloud.

mod body;
pub mod queue;
pub mod r2;
mod time;

pub use body::Body;
pub use time::{EPOCH_MS, Time};
