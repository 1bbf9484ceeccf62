#![doc = include_str!("../README.md")]

pub mod history;
pub mod playable;
pub mod systems;

/// The version that failure files carry.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
