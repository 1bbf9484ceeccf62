//! Answers are true.

use thunderhead_sim::{Response, SortedMap, SortedSet, Trace};

use super::contents::Statuses;
use super::facts::{Fact, facts};
use crate::promise::{Finding, Promise};

pub static TRUE: Promise = Promise::always(
    "answers are true",
    "a client that asks for a comparison is told a status it had while the question was open; of one that is unknown or evicted, that it is not there",
    answers_are_true,
);

/// A question that is being answered: about whom, and what has been true since it came.
struct Question<'a> {
    id: &'a str,
    true_meanwhile: SortedSet<&'a str>,
}

const ABSENT: &str = "not there";

fn answers_are_true(trace: &Trace) -> Result<(), Finding> {
    let mut statuses = Statuses::default();
    let mut questions: SortedMap<u32, Question> = SortedMap::new();
    for (at, fact) in facts(trace) {
        match fact {
            Fact::Rows { changes, .. } => {
                changes.iter().for_each(|change| statuses.learn(change));
                for question in questions.values_mut() {
                    question.learn(&statuses);
                }
            }
            Fact::Asked { call, request } => {
                let path = request.path.strip_prefix("/compare/");
                if let Some(id) = path.filter(|_| &*request.method == "GET") {
                    // A question that arrives twice has one number, and an answer does not say which
                    // of the two it is to: what has been true since the first counts for both.
                    let new = || Question { id, true_meanwhile: SortedSet::new() };
                    questions.entry(call).or_insert_with(new).learn(&statuses);
                }
            }
            Fact::Answered { call, response } => {
                let Some(Question { id, true_meanwhile }) = questions.get(&call) else { continue };
                let Some(told) = told(response) else { continue };
                if !true_meanwhile.contains(&*told) {
                    let so: Vec<&str> = true_meanwhile.iter().copied().collect();
                    let message = format!("{id} is said to be {told}, but is {}", so.join(" or "));
                    return Err(Finding::at(at, message));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

impl<'a> Question<'a> {
    fn learn(&mut self, statuses: &Statuses<'a>) {
        self.true_meanwhile.insert(statuses.of(self.id).unwrap_or(ABSENT));
    }
}

/// What an answer says; nothing when it only asks to come again.
fn told(response: &Response) -> Option<String> {
    match response.status {
        200 => {
            let json: serde_json::Value = response.body.read().ok()?;
            Some(json["status"].as_str().unwrap_or("without a status").into())
        }
        404 | 410 => Some(ABSENT.into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::comparisons::mutants::{Story, id};

    #[test]
    fn a_status_is_true_if_it_was_while_the_question_was_open() {
        for (told, fits) in [("running", true), ("completed", true), ("failed", false)] {
            let mut story = Story::default();
            story.created(&[1]).ask(7, 1).completed(1).told(7, 200, told);
            assert_eq!(answers_are_true(&story.trace()).is_ok(), fits, "{told}");
        }
    }

    #[test]
    fn one_that_is_not_there_must_be_said_not_to_be() {
        for (status, fits) in [(200, false), (404, true), (410, true), (503, true)] {
            let mut story = Story::default();
            story.ask(7, 1).told(7, status, "running");
            assert_eq!(answers_are_true(&story.trace()).is_ok(), fits, "unknown, {status}");
            let mut story = Story::default();
            story.created(&[1]).turn(|turn| turn.delete(1)).ask(7, 1).told(7, status, "running");
            assert_eq!(answers_are_true(&story.trace()).is_ok(), fits, "evicted, {status}");
        }
    }

    #[test]
    fn the_answer_to_a_question_that_arrived_twice_may_be_to_the_first() {
        for status in [404, 200] {
            let mut story = Story::default();
            story.ask(7, 1).created(&[1]).ask(7, 1).told(7, status, "running");
            assert_eq!(answers_are_true(&story.trace()), Ok(()), "{status}");
        }
        let mut story = Story::default();
        story.ask(7, 1).created(&[1]).ask(7, 1).told(7, 200, "failed");
        assert!(answers_are_true(&story.trace()).is_err());
    }

    #[test]
    fn one_that_is_there_must_not_be_denied() {
        let mut story = Story::default();
        story.created(&[1]).ask(7, 1).told(7, 404, "unknown");
        let finding = answers_are_true(&story.trace()).unwrap_err();
        let message = format!("{} is said to be not there, but is running", id(1));
        assert_eq!(finding, Finding::at(2, message));
    }
}
