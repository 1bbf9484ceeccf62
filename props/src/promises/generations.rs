//! What generations promise: every request ends once and in time, what was made is there with its
//! bytes and nothing else is, and every answer says so.

mod answers;
mod artifacts;
mod browsing;
mod clients;
mod contents;
mod copies;
mod ends;
mod facts;
mod figures;
#[cfg(test)]
mod mutants;
mod served;
mod sometimes;
mod tags;
mod webhooks;

use std::cell::OnceCell;

use thunderhead_sim::Time;

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
    &copies::IN_PARTS,
    &copies::NONE_LEFT_OPEN,
    &artifacts::PAID_ONCE,
    &artifacts::KEPT,
    &artifacts::TRIED,
    &artifacts::APART,
    &answers::ONE_PER_KEY,
    &answers::KNOWN,
    &answers::FORWARD,
    &answers::STRANGERS,
    &answers::TOLD,
    &webhooks::FORGED,
    &served::AS_IT_IS,
    &figures::THE_PROVIDERS,
    &tags::AS_SET,
    &browsing::COMPLETE,
    &clients::OWN_ALONE,
    &clients::PAYS_FOR_ITS_OWN,
    &sometimes::SOME_FAIL,
    &sometimes::ALL_FAIL,
    &sometimes::TIMED_OUT,
    &sometimes::RETRIED,
    &sometimes::EXPIRED,
    &copies::SEVERAL_PARTS,
    &copies::CHANGED,
    &sometimes::OVERTAKEN,
    &sometimes::STRAY,
    &sometimes::LATE,
    &sometimes::RESUMED,
    &sometimes::SWEPT,
    &sometimes::REPEATED,
    &sometimes::SUBSCRIBED,
    &sometimes::FETCHED,
    &sometimes::TAGGED,
    &sometimes::BROWSED,
    &sometimes::REFUSED,
];

/// What the promises read of a history once, for all of them.
#[derive(Default)]
pub(super) struct Known<'a> {
    facts: OnceCell<Vec<(usize, Time, facts::Fact<'a>)>>,
    at_the_end: OnceCell<contents::Contents<'a>>,
    given: OnceCell<Vec<facts::Given>>,
    created: OnceCell<Vec<serde_json::Value>>,
}
