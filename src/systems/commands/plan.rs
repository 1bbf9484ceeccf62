//! The plan's alternatives as they are written, for the harness to refute. Each is one turn of a
//! processor; `processor.rs` has the loop around it.

pub mod checkpoint;
pub mod events;
pub mod flagged;
pub mod locked;
