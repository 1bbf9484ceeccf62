//! The plan's alternatives as they are written, for the harness to refute. Most are one turn of a
//! processor, around which `processor.rs` has the loop; `unversioned` is another way to append.

pub mod checkpoint;
pub mod events;
pub mod flagged;
pub mod locked;
pub mod unversioned;
