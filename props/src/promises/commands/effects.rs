//! Every command takes effect, and once.

use thunderhead_sim::SortedMap;

use super::contents::Contents;
use super::facts::{Change, Fact, facts};
use crate::history::named;
use crate::promise::{Finding, Promise};
use crate::promises::Reading;

pub static NONE_LOST: Promise = Promise::eventually_shared(
    "no command is lost",
    "every command takes effect in the end, unless it is set aside or waits behind one that cannot be carried out; none is called processed that did not",
    none_lost,
);

pub static NONE_TWICE: Promise = Promise::always_shared(
    "no command takes effect twice",
    "every effect is that of a command, and of one that had none before",
    none_twice,
);

fn none_lost(trace: &Reading<'_>) -> Result<(), Finding> {
    let contents = Contents::at_the_end(trace);
    let poisoned = contents.is_poisoned();
    for command in contents.commands().filter(|command| !contents.is_done(command.id)) {
        if contents.is_processed(command) {
            let message = format!("{} is called processed and never took effect", command.id);
            return Err(Finding::missing(message).about(named(trace, command.id)));
        }
        if !poisoned && !contents.is_parked(command) {
            let message = format!("{} is still pending", command.id);
            return Err(Finding::missing(message).about(named(trace, command.id)));
        }
    }
    Ok(())
}

fn none_twice(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    let mut first = SortedMap::new();
    for (at, fact) in facts(trace) {
        let Fact::Rows(changes) = fact else { continue };
        for change in changes.iter() {
            if let Change::Effect { id, .. } = change {
                if !contents.is_command(id) {
                    return Err(Finding::at(at, format!("{id} is not a command")));
                }
                if contents.effects.contains_key(id) {
                    let message = format!("{id} takes effect again");
                    return Err(Finding::at(at, message).about(first.get(id).copied()));
                }
                first.entry(*id).or_insert(at);
            }
            contents.apply(change);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::commands::mutants::Story;

    fn two() -> Story {
        let mut story = Story::default();
        story.guests(&["ann", "bob"]).command(1, "ann").command(2, "bob");
        story
    }

    #[test]
    fn commands_that_take_effect_once_are_as_they_should_be() {
        let mut story = two();
        story.effect("1").effect("2").marked(1).marked(2);
        assert_eq!(none_lost(&Reading::of(&story.trace())), Ok(()));
        assert_eq!(none_twice(&Reading::of(&story.trace())), Ok(()));
    }

    #[test]
    fn a_command_that_stays_pending_is_rejected() {
        let mut story = two();
        story.effect("1").marked(1);
        let finding = none_lost(&Reading::of(&story.trace())).unwrap_err();
        assert_eq!(finding.message, "2 is still pending");
        assert_eq!(
            none_lost(&Reading::of(&story.parked(2).trace())),
            Ok(()),
            "an operator will look at it"
        );
    }

    #[test]
    fn a_command_that_is_marked_and_not_carried_out_is_rejected_whatever_else_waits() {
        for guest in ["bob", "nobody"] {
            let mut story = Story::default();
            story.guests(&["ann", "bob"]).command(1, "ann").command(2, guest).marked(1);
            let finding = none_lost(&Reading::of(&story.trace())).unwrap_err();
            assert_eq!(finding.message, "1 is called processed and never took effect");
        }
    }

    #[test]
    fn an_event_that_calls_a_command_executed_counts_as_a_mark() {
        let mut story = Story::default();
        story.guests(&["ann"]).command(1, "ann").command(2, "nobody");
        assert_eq!(
            none_lost(&Reading::of(&story.trace())),
            Ok(()),
            "it waits behind one that cannot be done"
        );
        story.event(3, "e", "CommandExecuted", r#"{"position":1}"#);
        assert!(
            none_lost(&Reading::of(&story.trace()))
                .unwrap_err()
                .message
                .contains("called processed")
        );
    }

    #[test]
    fn a_command_whose_guest_has_left_by_another_hand_is_done() {
        let mut story = two();
        story.effect("1").sql("update guests set status = 'out' where guest_id = 'bob'").marked(2);
        assert_eq!(none_lost(&Reading::of(&story.trace())), Ok(()));
    }

    #[test]
    fn a_second_effect_is_rejected_where_it_happens() {
        let mut story = two();
        story.effect("1").effect("2").effect("1");
        assert_eq!(
            none_twice(&Reading::of(&story.trace())),
            Err(Finding::at(5, "1 takes effect again").about([3]))
        );
    }

    #[test]
    fn an_effect_of_nothing_is_rejected() {
        let mut story = two();
        story.effect("3");
        assert_eq!(
            none_twice(&Reading::of(&story.trace())),
            Err(Finding::at(3, "3 is not a command"))
        );
    }
}
