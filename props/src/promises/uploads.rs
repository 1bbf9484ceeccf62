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

use std::cell::OnceCell;

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

/// What the promises read of a history once, for all of them.
#[derive(Default)]
pub(super) struct Known<'a> {
    facts: OnceCell<Vec<(usize, facts::Fact<'a>)>>,
    at_the_end: OnceCell<contents::Contents<'a>>,
}

#[cfg(test)]
mod tests {
    use thunderhead_sim::Trace;

    use super::mutants::Story;
    use super::*;
    use crate::promise::{Check, Finding};
    use crate::promises::Reading;

    fn verdict(promise: &Promise, reading: &Reading<'_>) -> Result<bool, Finding> {
        match &promise.check {
            Check::Always(check) | Check::Eventually(check) => check.read(reading).map(|()| true),
            Check::Sometimes(seen) => Ok(seen.read(reading)),
            Check::Converges => Ok(true),
        }
    }

    #[test]
    fn a_promise_says_the_same_of_a_history_that_others_have_read() {
        let mut story = Story::default();
        story.stored("one", 1).read("one").row("one", "queued", None).stored("two", 2);
        let trace: Trace = story.trace();
        let shared = Reading::of(&trace);
        let verdicts = UPLOADS.iter().map(|promise| {
            let alone = verdict(promise, &Reading::of(&trace));
            assert_eq!(verdict(promise, &shared), alone, "{promise}");
            alone
        });
        assert!(verdicts.filter(Result::is_err).count() > 1, "some promises are broken");
    }
}
