//! Commands that cannot be carried out are set aside, and hold up no other.

use thunderhead_sim::SortedSet;

use super::contents::Contents;
use super::facts::{Change, Fact, facts};
use crate::history::named;
use crate::promise::{Finding, Promise};
use crate::promises::Reading;

pub static HOLDS_UP_NOBODY: Promise = Promise::eventually_shared(
    "poison holds up nobody",
    "a command that cannot be carried out is set aside in the end, and all others take effect",
    holds_up_nobody,
);

pub static ALONE_IS_PARKED: Promise = Promise::always_shared(
    "only poison is set aside",
    "a command is parked only if its guest was unknown when it was appended, never because of the weather",
    alone_is_parked,
);

fn holds_up_nobody(trace: &Reading<'_>) -> Result<(), Finding> {
    let contents = Contents::at_the_end(trace);
    if !contents.is_poisoned() {
        return Ok(());
    }
    let waiting = contents.commands().filter(|command| {
        !contents.is_done(command.id)
            && !contents.is_processed(command)
            && !contents.is_parked(command)
    });
    // The others first: they have done nothing wrong.
    match waiting.min_by_key(|command| contents.is_poison(command.id)) {
        None => Ok(()),
        Some(command) if contents.is_poison(command.id) => {
            let message = format!("{} fails for ever", command.id);
            Err(Finding::missing(message).about(named(trace, command.id)))
        }
        Some(command) => {
            let message = format!("{} waits behind one that fails", command.id);
            Err(Finding::missing(message).about(named(trace, command.id)))
        }
    }
}

fn alone_is_parked(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    let mut poison = SortedSet::new();
    for (at, fact) in facts(trace) {
        let Fact::Rows(changes) = fact else { continue };
        for change in changes.iter().copied() {
            contents.apply(&change);
            match change {
                Change::Message(None, Some(new)) if contents.is_poison(new.id) => {
                    poison.insert((new.workflow, new.position));
                }
                Change::Delivery { command, is: Some(is), .. }
                    if is.parked && !poison.contains(&command) =>
                {
                    let (workflow, position) = command;
                    let message = format!("{workflow}/{position} is set aside; its guest is known");
                    return Err(Finding::at(at, message));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::commands::mutants::Story;

    fn poisoned() -> Story {
        let mut story = Story::default();
        story.guests(&["ann"]).command(1, "nobody").command(2, "ann");
        story
    }

    #[test]
    fn a_poison_that_is_set_aside_while_the_others_take_effect_is_as_it_should_be() {
        let mut story = poisoned();
        story.effect("2").parked(1);
        assert_eq!(holds_up_nobody(&Reading::of(&story.trace())), Ok(()));
        assert_eq!(alone_is_parked(&Reading::of(&story.trace())), Ok(()));
    }

    #[test]
    fn a_poison_that_holds_up_another_is_rejected() {
        let finding = holds_up_nobody(&Reading::of(&poisoned().trace())).unwrap_err();
        assert_eq!(finding.message, "2 waits behind one that fails");
        let mut story = poisoned();
        let finding = holds_up_nobody(&Reading::of(&story.parked(1).trace())).unwrap_err();
        assert_eq!(finding.message, "2 waits behind one that fails");
    }

    #[test]
    fn a_poison_that_is_never_set_aside_is_rejected() {
        let mut story = poisoned();
        let finding = holds_up_nobody(&Reading::of(&story.effect("2").trace())).unwrap_err();
        assert_eq!(finding.message, "1 fails for ever");
    }

    #[test]
    fn a_command_whose_guest_has_come_since_is_no_poison() {
        let mut story = poisoned();
        story.effect("2").guests(&["nobody"]);
        assert_eq!(holds_up_nobody(&Reading::of(&story.trace())), Ok(()));
        assert_eq!(alone_is_parked(&Reading::of(&story.parked(1).trace())), Ok(()), "it was one");
    }

    #[test]
    fn a_command_that_is_set_aside_without_a_reason_is_rejected() {
        let mut story = poisoned();
        let message = "g/2 is set aside; its guest is known";
        assert_eq!(
            alone_is_parked(&Reading::of(&story.parked(2).trace())),
            Err(Finding::at(3, message))
        );
    }
}
