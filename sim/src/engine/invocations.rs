//! Invocations of handlers, and the background work that each of them has to wait for.

use std::collections::BTreeMap;

use crate::engine::wait::JoinHandle;
use crate::protocol::outcome::Error;

/// Work that was given to `wait_until`.
pub(crate) type Background = JoinHandle<Result<(), Error>>;

#[derive(Default)]
pub(crate) struct Invocations {
    count: u32,
    background: BTreeMap<u32, Vec<Background>>,
}

impl Invocations {
    /// The number of another invocation.
    pub fn begin(&mut self) -> u32 {
        self.count += 1;
        self.count
    }

    pub fn wait_for(&mut self, invocation: u32, work: Background) {
        self.background.entry(invocation).or_default().push(work);
    }

    /// Whether the invocation has ever had background work.
    pub fn has_background(&self, invocation: u32) -> bool {
        self.background.contains_key(&invocation)
    }

    pub fn next_background(&mut self, invocation: u32) -> Option<Background> {
        self.background.get_mut(&invocation).and_then(Vec::pop)
    }

    /// All background work that nothing waits for any more, at the end of a run.
    pub fn take_all(&mut self) -> impl Iterator<Item = Background> + use<> {
        std::mem::take(&mut self.background).into_values().flatten()
    }
}
