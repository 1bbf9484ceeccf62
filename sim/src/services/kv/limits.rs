//! The limits of KV, as documented and as the local runtime enforces them.

use std::time::Duration;

/// The most bytes of a key.
pub const MAX_KEY_BYTES: usize = 512;
/// The most bytes of a value, and of all values that are read at once.
pub const MAX_VALUE_BYTES: usize = 25 * 1024 * 1024;
/// The most bytes of metadata, as JSON.
pub const MAX_METADATA_BYTES: usize = 1024;
/// The fewest seconds that a value may be kept.
pub const MIN_TTL: i64 = 60;
/// The fewest seconds that a location may be told to keep what it has read.
pub const MIN_CACHE_TTL: i64 = 30;
/// The most keys that are read at once.
pub const MAX_BULK_KEYS: usize = 100;
/// The most keys of a page, and how many there are when the caller does not say.
pub const DEFAULT_LIMIT: i64 = 1000;

/// How long a location may go on believing what it believed before a write. The documentation says "up to 60 seconds
/// or more"; how much more is a guess.
pub const STALE_FOR: Duration = Duration::from_secs(90);
