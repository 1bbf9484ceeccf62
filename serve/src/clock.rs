//! The wall clock, which only this package reads.

use std::time::{SystemTime, UNIX_EPOCH};

use thunderhead_sim::{EPOCH_MS, Time};

/// The time as the engine counts it: in milliseconds since the beginning of 2026.
pub fn now() -> Time {
    Time::from_ms(unix_ms().saturating_sub(EPOCH_MS))
}

/// Milliseconds since 1970.
pub fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
