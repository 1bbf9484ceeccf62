//! What a search must have seen, or it proves little.

use thunderhead_sim::queue::Fate;
use thunderhead_sim::{SortedMap, SortedSet};

use super::contents::Contents;
use super::facts::{Fact, deliveries, facts};
use crate::promise::Promise;
use crate::promises::Reading;

pub static OVERTAKEN: Promise = Promise::sometimes_shared(
    "a newer notification overtakes an older",
    "a consumer begins with an older change of a key after it has begun with a newer one",
    overtaken,
);

pub static SAME_BYTES: Promise = Promise::sometimes_shared(
    "the same bytes come again",
    "a key holds bytes that it held before, with something else or nothing in between",
    same_bytes,
);

pub static IMAGE_GONE: Promise = Promise::sometimes_shared(
    "a workflow finds its image gone",
    "when a workflow loads its image, R2 holds something else, or nothing",
    image_gone,
);

pub static DEAD_LETTER: Promise = Promise::sometimes_shared(
    "a message becomes a dead letter",
    "some message fails so often that it goes to the dead-letter queue",
    dead_letter,
);

pub static FAILS: Promise =
    Promise::sometimes_shared("an upload fails", "some row ends as failed", fails);

pub static EXISTS: Promise = Promise::sometimes_shared(
    "a workflow exists already",
    "some `create` is refused because its instance exists",
    exists,
);

pub static REFETCHED: Promise = Promise::sometimes_shared(
    "a client fetches again",
    "a connected client asks for the list more than once",
    refetched,
);

pub static TERMINATED: Promise = Promise::sometimes_shared(
    "a workflow is terminated",
    "the workflow of an upload that is deleted is ended before it has a result",
    terminated,
);

pub static PART_FETCHED: Promise = Promise::sometimes_shared(
    "a part of a picture is fetched",
    "a member gets a range of a picture",
    part_fetched,
);

fn overtaken(trace: &Reading<'_>) -> bool {
    let contents = Contents::at_the_end(trace);
    let mut latest: SortedMap<&str, usize> = SortedMap::new();
    deliveries(trace).any(|(_, fact)| {
        let Fact::Delivered(message) = fact else { return false };
        let Some((key, change)) = contents.change(message) else { return false };
        let before = latest.get(key).copied().unwrap_or(0);
        latest.insert(key, change.max(before));
        change < before
    })
}

fn same_bytes(trace: &Reading<'_>) -> bool {
    let contents = Contents::at_the_end(trace);
    contents.keys().any(|key| {
        let mut held = contents.held(key).to_vec();
        held.dedup();
        let events: Vec<_> = held.iter().flatten().collect();
        let distinct: SortedSet<_> = events.iter().collect();
        distinct.len() < events.len()
    })
}

fn image_gone(trace: &Reading<'_>) -> bool {
    facts(trace).any(|(_, fact)| matches!(fact, Fact::Gone))
}

fn dead_letter(trace: &Reading<'_>) -> bool {
    facts(trace).any(|(_, fact)| matches!(fact, Fact::Settled(_, Fate::DeadLettered { .. })))
}

fn fails(trace: &Reading<'_>) -> bool {
    let contents = Contents::at_the_end(trace);
    contents.board.rows().any(|(_, row)| row.status == "failed")
}

fn exists(trace: &Reading<'_>) -> bool {
    facts(trace).any(|(_, fact)| matches!(fact, Fact::Create { duplicate: true, .. }))
}

fn terminated(trace: &Reading<'_>) -> bool {
    facts(trace).any(|(_, fact)| matches!(fact, Fact::Ended(_, "terminated")))
}

fn part_fetched(trace: &Reading<'_>) -> bool {
    facts(trace).any(|(_, fact)| matches!(fact, Fact::Answered(_, part) if part.status == 206))
}

fn refetched(trace: &Reading<'_>) -> bool {
    facts(trace).filter(|(_, fact)| matches!(fact, Fact::Fetched(..))).count() > 1
}

#[cfg(test)]
mod tests {
    use thunderhead_sim::Response;
    use thunderhead_sim::workflow::{self, AlreadyExists};

    use super::*;
    use crate::promises::uploads::mutants::Story;

    #[test]
    fn bytes_that_come_again_are_seen() {
        let mut bytes = Story::default();
        bytes.stored("one", 1).stored("one", 2);
        assert!(!same_bytes(&Reading::of(&bytes.trace())), "nothing in between");
        assert!(same_bytes(&Reading::of(&bytes.removed(3).stored("one", 4).trace())));
    }

    #[test]
    fn a_notification_that_overtakes_another_is_seen() {
        let mut both = Story::default();
        both.stored("one", 1).stored("two", 2);
        assert!(!overtaken(&Reading::of(
            &both.clone().delivered(1).delivered(2).delivered(2).trace()
        )));
        assert!(overtaken(&Reading::of(&both.delivered(2).delivered(1).trace())));
    }

    #[test]
    fn an_image_that_is_gone_is_seen() {
        let mut one = Story::default();
        one.stored("one", 1).asked_agent("persistResult");
        assert!(!image_gone(&Reading::of(&one.trace())));
        assert!(image_gone(&Reading::of(&one.asked_agent("onImageGone").trace())));
    }

    #[test]
    fn an_instance_that_exists_is_seen_and_a_create_that_only_failed_is_not() {
        let mut one = Story::default();
        one.created("one", None).refused("one", workflow::Error::service(10001));
        assert!(!exists(&Reading::of(&one.trace())));
        let duplicate = workflow::Error::already_exists("a", AlreadyExists::Production, false);
        assert!(exists(&Reading::of(&one.refused("one", duplicate).trace())));
    }

    #[test]
    fn a_termination_and_a_range_are_seen() {
        let mut one = Story::default();
        one.stored("one", 1).asks_picture(("", "")).gets(Response::new(200, "one"));
        assert!(
            !terminated(&Reading::of(&one.trace())) && !part_fetched(&Reading::of(&one.trace()))
        );
        one.ends("one", "terminated").asks_picture(("", "")).gets(Response::new(206, "on"));
        assert!(terminated(&Reading::of(&one.trace())) && part_fetched(&Reading::of(&one.trace())));
    }

    #[test]
    fn dead_letters_failures_and_clients_are_seen() {
        let mut one = Story::default();
        one.stored("one", 1).row("one", "classified", None).watched("[]");
        assert!(
            !dead_letter(&Reading::of(&one.trace()))
                && !fails(&Reading::of(&one.trace()))
                && !refetched(&Reading::of(&one.trace()))
        );
        one.settled(1, Fate::DeadLettered { queue: "d".into() }).row("one", "failed", None);
        one.watched("[]");
        assert!(
            dead_letter(&Reading::of(&one.trace()))
                && fails(&Reading::of(&one.trace()))
                && refetched(&Reading::of(&one.trace()))
        );
    }
}
