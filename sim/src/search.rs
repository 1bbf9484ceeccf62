//! Searches over tapes: the smallest failing run, and every run within bounds.

pub mod enumerate;
mod reduce;
pub mod scripted;
pub mod shrink;
