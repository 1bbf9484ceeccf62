//! What a cloud that runs for long does not hold in memory.

use std::fmt::Debug;

/// Reads back what a [`Machine`](crate::Machine) has written down and no longer holds. Who drives the machine has it.
pub trait Shelf: Debug {
    /// The bytes of a large object, by the number of their file; none when they cannot be read.
    fn body(&self, file: u64) -> Option<Vec<u8>>;

    /// The [`Row`](crate::Row) of an instance of a workflow that has ended; none when there is none.
    fn instance(&self, workflow: &str, id: &str) -> Option<String>;
}
