//! How many comparisons a pair keeps, and which go when there is one more.

use std::time::Duration;

use thunderhead_sim::sqlite::Value;
use thunderhead_sim::{Env, Error, ObjectStorage, Time};

use super::mistakes;

/// How many comparisons a pair keeps: at least the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep(u32);

/// The key under which a pair that was told otherwise remembers how many.
const KEY: &str = "keep";
const MAX: u32 = 1_000;
/// How long it is known that a comparison was evicted. A request that is this late would have had to
/// be on its way longer than the platform remembers the workflow it belongs to.
const REMEMBERED: Duration = Duration::from_secs(31 * 86_400);

/// Creation is in the order of the rowid, which no clock can repeat or turn back. It never falls,
/// because the newest row is never deleted.
const FIRST_TO_GO: &str = "SELECT rowid FROM comparisons ORDER BY rowid DESC LIMIT 1 OFFSET ?";
/// What a mistake has in its place: two that begin in one millisecond are in any order.
const FIRST_TO_GO_BY_TIME: &str =
    "SELECT rowid FROM comparisons ORDER BY ts DESC, id LIMIT 1 OFFSET ?";
const REMEMBER: &str =
    "INSERT OR IGNORE INTO evicted (id, ts) SELECT id, ? FROM comparisons WHERE rowid <= ?";
const EVICT: &str = "DELETE FROM comparisons WHERE rowid <= ?";
const FORGET: &str = "DELETE FROM evicted WHERE ts < ?";

impl Default for Keep {
    fn default() -> Keep {
        Keep(50)
    }
}

impl Keep {
    /// So many, if that is a number of comparisons that can be kept.
    pub fn new(count: u64) -> Option<Keep> {
        let count = u32::try_from(count).ok()?;
        (1..=MAX).contains(&count).then_some(Keep(count))
    }

    /// How many this object was told to keep, or the default.
    pub fn stored(storage: &ObjectStorage) -> Result<Keep, Error> {
        let stored = storage.get(KEY)?;
        let count = stored.and_then(|body| body.text().and_then(|text| text.parse().ok()));
        Ok(count.and_then(Keep::new).unwrap_or_default())
    }

    /// Remembers it, and lets go of what is beyond it, in the same turn.
    pub fn store(self, storage: &ObjectStorage, env: &Env) -> Result<(), Error> {
        storage.put(KEY, self.0.to_string())?;
        self.retain(storage, env)
    }

    /// One more than that.
    pub fn and_one(self) -> Keep {
        Keep(self.0 + 1)
    }

    /// Deletes all but the newest, with their probes. Nothing else happens in the object between
    /// this and what the caller does in the same turn.
    pub fn retain(self, storage: &ObjectStorage, env: &Env) -> Result<(), Error> {
        let now = env.now();
        let oldest = match mistakes::EVICTS_BY_TIME.is_made(env) {
            true => FIRST_TO_GO_BY_TIME,
            false => FIRST_TO_GO,
        };
        let first = storage.exec(oldest, &[Value::from(self.0)])?.raw().next();
        let Some(rowid) = first.and_then(|row| row.into_iter().next()) else { return Ok(()) };
        let remembered = Value::Integer(ms(now));
        if !mistakes::FORGETS_EVICTIONS.is_made(env) {
            storage.exec(REMEMBER, &[remembered, rowid.clone()])?;
        }
        storage.exec(EVICT, &[rowid])?;
        let forgotten = ms(now).saturating_sub(REMEMBERED.as_millis() as i64);
        storage.exec(FORGET, &[Value::Integer(forgotten)])?;
        Ok(())
    }
}

/// A time as rows have it: Unix milliseconds.
pub fn ms(time: Time) -> i64 {
    i64::try_from(time.unix_ms()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_keeps_fifty_unless_told_otherwise_and_never_none() {
        assert_eq!(Keep::default(), Keep(50));
        assert_eq!(Keep::new(1), Some(Keep(1)));
        assert_eq!(Keep::new(1_000), Some(Keep(1_000)));
        for wrong in [0, 1_001, u64::from(u32::MAX) + 2] {
            assert_eq!(Keep::new(wrong), None, "{wrong}");
        }
    }
}
