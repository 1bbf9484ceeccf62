//! The reference systems and their runner.

pub mod systems;
