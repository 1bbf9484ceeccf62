//! What generations promise: every request ends once and in time, what was made is there with its
//! bytes and nothing else is, and nobody is told otherwise.

mod answers;
mod artifacts;
mod ends;
mod reading;
mod sightings;
#[cfg(test)]
mod testing;

use crate::promise::Promise;

/// Every promise of the system, and what a search must have seen.
pub const GENERATIONS: &[&Promise] = &[
    &ends::EVERY_REQUEST_ENDS,
    &ends::COUNTED,
    &ends::FINAL,
    &ends::TAGGED,
    &ends::ONE_BY_ONE,
    &artifacts::HAS_ITS_BYTES,
    &artifacts::NOTHING_LEFT_OVER,
    &artifacts::PAID_ONCE,
    &artifacts::KEPT,
    &artifacts::APART,
    &answers::ONE_PER_KEY,
    &answers::KNOWN,
    &answers::FORWARD,
    &answers::STRANGERS,
    &answers::TOLD,
    &sightings::SOME_FAIL,
    &sightings::ALL_FAIL,
    &sightings::TIMED_OUT,
    &sightings::RETRIED,
    &sightings::EXPIRED,
    &sightings::OVERTAKEN,
    &sightings::STRAY,
    &sightings::LATE,
    &sightings::RESUMED,
    &sightings::SWEPT,
    &sightings::REPEATED,
    &sightings::SUBSCRIBED,
];
