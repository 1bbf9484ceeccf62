//! What a cloud that runs for long does not hold in memory.

use std::fmt::Debug;
use std::path::PathBuf;

use crate::values::body::Body;
use crate::values::time::Time;

/// Reads back what a [`Machine`](crate::Machine) has written down and no longer holds. Who drives the machine has it.
pub trait BackingStore: Debug {
    /// The bytes of a large object, by the number of their file; none when they cannot be read.
    fn body(&self, file: u64) -> Option<Body>;

    /// The [`Row`](crate::Row) of an instance of a workflow that has ended; none when there is none.
    fn instance(&self, workflow: &str, id: &str) -> Option<String>;

    /// The number and the [`Row`](crate::Row) of messages of a queue that left the memory: the first `most` behind the
    /// one that is due at this time and has this number, in that order. None when they cannot be read now.
    fn messages(&self, queue: &str, behind: (Time, u64), most: usize)
    -> Option<Vec<(u64, String)>>;

    /// The [`Row`](crate::Row) of the one of these messages that has the lowest number.
    fn oldest_message(&self, queue: &str, behind: (Time, u64)) -> Option<String>;

    /// Where a file of this number is, or is to be; none when databases are not given files.
    fn place(&self, file: u64) -> Option<PathBuf> {
        let _ = file;
        None
    }
}
