//! What a connection's hooks and functions share with the database that uses it.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

use super::capture::Capture;
use crate::values::hash::mix;
use crate::values::time::Time;

/// State behind the hooks of one connection. SQLite wants its callbacks to be `Send`, hence the
/// atomics; a connection never leaves its thread.
#[derive(Default)]
pub(super) struct Shared {
    /// Our own statement is being prepared: everything is allowed.
    pub internal: AtomicBool,
    /// The statement was refused because it is about transactions.
    pub transaction_refused: AtomicBool,
    /// The application's statement is about the schema.
    pub changing_schema: AtomicBool,
    /// A setting was changed that a rollback does not undo.
    pub tainted: AtomicBool,
    /// `PRAGMA defer_foreign_keys` was prepared.
    pub deferring: AtomicBool,
    /// What `total_changes()` answers.
    pub total_changes: AtomicI64,
    now_ms: AtomicU64,
    seed: AtomicU64,
    draws: AtomicU64,
    capture: Mutex<Capture>,
}

impl Shared {
    pub fn capture(&self) -> MutexGuard<'_, Capture> {
        self.capture.lock().expect("no hook panics while it holds the lock")
    }

    pub fn set_now(&self, now: Time) {
        self.now_ms.store(now.as_ms(), Relaxed);
    }

    pub fn now(&self) -> Time {
        Time::from_ms(self.now_ms.load(Relaxed))
    }

    pub fn set_random(&self, seed: u64, draws: u64) {
        self.seed.store(seed, Relaxed);
        self.draws.store(draws, Relaxed);
    }

    /// How many random words have been drawn.
    pub fn draws(&self) -> u64 {
        self.draws.load(Relaxed)
    }

    /// The next random word: a hash of how many came before it.
    pub fn draw(&self) -> u64 {
        let draw = self.draws.fetch_add(1, Relaxed);
        mix(mix(self.seed.load(Relaxed) ^ 0x7371_6c69_7465) ^ (draw + 1))
    }

    /// Runs `work` with every statement allowed.
    pub fn as_internal<T>(self: &Arc<Shared>, work: impl FnOnce() -> T) -> T {
        self.internal.store(true, Relaxed);
        let result = work();
        self.internal.store(false, Relaxed);
        result
    }
}
