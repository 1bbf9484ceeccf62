//! What a search must have seen, or it proves little.

use thunderhead_sim::SortedSet;

use super::contents::Contents;
use super::facts::{Change, Fact, facts};
use crate::promise::Promise;
use crate::promises::Reading;

pub static ASKED_AGAIN: Promise = Promise::sometimes_shared(
    "an effect is asked for again",
    "a check-out that is there already is asked for, and changes nothing",
    asked_again,
);

pub static LEASE_RAN_OUT: Promise = Promise::sometimes_shared(
    "a lease runs out",
    "a command that one processor holds is claimed by another",
    lease_ran_out,
);

pub static PARKED: Promise = Promise::sometimes_shared(
    "a command is set aside",
    "a command fails so often that it is parked",
    parked,
);

pub static BROUGHT_BACK: Promise = Promise::sometimes_shared(
    "a command is brought back",
    "a command that was parked takes effect after all",
    brought_back,
);

pub static STAYS: Promise = Promise::sometimes_shared(
    "a guest may not leave",
    "a command takes effect as a refusal",
    stays,
);

pub static DIED_BETWEEN: Promise = Promise::sometimes_shared(
    "a processor dies between effect and mark",
    "a processor dies while a command that it holds has taken effect and is not marked",
    died_between,
);

pub static MARKED_SECOND: Promise = Promise::sometimes_shared(
    "a mark comes second",
    "a command is marked that is marked already, and nothing changes",
    marked_second,
);

pub static CONFLICT: Promise = Promise::sometimes_shared(
    "a stream has moved on",
    "an append finds other messages in its place, and changes nothing",
    conflict,
);

pub static MANY: Promise = Promise::sometimes_shared(
    "four processors work",
    "commands are leased to four processors in one run",
    many,
);

/// Whether a statement that begins so ever changed nothing.
fn idle(trace: &Reading<'_>, beginning: &str) -> bool {
    facts(trace).any(|(_, fact)| match fact {
        Fact::Ran { sql, result } => {
            result.meta.changes == 0
                && sql.get(..beginning.len()).is_some_and(|sql| sql.eq_ignore_ascii_case(beginning))
        }
        _ => false,
    })
}

fn asked_again(trace: &Reading<'_>) -> bool {
    // A guest that does not exist has no effect either; a command that comes back to a guest has an outcome.
    let contents = Contents::at_the_end(trace);
    !contents.is_poisoned() && idle(trace, "insert into checkouts")
}

fn marked_second(trace: &Reading<'_>) -> bool {
    idle(trace, "update workflow_messages")
}

fn conflict(trace: &Reading<'_>) -> bool {
    idle(trace, "insert into workflow_messages")
}

fn lease_ran_out(trace: &Reading<'_>) -> bool {
    changes(trace).any(|change| match change {
        Change::Delivery { was: Some(was), is: Some(is), .. } => {
            was.leased_by.is_some() && is.leased_by.is_some() && was.leased_by != is.leased_by
        }
        _ => false,
    })
}

fn parked(trace: &Reading<'_>) -> bool {
    changes(trace)
        .any(|change| matches!(change, Change::Delivery { is: Some(is), .. } if is.parked))
}

fn brought_back(trace: &Reading<'_>) -> bool {
    let mut parked = SortedSet::new();
    for change in changes(trace) {
        if let Change::Delivery { command, is: Some(is), .. } = change
            && is.parked
        {
            parked.insert(command);
        }
    }
    let contents = Contents::at_the_end(trace);
    let mut back = contents.commands().filter(|at| parked.contains(&(at.workflow, at.position)));
    back.any(|command| contents.effects.contains_key(command.id))
}

fn stays(trace: &Reading<'_>) -> bool {
    changes(trace).any(|change| matches!(change, Change::Effect { outcome: "held", .. }))
}

