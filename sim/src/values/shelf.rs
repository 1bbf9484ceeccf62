//! What a cloud that runs for long does not hold in memory.

use std::fmt::Debug;

/// Reads back what a [`Machine`](crate::Machine) has written down and no longer holds. Who drives the machine has it.
pub trait Shelf: Debug {
    /// The bytes of a large object, by the number of their file; none when they cannot be read.
    fn body(&self, file: u64) -> Option<Vec<u8>>;
}
