//! What comparisons promise: see `COMPARISONS`.
//!
//! Names in the trace: the worker `web`, objects `ENVPAIR_DO:KEY` with the tables `comparisons` and
//! `probes` (or a database with the same tables), ids `KEY:…`, and the setting `keep` of an object.

mod addresses;
mod answers;
mod lifecycle;
mod pairs;
mod probes;
mod reading;
mod requests;
mod retention;
mod sightings;
mod steps;
#[cfg(test)]
mod testing;

use crate::promise::Promise;

/// The promises of comparisons.
pub const COMPARISONS: &[&Promise] = &[
    &retention::NEWEST,
    &probes::ONE_PER_SIDE,
    &lifecycle::ENDS_ONCE,
    &lifecycle::NONE_FOR_EVER,
    &requests::ONE_PER_REQUEST,
    &answers::TRUE,
    &pairs::APART,
    &steps::UNSEEN,
    &steps::PURE,
    &addresses::PUBLIC,
    &sightings::COMPLETED,
    &sightings::FAILED,
    &sightings::EVICTED_RUNNING,
    &sightings::ASKED_TOO_LATE,
    &sightings::ANSWERED_AGAIN,
    &sightings::SAVED_AGAIN,
    &sightings::HISTORY_USED,
];
