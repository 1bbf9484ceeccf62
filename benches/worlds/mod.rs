//! The worlds that the protocol is measured in. Each has one function that plays one run.

pub mod paused;
pub mod simulated;
pub mod wire;
