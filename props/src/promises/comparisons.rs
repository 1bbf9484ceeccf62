//! What comparisons promise: see `COMPARISONS`.
//!
//! Names in the trace: the worker `web`, objects `ENVPAIR_DO:KEY` with the tables `comparisons` and
//! `probes` (or a database with the same tables), ids `KEY:…`, and the setting `keep` of an object.

mod addresses;
mod answers;
mod contents;
mod facts;
mod lifecycle;
#[cfg(test)]
mod mutants;
mod order;
mod pairs;
mod probes;
mod requests;
mod retention;
mod settings;
mod sometimes;
mod steps;
mod times;

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
    &order::NEWEST_FIRST,
    &steps::UNSEEN,
    &steps::PURE,
    &addresses::PUBLIC,
    &addresses::FEW,
    &times::TRUE,
    &settings::BY_OPERATORS,
    &sometimes::COMPLETED,
    &sometimes::FAILED,
    &sometimes::RESOLVED_INSIDE,
    &sometimes::EVICTED_RUNNING,
    &sometimes::ASKED_TOO_LATE,
    &sometimes::ANSWERED_AGAIN,
    &sometimes::SAVED_AGAIN,
    &sometimes::HISTORY_USED,
];
