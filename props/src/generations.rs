//! What generations promise: every request ends once and in time, what was made is there with its
//! bytes and nothing else is, and nobody is told otherwise.

mod answers;
mod artifacts;
mod ends;
mod reading;

use crate::invariant::Invariant;

/// Every promise of the system, and what a search must have seen.
pub const GENERATIONS: &[&Invariant] = &[
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
];
