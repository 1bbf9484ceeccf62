//! How much there is to do again at a start: the log of each database, and what it weighs against the last image.

use std::sync::Arc;

use crate::engine::ids::HostId;
use crate::values::sorted_map::SortedMap;

/// A log of fewer bytes is rather done again.
const LEAST: u64 = 4_096;
/// To do a log of more bytes again takes longer than a second.
const MOST: u64 = 12 << 20;
/// A byte of a log weighs as much as so many of an image: doing a turn again takes longer than loading what it wrote.
const TOIL: u64 = 4;

/// How much each database takes that has been written to.
#[derive(Debug, Default)]
pub(crate) struct Logs(SortedMap<String, Weight>);

#[derive(Debug, Default)]
struct Weight {
    image: u64,
    log: u64,
}

/// Which database a log is of.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    D1(Arc<str>),
    Object(HostId),
}

impl Logs {
    /// A log has become longer. Returns whether it outweighs the image now.
    pub fn grew(&mut self, log: &str, by: usize) -> bool {
        if !self.0.contains_key(log) {
            self.0.insert(log.into(), Weight::default());
        }
        let Some(weight) = self.0.get_mut(log) else { return false };
        weight.log += by as u64;
        weight.log > LEAST.max(weight.image / TOIL).min(MOST)
    }

    /// An image has taken the place of a log.
    pub fn replaced(&mut self, log: &str, image: u64) {
        self.0.insert(log.into(), Weight { image, log: 0 });
    }
}
