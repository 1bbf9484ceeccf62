//! What the image pipeline promises: see `UPLOADS`.

mod contents;
mod delivery;
mod events;
mod facts;
mod messages;
#[cfg(test)]
mod mutants;
mod order;
mod pictures;
mod rest;
mod row;
mod sometimes;

use crate::platform::DELIVERED_TWICE;
use crate::promise::Promise;

/// An image lands in R2, is classified once, the newest upload wins, and what is deleted stays deleted.
pub const UPLOADS: &[&Promise] = &[
    &events::ONE_WORKFLOW,
    &delivery::NOTHING_NEW,
    &order::LATEST_WINS,
    &order::NEVER_BACK,
    &delivery::ACKED_LAST,
    &events::STATUSES,
    &events::OWN_LABEL,
    &events::TRACKED,
    &events::TRACKED_TO_ITS_END,
    &order::STAYS_DELETED,
    &rest::APART,
    &rest::TERMINAL,
    &rest::GOOD_IS_CLASSIFIED,
    &delivery::EVERY_MESSAGE,
    &rest::UP_TO_DATE,
    &messages::TOLD_THE_TRUTH,
    &pictures::AS_HELD,
    &delivery::REJECTED_ONCE,
    &sometimes::OVERTAKEN,
    &sometimes::SAME_BYTES,
    &sometimes::IMAGE_GONE,
    &sometimes::DEAD_LETTER,
    &sometimes::FAILS,
    &sometimes::EXISTS,
    &sometimes::REFETCHED,
    &sometimes::TERMINATED,
    &sometimes::PART_FETCHED,
    &DELIVERED_TWICE,
];
