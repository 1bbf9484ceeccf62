//! The platform's own limits, as its limits and error-code pages state them.

use std::time::Duration;

/// Longest object key, in bytes of UTF-8 (R2 limits page).
pub const MAX_KEY_BYTES: usize = 1024;

/// Most custom metadata one object carries (R2 limits page).
pub const MAX_METADATA_BYTES: usize = 8192;

/// What miniflare 4 allowed instead of [`MAX_METADATA_BYTES`].
pub const MINIFLARE_METADATA_BYTES: usize = 2048;

/// Most bytes in one request, whether `put` or `uploadPart`: 5 GiB less 5 MiB (R2 limits page).
pub const MAX_REQUEST_BYTES: u64 = (5 << 30) - (5 << 20);

/// Largest object, which only a multipart upload reaches: 5 TiB less 5 GiB, printed as 4.995 TiB
/// (R2 limits page).
pub const MAX_OBJECT_BYTES: u64 = (5 << 40) - (5 << 30);

/// Smallest part of a multipart upload, except the last (error 10011 in the R2 error codes).
pub const MIN_PART_BYTES: u64 = 5 << 20;

/// Highest part number, and so the most parts in one upload (R2 limits page).
pub const MAX_PARTS: i64 = 10_000;

/// How long an unfinished multipart upload is kept (error 10024 in the R2 error codes).
pub const UPLOAD_LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Most keys one `delete` takes (Workers API reference).
pub const MAX_DELETE_KEYS: usize = 1000;

/// Most entries on one page of `list` (Workers API reference).
pub const MAX_LIST_KEYS: usize = 1000;

/// Most entries on a page that includes metadata: the reference says "fewer", the emulator 100.
pub const MAX_LIST_KEYS_WITH_METADATA: usize = 100;

/// Most notification rules on one bucket (R2 event notifications page).
pub const MAX_RULES: usize = 100;

/// The least time between two writes of one key, where it is enforced (R2 limits page).
pub const SAME_KEY_INTERVAL: Duration = Duration::from_secs(1);
