//! What became of a command comes back to its workflow.

use super::contents::Contents;
use super::facts::{Change, Fact, Message, facts};
use super::oracle;
use crate::history::named;
use crate::promise::{Finding, Promise};
use crate::promises::Reading;

pub static HEARD: Promise = Promise::eventually_shared(
    "the workflow hears of every outcome",
    "in the end a command that took effect and is not parked has its outcome in the stream, and a group that has heard of all its guests is over",
    heard,
);

pub static TRUE: Promise = Promise::always_shared(
    "an outcome is told as it was",
    "the outcome of a command is told after its effect, and is that of its effect",
    is_true,
);

/// The command whose outcome a message tells.
fn command<'a>(message: &Message<'a>) -> Option<&'a str> {
    message.id.strip_suffix("/outcome")
}

fn heard(trace: &Reading<'_>) -> Result<(), Finding> {
    let contents = Contents::at_the_end(trace);
    // Those who wait behind one that fails and is not set aside are another matter.
    let mut poison = contents.commands().filter(|command| contents.is_poison(command.id));
    let held_up = poison.any(|command| !contents.is_parked(command));
    for (workflow, stream) in &contents.streams {
        let told = |id: &str| stream.iter().any(|message| command(message) == Some(id));
        let commands = || stream.iter().filter(|message| message.is_command());
        // An attempt that arrives when its command is parked already takes effect unheard, until
        // an operator looks at it.
        let mut unheard = commands().filter(|message| {
            let waits = held_up && !contents.is_processed(message);
            !told(message.id) && !contents.is_parked(message) && !waits
        });
        if let Some(message) = unheard.find(|message| contents.effects.contains_key(message.id)) {
            let about = named(trace, message.id);
            let message = format!("{workflow} never hears what became of {}", message.id);
            return Err(Finding::missing(message).about(about));
        }
        let all = commands().count() > 0 && commands().all(|message| told(message.id));
        if all && !oracle::is_over(&oracle::state(stream)) {
            let message = format!("{workflow} has heard of all and goes on");
            return Err(Finding::missing(message).about(named(trace, workflow)));
        }
    }
    Ok(())
}

fn is_true(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    for (at, fact) in facts(trace) {
        let Fact::Rows(changes) = fact else { continue };
        for change in changes.iter() {
            if let Change::Message(None, Some(new)) = change
                && let Some(command) = command(new)
            {
                if !contents.is_done(command) {
                    let message = format!("{command} has not taken effect, and {} says so", new.id);
                    return Err(Finding::at(at, message));
                }
                let left = new.message_type == "GuestCheckedOut";
                let outcomes = contents.effects.get(command).map(Vec::as_slice).unwrap_or_default();
                let agrees = outcomes.iter().any(|outcome| (*outcome == "out") == left);
                if !outcomes.is_empty() && !agrees {
                    let message = format!("{} says {}", new.id, new.message_type);
                    return Err(Finding::at(at, message));
                }
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

    /// A group of one whose command takes effect.
    fn done() -> Story {
        let mut story = Story::default();
        story.guests(&["ann"]).event(1, "a", "GroupCheckoutInitiated", r#"{"guests":["ann"]}"#);
        story.command(2, "ann").effect("2");
        story
    }

    fn told(story: &mut Story, message_type: &str) {
        story.event(3, "2/outcome", message_type, r#"{"guest":"ann"}"#);
    }

    #[test]
    fn an_outcome_that_is_told_after_its_effect_is_as_it_should_be() {
        let mut story = done();
        told(&mut story, "GuestCheckedOut");
        story.event(4, "e", "GroupCheckoutCompleted", "{}");
        assert_eq!(heard(&Reading::of(&story.trace())), Ok(()));
        assert_eq!(is_true(&Reading::of(&story.trace())), Ok(()));
    }

    #[test]
    fn an_outcome_of_which_the_workflow_never_hears_is_rejected() {
        let finding = heard(&Reading::of(&done().trace())).unwrap_err();
        assert_eq!(finding.message, "g never hears what became of 2");
        assert_eq!(
            heard(&Reading::of(&done().parked(2).trace())),
            Ok(()),
            "an operator will look at it"
        );
    }

    #[test]
    fn a_group_that_has_heard_of_all_and_is_not_over_is_rejected() {
        let mut story = done();
        told(&mut story, "GuestCheckedOut");
        let finding = heard(&Reading::of(&story.trace())).unwrap_err();
        assert_eq!(finding.message, "g has heard of all and goes on");
    }

    #[test]
    fn an_outcome_before_its_effect_is_rejected() {
        let mut story = Story::default();
        story.guests(&["ann"]).event(1, "a", "Begun", "{}").command(2, "ann");
        told(&mut story, "GuestCheckedOut");
        let message = "2 has not taken effect, and 2/outcome says so";
        assert_eq!(is_true(&Reading::of(&story.trace())), Err(Finding::at(3, message)));
    }

    #[test]
    fn an_outcome_that_is_not_that_of_the_effect_is_rejected() {
        let mut story = done();
        told(&mut story, "GuestCheckoutFailed");
        let message = "2/outcome says GuestCheckoutFailed";
        assert_eq!(is_true(&Reading::of(&story.trace())), Err(Finding::at(4, message)));
    }
}
