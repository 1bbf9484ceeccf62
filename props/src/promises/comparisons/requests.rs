//! A request makes one comparison, however often it is sent.

use thunderhead_sim::{Request, Response, SortedMap, SortedSet, Trace};

use super::facts::{Fact, comparison, facts};
use crate::promise::{Finding, Promise};
use crate::promises::count;

pub static ONE_PER_REQUEST: Promise = Promise::always(
    "one comparison per request",
    "a request that is sent again is answered with the same id, makes no second comparison of its pair, and brings none back that was evicted",
    one_per_request,
);

fn one_per_request(trace: &Trace) -> Result<(), Finding> {
    let mut asked: SortedMap<u32, &Request> = SortedMap::new();
    let mut requests = Requests::default();
    let mut answers: SortedMap<&Request, String> = SortedMap::new();
    let mut created = SortedSet::new();
    let mut of_pair: SortedMap<(&str, &str), usize> = SortedMap::new();
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
                    let many = of_pair.entry(new.pair).or_default();
                    *many += 1;
                    let few = requests.for_pair(new.pair);
                    if *many > few {
                        let came = count(few, "request");
                        let message = format!(
                            "{} is comparison number {many} of its pair, and {came} came",
                            new.id
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

/// The requests for comparisons that came, each once, however often it was sent.
#[derive(Default)]
struct Requests<'a> {
    all: SortedSet<&'a Request>,
    by_pair: SortedMap<(String, String), usize>,
}

impl<'a> Requests<'a> {
    fn insert(&mut self, request: &'a Request) {
        if self.all.insert(request) {
            *self.by_pair.entry(pair(request)).or_default() += 1;
        }
    }

    /// How many requests asked for this pair. A pair that none names as it is written in the row may be any of them:
    /// an application may write addresses in another way than its clients.
    fn for_pair(&self, (left, right): (&str, &str)) -> usize {
        self.by_pair.get(&(left.into(), right.into())).copied().unwrap_or(self.all.len())
    }
}

/// The addresses that a request names.
fn pair(request: &Request) -> (String, String) {
    let json: serde_json::Value = request.body.read().unwrap_or_default();
    let url = |key: &str| json[key].as_str().unwrap_or_default().to_string();
    (url("leftUrl"), url("rightUrl"))
}

fn is_compare(request: &Request) -> bool {
    (&*request.method, &*request.path) == ("POST", "/compare")
}

fn comparison_id(response: &Response) -> String {
    let json: serde_json::Value = response.body.read().unwrap_or_default();
    json["comparisonId"].as_str().unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::comparisons::mutants::{OTHER, PAIR, Story, id};

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
            format!("{} is comparison number 2 of its pair, and 1 request came", id(2))
        );
    }

    #[test]
    fn a_request_for_another_pair_does_not_excuse_a_second_comparison() {
        let mut story = Story::default();
        story.compare_pair(0, PAIR, "a").compare_pair(1, OTHER, "b").created(&[1]);
        assert_eq!(one_per_request(&story.trace()), Ok(()));
        story.created(&[2]);
        let finding = one_per_request(&story.trace()).unwrap_err();
        assert_eq!(finding.event, Some(3));
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