fn died_between(trace: &Reading<'_>) -> bool {
    let mut contents = Contents::default();
    let mut leases = thunderhead_sim::SortedMap::new();
    for (_, fact) in facts(trace) {
        match fact {
            Fact::Rows(changes) => {
                for change in changes.iter() {
                    if let Change::Delivery { command, is, .. } = change {
                        leases.insert(*command, is.and_then(|delivery| delivery.leased_by));
                    }
                    contents.apply(change);
                }
            }
            Fact::Died(host) => {
                let mut between = contents.commands().filter(|command| {
                    contents.effects.contains_key(command.id) && !contents.is_processed(command)
                });
                let held = |place| leases.get(&place).copied().flatten() == Some(host);
                if between.any(|command| held((command.workflow, command.position))) {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

fn many(trace: &Reading<'_>) -> bool {
    let leased = changes(trace).filter_map(|change| match change {
        Change::Delivery { is: Some(is), .. } => is.leased_by,
        _ => None,
    });
    leased.collect::<SortedSet<_>>().len() >= 4
}

fn changes<'a>(trace: &Reading<'a>) -> impl Iterator<Item = Change<'a>> {
    facts(trace).flat_map(|(_, fact)| match fact {
        Fact::Rows(changes) => changes.to_vec(),
        _ => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::commands::mutants::Story;

    fn lease(story: &mut Story, holder: &str) {
        story.sql("delete from command_deliveries");
        story.sql("insert into command_deliveries values ('g', 1, 'processor-1', 0, null)");
        story.sql(&format!("update command_deliveries set leased_by = '{holder}'"));
    }

    #[test]
    fn statements_that_change_nothing_are_seen_by_what_they_are() {
        type See = fn(&Reading<'_>) -> bool;
        let cases: [(&str, See); 3] = [
            ("\ninsert into checkouts select", asked_again),
            ("UPDATE workflow_messages SET", marked_second),
            ("\nINSERT INTO workflow_messages (", conflict),
        ];
        for (sql, see) in cases {
            let mut story = Story::default();
            assert!(!see(&Reading::of(&story.ran("select 1", 0).ran(sql, 1).trace())), "{sql}");
            assert!(see(&Reading::of(&story.ran(sql, 0).trace())), "{sql}");
        }
    }

    #[test]
    fn leases_that_go_to_another_are_seen() {
        let mut story = Story::default();
        lease(&mut story, "processor-1");
        assert!(!lease_ran_out(&Reading::of(&story.trace())));
        lease(&mut story, "processor-2");
        assert!(lease_ran_out(&Reading::of(&story.trace())));
    }

    #[test]
    fn four_processors_are_seen_and_three_are_not() {
        let mut story = Story::default();
        for holder in ["processor-1", "processor-2", "processor-3"] {
            lease(&mut story, holder);
        }
        assert!(!many(&Reading::of(&story.trace())));
        lease(&mut story, "processor-4");
        assert!(many(&Reading::of(&story.trace())));
    }

    #[test]
    fn a_command_that_is_parked_and_brought_back_is_seen() {
        let mut story = Story::default();
        story.command(1, "ann");
        assert!(!parked(&Reading::of(&story.trace())));
        assert!(
            parked(&Reading::of(&story.parked(1).trace()))
                && !brought_back(&Reading::of(&story.trace()))
        );
        assert!(brought_back(&Reading::of(&story.effect("1").trace())));
    }

    #[test]
    fn a_refusal_is_seen() {
        let mut story = Story::default();
        story.command(1, "dan").effect("1");
        assert!(!stays(&Reading::of(&story.trace())));
        story.sql("insert into checkouts (message_id, outcome) values ('1', 'held')");
        assert!(stays(&Reading::of(&story.trace())));
    }

    #[test]
    fn a_death_between_effect_and_mark_is_seen_if_it_is_the_holder_who_dies() {
        let mut story = Story::default();
        story.command(1, "ann");
        lease(&mut story, "processor-1");
        story.died("processor-1").effect("1").died("processor-2");
        assert!(!died_between(&Reading::of(&story.trace())));
        assert!(died_between(&Reading::of(&story.died("processor-1").trace())));
    }
}
