//! Streams have no gaps, and a message changes only by its flag, once.

use thunderhead_sim::SortedSet;

use super::contents::Contents;
use super::facts::{Change, Fact, Message, facts};
use crate::promise::{Finding, Promise};
use crate::promises::Reading;

pub static SET_ONCE: Promise = Promise::always_shared(
    "a flag is set once",
    "a command begins unprocessed and becomes processed once, for good; nothing else has a flag, and nothing else of a message ever changes",
    set_once,
);

pub static DENSE: Promise = Promise::always_shared(
    "positions are dense",
    "the messages of a workflow are at 1, 2, 3 and so on, and no id is there twice",
    dense,
);

fn set_once(trace: &Reading<'_>) -> Result<(), Finding> {
    for (at, fact) in facts(trace) {
        let Fact::Rows(changes) = fact else { continue };
        for change in changes.iter().copied() {
            let wrong = match change {
                Change::Message(None, Some(new)) => {
                    let expected = new.is_command().then_some(0);
                    (new.processed != expected)
                        .then(|| format!("{} begins with the flag {:?}", new.id, new.processed))
                }
                Change::Message(Some(was), None) => Some(format!("{} is deleted", was.id)),
                Change::Message(Some(was), Some(is)) => altered(was, is),
                _ => None,
            };
            if let Some(wrong) = wrong {
                return Err(Finding::at(at, wrong));
            }
        }
    }
    Ok(())
}

/// What is wrong with a change of a message.
fn altered(was: Message, is: Message) -> Option<String> {
    let marked = Message { processed: Some(1), ..was };
    match (was.processed, is) {
        (Some(0), is) if is == marked => None,
        (Some(1), is) if is.processed == Some(0) => Some(format!("{} is unmarked", was.id)),
        (_, is) if is == was => None,
        _ => Some(format!("{} is altered", was.id)),
    }
}

fn dense(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    let mut ids = SortedSet::new();
    for (at, fact) in facts(trace) {
        let Fact::Rows(changes) = fact else { continue };
        for change in changes.iter() {
            if let Change::Message(None, Some(new)) = change {
                let length = contents.streams.get(new.workflow).map_or(0, Vec::len);
                if new.position != length as i64 + 1 {
                    let message = format!("{} is at {} after {length}", new.id, new.position);
                    return Err(Finding::at(at, message));
                }
                if !ids.insert(new.id) {
                    return Err(Finding::at(at, format!("{} is there twice", new.id)));
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

    fn told() -> Story {
        let mut story = Story::default();
        story.event(1, "a", "Begun", "{}").command(2, "ann");
        story
    }

    #[test]
    fn a_stream_whose_command_is_marked_is_as_it_should_be() {
        let mut story = told();
        story.marked(2);
        assert_eq!(set_once(&Reading::of(&story.trace())), Ok(()));
        assert_eq!(dense(&Reading::of(&story.trace())), Ok(()));
    }

    #[test]
    fn a_mark_that_is_taken_back_is_rejected() {
        let mut story = told();
        story.marked(2).sql("update workflow_messages set processed = 0 where position = 2");
        assert_eq!(set_once(&Reading::of(&story.trace())), Err(Finding::at(3, "2 is unmarked")));
    }

    #[test]
    fn a_flag_on_an_event_and_a_command_without_one_are_rejected() {
        for (sql, finding) in [
            ("update workflow_messages set processed = 1 where position = 1", "a is altered"),
            ("update workflow_messages set processed = null where position = 2", "2 is altered"),
            (
                "insert into workflow_messages select 'g', 3, kind, direction, 'x', '', '', '', 1 \
                 from workflow_messages where position = 2",
                "x begins with the flag Some(1)",
            ),
            (
                "insert into workflow_messages select 'g', 3, kind, direction, 'x', '', '', '', 0 \
                 from workflow_messages where position = 1",
                "x begins with the flag Some(0)",
            ),
        ] {
            let mut story = told();
            story.sql(sql);
            assert_eq!(set_once(&Reading::of(&story.trace())), Err(Finding::at(2, finding)));
        }
    }

    #[test]
    fn a_message_that_is_rewritten_or_deleted_is_rejected() {
        for (sql, finding) in [
            ("update workflow_messages set message_data = '[]' where position = 2", "2 is altered"),
            (
                "update workflow_messages set processed = 1, message_type = '' where position = 2",
                "2 is altered",
            ),
            ("delete from workflow_messages where position = 1", "a is deleted"),
        ] {
            let mut story = told();
            story.sql(sql);
            assert_eq!(set_once(&Reading::of(&story.trace())), Err(Finding::at(2, finding)));
        }
    }

    #[test]
    fn a_gap_a_place_that_is_taken_and_an_id_that_is_known_are_rejected() {
        for (position, id, finding) in [
            (4, "x", "x is at 4 after 2"),
            (2, "x", "x is at 2 after 2"),
            (3, "a", "a is there twice"),
        ] {
            let mut story = told();
            story.event(position, id, "Again", "{}");
            assert_eq!(dense(&Reading::of(&story.trace())), Err(Finding::at(2, finding)));
        }
    }
}
