//! The one place that looks at the wall clock: how long a search took, never what it found.

#![expect(clippy::disallowed_types, reason = "the command line reports how fast a search was")]

use std::time::{Duration, Instant};

/// Measures how long a command has been at work.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts measuring.
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// The time since the start.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// The rate of `count` things per second, rounded down.
    pub fn per_second(self, count: u64) -> u64 {
        let micros = u64::try_from(self.elapsed().as_micros()).unwrap_or(u64::MAX).max(1);
        count.saturating_mul(1_000_000) / micros
    }
}
