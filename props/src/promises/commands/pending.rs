//! Questions for pending commands are answered exactly.

use serde_json::Value;
use thunderhead_sim::SortedMap;

use super::contents::Contents;
use super::facts::{Fact, facts};
use crate::promise::{Finding, Promise};
use crate::promises::Reading;

pub static EXACT: Promise = Promise::always_shared(
    "the pending query is exact",
    "a question for pending commands is answered with exactly those that were unprocessed at some instant since, in order, as many as asked for",
    exact,
);

/// A question: of one workflow or all, behind a place, at most so many.
#[derive(Clone, Copy)]
struct Question<'a> {
    workflow: Option<&'a str>,
    after: (&'a str, i64),
    limit: usize,
}

/// An answer: workflows and positions.
type Places = Vec<(String, i64)>;

fn exact(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    // Each open question, and every answer that was right since it was asked.
    let mut asked: SortedMap<u32, (Question, Vec<Places>)> = SortedMap::new();
    for (at, fact) in facts(trace) {
        match fact {
            Fact::Rows(changes) => {
                changes.iter().for_each(|change| contents.apply(change));
                for (question, right) in asked.values_mut() {
                    right.push(answer(&contents, *question));
                }
            }
            Fact::Asked { call, request } if &*request.method == "GET" => {
                if let Some(question) = question(&request.path) {
                    let right = answer(&contents, question);
                    asked.entry(call).or_insert((question, vec![right]));
                }
            }
            Fact::Answered { call, response } if response.status == 200 => {
                let Some((_, right)) = asked.get(&call) else { continue };
                let told: Value = response.body.read().unwrap_or_default();
                if !right.contains(&places(&told)) {
                    return Err(Finding::at(at, format!("{told} were not what was pending")));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// `/pending` or `/groups/NAME/pending`, with `after=NAME:POSITION` and `limit=N`.
fn question(path: &str) -> Option<Question<'_>> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let workflow = match path.strip_prefix("/groups/") {
        Some(rest) => Some(rest.strip_suffix("/pending")?),
        None if path == "/pending" => None,
        None => return None,
    };
    let mut question = Question { workflow, after: ("", 0), limit: usize::MAX };
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        match name {
            "after" => {
                let (workflow, position) = value.rsplit_once(':')?;
                question.after = (workflow, position.parse().ok()?);
            }
            _ => question.limit = value.parse().ok()?,
        }
    }
    Some(question)
}

fn answer(contents: &Contents, question: Question) -> Places {
    let pending = contents.commands().filter(|command| {
        !contents.is_processed(command)
            && question.workflow.is_none_or(|workflow| workflow == command.workflow)
            && (command.workflow, command.position) > question.after
    });
    let places = pending.map(|command| (command.workflow.to_string(), command.position));
    places.take(question.limit).collect()
}

fn places(told: &Value) -> Places {
    let place = |place: &Value| {
        let workflow = place["group"].as_str().unwrap_or_default().to_string();
        (workflow, place["position"].as_i64().unwrap_or_default())
    };
    told.as_array().into_iter().flatten().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::commands::mutants::Story;

    /// Three commands of which the second is processed, and a question answered with these positions.
    fn told(path: &str, positions: &[i64]) -> Result<(), Finding> {
        let mut story = Story::default();
        story.command(1, "ann").command(2, "bob").command(3, "cid").marked(2);
        story.asked(0, path).answered(0, 200, &body(positions));
        exact(&Reading::of(&story.trace()))
    }

    fn body(positions: &[i64]) -> String {
        let places = positions.iter().map(|at| serde_json::json!({ "group": "g", "position": at }));
        Value::from_iter(places).to_string()
    }

    #[test]
    fn exactly_what_is_unprocessed_in_order_is_right() {
        assert_eq!(told("/pending", &[1, 3]), Ok(()));
        assert_eq!(told("/groups/g/pending", &[1, 3]), Ok(()));
        assert_eq!(told("/groups/h/pending", &[]), Ok(()));
        assert_eq!(told("/pending?limit=1", &[1]), Ok(()));
        assert_eq!(told("/pending?after=g:1&limit=5", &[3]), Ok(()));
        assert_eq!(told("/pending?after=f:9", &[1, 3]), Ok(()));
    }

    #[test]
    fn anything_else_is_rejected() {
        for wrong in [&[1, 2, 3][..], &[1], &[3, 1], &[], &[1, 1, 3]] {
            assert_eq!(told("/pending", wrong).unwrap_err().event, Some(5), "{wrong:?}");
        }
        assert!(told("/pending?limit=1", &[1, 3]).is_err());
        assert!(told("/pending?limit=1", &[3]).is_err());
        assert!(told("/pending?after=g:1", &[1, 3]).is_err());
        assert!(told("/groups/h/pending", &[1, 3]).is_err());
    }

    #[test]
    fn an_answer_may_be_of_any_instant_since_it_was_asked_for_and_of_no_other() {
        let mut story = Story::default();
        story.command(1, "ann").asked(0, "/pending").marked(1).answered(0, 200, &body(&[1]));
        assert_eq!(exact(&Reading::of(&story.trace())), Ok(()));
        story.asked(1, "/pending").answered(1, 200, &body(&[1]));
        assert_eq!(exact(&Reading::of(&story.trace())).unwrap_err().event, Some(5));
    }

    #[test]
    fn a_command_that_an_event_calls_executed_is_not_pending() {
        let mut story = Story::default();
        story.command(1, "ann").event(2, "e", "CommandExecuted", r#"{"position":1}"#);
        story.asked(0, "/pending").answered(0, 200, "[]");
        assert_eq!(exact(&Reading::of(&story.trace())), Ok(()));
    }
}
