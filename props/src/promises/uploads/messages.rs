//! What agents tell their clients.

use std::rc::Rc;

use serde::Deserialize;
use thunderhead_sim::{Body, SortedSet};

use super::contents::Contents;
use super::facts::{Fact, facts};
use crate::promise::{Finding, Promise};
use crate::promises::Reading;

pub static TOLD_THE_TRUTH: Promise = Promise::always_shared(
    "clients are told the truth",
    "what a client is told of an upload is so: the row is as the progress says, its bytes were read before they are classified, what is deleted has no row, and a deletion that fails was refused by R2",
    told_the_truth,
);

/// A message to a client.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Message<'a> {
    #[serde(rename_all = "camelCase")]
    UploadProgress {
        name: &'a str,
        event_id: &'a str,
        status: &'a str,
        step: &'a str,
    },
    UploadDeleted {
        name: &'a str,
    },
    UploadDeleteError {
        name: &'a str,
    },
    #[serde(other)]
    Another,
}

fn told_the_truth(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    let mut said = Said::default();
    for (at, fact) in facts(trace) {
        contents.step(&fact);
        match fact {
            Fact::Read(_, event, _) => drop(said.read.insert(event)),
            Fact::Unanswered(key) => drop(said.unanswered.insert(key)),
            Fact::Pushed(organisation, message) => {
                if let Some(why) = said.wrong(&contents, organisation, message) {
                    return Err(Finding::at(at, why));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// What R2 has said.
#[derive(Default)]
struct Said<'a> {
    /// The events whose bytes were read.
    read: SortedSet<Rc<str>>,
    /// The keys about which R2 could not answer an agent.
    unanswered: SortedSet<&'a str>,
}

impl Said<'_> {
    /// What is wrong with a message at the moment at which it is sent.
    fn wrong<'a>(
        &self,
        contents: &Contents<'a>,
        organisation: &'a str,
        message: &'a Body,
    ) -> Option<String> {
        let message: Message<'a> = message.read().ok()?;
        match message {
            Message::UploadProgress { name, event_id, status, step } => {
                let row =
                    contents.board.get(organisation, name).filter(|row| row.event == event_id);
                if row.map(|row| row.status) != Some(status) {
                    let row = row.map_or("another or none", |row| row.status);
                    return Some(format!("{name} is told to be {status}, its row is {row}"));
                }
                let early = step == "classify-image" && !self.read.contains(event_id);
                early.then(|| format!("{name} is told to be classified, nobody has read it"))
            }
            Message::UploadDeleted { name } => {
                let row = contents.board.get(organisation, name)?;
                Some(format!("{name} is told to be deleted, its row is {}", row.status))
            }
            Message::UploadDeleteError { name } => {
                let key = format!("{organisation}/{name}");
                let why = || format!("{name} is told not to be deleted, R2 refused nothing");
                (!self.unanswered.contains(&*key)).then(why)
            }
            Message::Another => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::uploads::mutants::{Story, event_of};

    fn progress(bytes: &str, status: &str, step: &str) -> String {
        let event = event_of(bytes);
        format!(
            r#"{{"type":"upload_progress","name":"cat.jpg","eventId":"{event}","status":"{status}","step":"{step}"}}"#
        )
    }

    fn is_rejected(story: &Story) -> bool {
        let (trace, last) = story.ended();
        match told_the_truth(&Reading::of(&trace)) {
            Ok(()) => false,
            Err(finding) => {
                assert_eq!(finding.event, Some(last));
                true
            }
        }
    }

    #[test]
    fn progress_that_the_row_does_not_have_is_rejected_where_it_is_told() {
        let mut one = Story::default();
        one.stored("one", 1).row("one", "running", None);
        assert!(!is_rejected(one.clone().pushed(&progress("one", "running", "load-image"))));
        assert!(is_rejected(one.clone().pushed(&progress("two", "running", "load-image"))));
        assert!(is_rejected(one.clone().pushed(&progress("one", "classified", "persist-result"))));
        one.row("one", "classified", Some("CAT"));
        assert!(!is_rejected(one.pushed(&progress("one", "classified", "persist-result"))));
    }

    #[test]
    fn a_picture_that_is_classified_before_it_is_read_is_rejected() {
        let mut one = Story::default();
        one.stored("one", 1).row("one", "running", None);
        let classifying = progress("one", "running", "classify-image");
        assert!(is_rejected(one.clone().pushed(&classifying)));
        assert!(!is_rejected(one.read("one").pushed(&classifying)));
    }

    #[test]
    fn a_deletion_that_is_told_over_a_row_is_rejected() {
        let deleted = r#"{"type":"upload_deleted","name":"cat.jpg","eventTime":"now"}"#;
        let mut one = Story::default();
        one.stored("one", 1).row("one", "running", None);
        assert!(is_rejected(one.clone().pushed(deleted)));
        assert!(!is_rejected(one.no_row().pushed(deleted)));
    }

    #[test]
    fn a_deletion_that_fails_without_a_reason_is_rejected() {
        let failed = r#"{"type":"upload_delete_error","name":"cat.jpg","error":"it"}"#;
        let mut one = Story::default();
        assert!(is_rejected(one.clone().pushed(failed)));
        assert!(!is_rejected(one.unanswered().pushed(failed)));
        assert!(!is_rejected(one.pushed(r#"{"type":"invalidate"}"#).pushed("?")));
    }
}
