//! A guest's stay ends once, by a check-out of that stay.

use thunderhead_sim::SortedSet;

use super::facts::{Change, Fact, facts};
use crate::promise::{Finding, Promise};
use crate::promises::Reading;

pub static END_ONCE: Promise = Promise::always_shared(
    "a stay ends once",
    "no stay is ended, and charged, by two check-outs, and no guest leaves or is held but by a check-out of that stay",
    end_once,
);

fn end_once(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut ended = SortedSet::new();
    for (at, fact) in facts(trace) {
        let Fact::Rows(changes) = fact else { continue };
        // What a transaction does to guests follows from its check-outs, in whatever order it has written them.
        for change in changes.iter().copied() {
            if let Change::Effect { id, outcome, stay } = change
                && outcome != "refused"
                && !ended.insert(stay)
            {
                let (guest, stay) = stay;
                return Err(Finding::at(at, format!("{id} ends stay {stay} of {guest} again")));
            }
        }
        for change in changes.iter().copied() {
            if let Change::Guest { guest, status, stay } = change
                && status != "in"
                && !ended.contains(&(guest, stay))
            {
                let message = format!("{guest} is {status}, and nothing has ended stay {stay}");
                return Err(Finding::at(at, message));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::commands::mutants::Story;

    /// The first stay of a guest has ended.
    fn left() -> Story {
        let mut story = Story::default();
        story.guests(&["ann"]).command(1, "ann").sql(
            "insert into checkouts values (1, '1', 'out', 'ann', 1); \
             update guests set status = 'out'",
        );
        story
    }

    #[test]
    fn a_stay_that_ends_twice_is_rejected_where_it_happens() {
        let mut story = left();
        story.sql("insert into checkouts values (2, '2', 'refused', 'ann', 1)");
        assert_eq!(end_once(&Reading::of(&story.trace())), Ok(()));
        story.sql("insert into checkouts values (3, '3', 'out', 'ann', 1)");
        let message = "3 ends stay 1 of ann again";
        assert_eq!(end_once(&Reading::of(&story.trace())), Err(Finding::at(4, message)));
    }

    #[test]
    fn a_guest_who_leaves_without_a_check_out_of_the_stay_is_rejected_where_it_happens() {
        let mut story = left();
        story.sql("update guests set status = 'in', stay = 2");
        assert_eq!(end_once(&Reading::of(&story.trace())), Ok(()));
        story.sql("update guests set status = 'out'");
        let message = "ann is out, and nothing has ended stay 2";
        assert_eq!(end_once(&Reading::of(&story.trace())), Err(Finding::at(4, message)));
    }
}
