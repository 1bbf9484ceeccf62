//! The result of a run.

use std::sync::Arc;

use crate::choices::Draw;
use crate::choices::tape::Tape;
use crate::protocol::trace::Trace;

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct Run {
    /// How it ended.
    pub end: End,
    /// What happened.
    pub trace: Trace,
    /// Every choice that was made, in order.
    pub draws: Vec<Draw>,
    /// How many polls and events it took.
    pub steps: u32,
    /// How many times a host crashed.
    pub crashes: u32,
    /// The model that looked at pictures; nothing for the stand-in.
    pub model: Option<Arc<str>>,
}

impl Run {
    /// The tape that plays this run again.
    pub fn tape(&self) -> Tape {
        let deviating = self.draws.iter().filter(|draw| draw.value > 0);
        Tape(deviating.map(|draw| draw.deviation(self.trace.actors(), draw.value)).collect())
    }
}

/// How a run ended. The trace says more: which tasks are stuck and on what, or the message of a panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Nothing was left to do.
    Quiet,
    /// Nothing was left to happen, and a task was still waiting.
    Deadlock,
    /// It did not come to rest within the scenario's steps.
    Livelock,
    /// Application code panicked.
    Panic,
}
