//! Messages: what they change, when they are acknowledged, and that none is lost.

use thunderhead_sim::queue::{Fate, MessageBody, MessageId};
use thunderhead_sim::r2::Notification;
use thunderhead_sim::sqlite::Value;
use thunderhead_sim::{SortedMap, SortedSet};

use super::contents::{Contents, split};
use super::facts::{Fact, facts};
use crate::history::named;
use crate::promise::{Finding, Promise};
use crate::promises::Reading;

/// The queue that R2 tells of changes, to which others may send too.
const NOTIFICATIONS: &str = "uploads";

pub static NOTHING_NEW: Promise = Promise::always_shared(
    "a duplicate changes nothing",
    "once every change of a name is acknowledged and its row is final or gone, the row stays as it is until R2's object changes",
    nothing_new,
);

pub static ACKED_LAST: Promise = Promise::always_shared(
    "acknowledged when all is done",
    "a message is acknowledged only after the row has described its change or a later one, and the workflow of that row exists",
    acked_last,
);

pub static EVERY_MESSAGE: Promise = Promise::eventually_shared(
    "every message is handled",
    "when all is quiet, every message was acknowledged in the end, after the dead-letter queue if need be",
    every_message,
);

pub static REJECTED_ONCE: Promise = Promise::eventually_shared(
    "a malformed message is counted once",
    "when all is quiet, the list of rejected messages has each malformed message, once, and no other",
    rejected_once,
);

fn nothing_new(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    let mut acked: SortedSet<(&str, usize)> = SortedSet::new();
    let mut shown = SortedMap::new();
    for (at, fact) in facts(trace) {
        let touched = contents.step(&fact);
        if let Fact::Settled(message, Fate::Acked) = &fact {
            acked.extend(contents.change(*message));
        }
        let Fact::Rows(..) = fact else { continue };
        for (organisation, name) in touched {
            let now = contents.board.get(organisation, name).copied();
            let before = shown.insert((organisation, name), now).flatten();
            let key = format!("{organisation}/{name}");
            let changes = contents.held(&key).len();
            let quiet = (0..changes).all(|change| acked.contains(&(&*key, change)))
                && before.is_none_or(|row| row.is_final());
            if quiet && before != now {
                return Err(Finding::at(at, format!("{key} changes, and nothing has happened")));
            }
        }
    }
    Ok(())
}

