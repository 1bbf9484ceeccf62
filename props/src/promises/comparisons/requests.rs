//! A request makes one comparison, however often it is sent.

use std::collections::{BTreeMap, BTreeSet};

use thunderhead_sim::{Request, Response, Trace};

use super::facts::{Fact, comparison, facts};
use crate::promise::{Finding, Promise};
use crate::promises::count;

pub static ONE_PER_REQUEST: Promise = Promise::always(
    "one comparison per request",
    "a request that is sent again is answered with the same id, makes no second comparison, and brings none back that was evicted",
    one_per_request,
);

fn one_per_request(trace: &Trace) -> Result<(), Finding> {
    let mut asked: BTreeMap<u32, &Request> = BTreeMap::new();
    let mut requests = BTreeSet::new();
    let mut answers: BTreeMap<&Request, String> = BTreeMap::new();
    let mut created = BTreeSet::new();
    for (at, fact) in facts(trace) {
        match fact {
            Fact::Asked { call, request } if is_compare(request) => {
                asked.insert(call, request);
                requests.insert(request);
            }
            Fact::Answered { call, response } if response.status == 201 => {
                let Some(request) = asked.get(&call) else { continue };
                let id = comparison_id(response);
                let first = answers.entry(request).or_insert_with(|| id.clone());
                if *first != id {
                    let message = format!("{request} made {first}, and again {id}");
                    return Err(Finding::at(at, message));
                }
            }
            Fact::Rows { changes, .. } => {
                for (before, after) in changes.iter().filter_map(comparison) {
                    let (None, Some(new)) = (before, after) else { continue };
                    if !created.insert(new.id) {
                        return Err(Finding::at(at, format!("{} has come back", new.id)));
                    }
                    if created.len() > requests.len() {
                        let (many, few) = (created.len(), requests.len());
                        let message = format!(
                            "{} is comparison number {many}, and {} came",
                            new.id,
                            count(few, "request")
                        );
                        return Err(Finding::at(at, message));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_compare(request: &Request) -> bool {
    (&*request.method, &*request.path) == ("POST", "/compare")
}

fn comparison_id(response: &Response) -> String {
    let json: serde_json::Value = serde_json::from_slice(response.body.bytes()).unwrap_or_default();
    json["comparisonId"].as_str().unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::comparisons::mutants::{Story, id};

    #[test]
    fn a_request_that_is_repeated_and_answered_alike_is_as_it_should_be() {
        let mut story = Story::default();
        story.compare(0, "a").created(&[1]).answered_id(0, 1);
        story.compare(1, "a").answered_id(1, 1).compare(2, "b").created(&[2]).answered_id(2, 2);
        assert_eq!(one_per_request(&story.trace()), Ok(()));
    }

    #[test]
    fn a_second_comparison_is_rejected_where_it_is_made() {
        let mut story = Story::default();
        story.compare(0, "a").created(&[1]).compare(1, "a").created(&[2]);
        let finding = one_per_request(&story.trace()).unwrap_err();
        assert_eq!(finding.event, Some(3));
        assert_eq!(
            finding.message,
            format!("{} is comparison number 2, and 1 request came", id(2))
        );
    }

    #[test]
    fn another_answer_to_the_same_request_is_rejected() {
        let mut story = Story::default();
        story.compare(0, "a").compare(1, "b").created(&[1, 2]).answered_id(0, 1);
        story.compare(2, "a").answered_id(2, 2);
        assert!(one_per_request(&story.trace()).unwrap_err().message.contains("and again"));
    }

    #[test]
    fn a_comparison_that_comes_back_is_rejected() {
        let mut story = Story::default();
        story.compare(0, "a").compare(1, "b").created(&[1]).turn(|turn| turn.delete(1));
        story.created(&[1]);
        let finding = one_per_request(&story.trace()).unwrap_err();
        assert_eq!(finding.message, format!("{} has come back", id(1)));
    }
}