fn acked_last(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    // The latest change of each key that its row has described.
    let mut reached: SortedMap<&str, usize> = SortedMap::new();
    let mut instances: SortedSet<&str> = SortedSet::new();
    for (at, fact) in facts(trace) {
        for (organisation, name) in contents.step(&fact) {
            let key = format!("{organisation}/{name}");
            let row = contents.board.get(organisation, name).map(|row| row.event);
            let held = contents.held(&key);
            let described = held.iter().rposition(|event| event.as_deref() == row);
            let key = contents.keys().find(|known| *known == key);
            if let (Some(key), Some(described)) = (key, described) {
                let far = reached.entry(key).or_default();
                // One more than the place, so that 0 is nothing at all.
                *far = (described + 1).max(*far);
            }
        }
        match &fact {
            Fact::Create { id, made: true, .. } | Fact::Exists(id) | Fact::Runs(id) => {
                instances.insert(id);
            }
            Fact::Settled(message, Fate::Acked) => {
                let Some((key, change)) = contents.change(*message) else { continue };
                let far = reached.get(key).copied().unwrap_or(0);
                if far <= change {
                    let message = format!("{key}: acknowledged before it was written down");
                    return Err(Finding::at(at, message));
                }
                // The workflow of a later upload is the business of a later message.
                let Some(row) = contents.row(key).filter(|_| far == change + 1) else { continue };
                let instance = format!("imgcls_{}", row.event);
                if row.status == "queued" || !instances.contains(&*instance) {
                    let message = format!("{key}: acknowledged before its workflow exists");
                    return Err(Finding::at(at, message));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn every_message(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut open: SortedMap<MessageId, &str> = SortedMap::new();
    for (_, fact) in facts(trace) {
        match fact {
            Fact::Told(_, message) | Fact::Sent(_, message, _) => {
                open.insert(message, "was never handled");
            }
            Fact::Settled(message, fate) => match fate {
                Fate::Acked => drop(open.remove(&message)),
                Fate::DeadLettered { .. } => drop(open.insert(message, "is a dead letter")),
                Fate::Dropped | Fate::Expired => drop(open.insert(message, "is lost")),
                Fate::Retried { .. } | Fate::Gone => {}
            },
            _ => {}
        }
    }
    match open.first_key_value() {
        None => Ok(()),
        Some((message, fate)) => {
            let about = named(trace, &message.to_string());
            Err(Finding::missing(format!("message {} {fate}", message.short())).about(about))
        }
    }
}

fn rejected_once(trace: &Reading<'_>) -> Result<(), Finding> {
    let (mut malformed, mut rejected) = (SortedSet::new(), SortedSet::new());
    for (at, fact) in facts(trace) {
        match fact {
            Fact::Sent(NOTIFICATIONS, message, body) if !is_notification(body) => {
                malformed.insert(message.to_string());
            }
            Fact::Rejected(changes) => {
                for change in changes {
                    let id = change.value_after("message").and_then(Value::as_str);
                    if !rejected.insert(id.unwrap_or_default().to_string()) {
                        return Err(Finding::at(at, "a message is rejected a second time"));
                    }
                }
            }
            _ => {}
        }
    }
    match malformed.difference(&rejected).chain(rejected.difference(&malformed)).min() {
        None => Ok(()),
        Some(id) if malformed.contains(id) => {
            let message = format!("{} was counted 0 times", &id[..6]);
            Err(Finding::missing(message).about(named(trace, id)))
        }
        Some(id) => {
            let message = format!("{} is well formed, and was counted", &id[..6]);
            Err(Finding::missing(message).about(named(trace, id)))
        }
    }
}

/// Whether the consumer can know whose upload a message is about.
fn is_notification(body: &MessageBody) -> bool {
    Notification::parse(&body.data).is_ok_and(|event| {
        &*event.bucket == "images"
            && split(&event.object.key).is_some_and(|(a, b)| !a.is_empty() && !b.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::uploads::mutants::Story;

    /// One upload, classified and acknowledged.
    fn done() -> Story {
        let mut done = Story::default();
        done.stored("one", 1).row("one", "queued", None).created("one", None);
        done.row("one", "running", None).acked(1).row("one", "classified", Some("CAT"));
        done
    }

    #[test]
    fn a_change_for_no_reason_is_rejected_where_it_happens() {
        assert_eq!(nothing_new(&Reading::of(&done().trace())), Ok(()));
        let (trace, last) = done().row("one", "queued", None).ended();
        assert_eq!(nothing_new(&Reading::of(&trace)).unwrap_err().event, Some(last));
        let (trace, last) = done().no_row().ended();
        assert_eq!(nothing_new(&Reading::of(&trace)).unwrap_err().event, Some(last));
        assert_eq!(nothing_new(&Reading::of(&done().migrated().trace())), Ok(()));
        assert_eq!(
            nothing_new(&Reading::of(&done().stored("two", 2).row("two", "queued", None).trace())),
            Ok(())
        );
    }

    #[test]
    fn an_acknowledgement_before_the_row_is_rejected_where_it_happens() {
        assert_eq!(acked_last(&Reading::of(&done().trace())), Ok(()));
        let (trace, last) = Story::default().stored("one", 1).acked(1).ended();
        assert_eq!(acked_last(&Reading::of(&trace)).unwrap_err().event, Some(last));
        let (trace, last) = done().removed(2).acked(2).ended();
        assert_eq!(acked_last(&Reading::of(&trace)).unwrap_err().event, Some(last));
        // The row is further than the message: a later change was seen first.
        let mut later = done();
        later.stored("two", 2).stored("three", 3).row("three", "queued", None).acked(2);
        assert_eq!(acked_last(&Reading::of(&later.trace())), Ok(()));
    }

    #[test]
    fn an_acknowledgement_before_the_workflow_is_rejected_where_it_happens() {
        let mut early = Story::default();
        early.stored("one", 1).row("one", "queued", None);
        let (trace, last) = early.clone().acked(1).ended();
        assert_eq!(acked_last(&Reading::of(&trace)).unwrap_err().event, Some(last));
        let (trace, last) = early.row("one", "running", None).acked(1).ended();
        assert_eq!(acked_last(&Reading::of(&trace)).unwrap_err().event, Some(last));
    }

    #[test]
    fn a_message_that_is_not_handled_is_rejected() {
        let mut one = Story::default();
        one.stored("one", 1);
        assert!(every_message(&Reading::of(&one.trace())).is_err());
        let dead = Fate::DeadLettered { queue: "uploads-dead".into() };
        for (fate, ends) in [(dead, "is a dead letter"), (Fate::Dropped, "is lost")] {
            let error =
                every_message(&Reading::of(&one.clone().settled(1, fate).trace())).unwrap_err();
            assert!(error.message.ends_with(ends), "{}", error.message);
        }
        assert_eq!(every_message(&Reading::of(&one.acked(1).trace())), Ok(()));
    }

    #[test]
    fn a_malformed_message_that_is_not_counted_once_is_rejected() {
        let mut bad = Story::default();
        bad.sent("nonsense", 1);
        assert!(rejected_once(&Reading::of(&bad.trace())).is_err());
        assert_eq!(rejected_once(&Reading::of(&bad.rejected(1).trace())), Ok(()));
        assert!(rejected_once(&Reading::of(&bad.clone().rejected(1).trace())).is_err(), "twice");
        assert!(rejected_once(&Reading::of(&bad.rejected(2).trace())).is_err(), "another");
    }
}
