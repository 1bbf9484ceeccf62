//! A history is in its order.

use serde_json::Value;
use thunderhead_sim::{SortedMap, SortedSet, Trace};

use super::contents::Results;
use super::facts::{Fact, comparison, facts};
use crate::promise::{Finding, Promise};

pub static NEWEST_FIRST: Promise = Promise::always(
    "history is newest first",
    "a client or a model that is told of earlier comparisons is told in the order in which they were created, the newest first, also when many share a millisecond",
    newest_first,
);

fn newest_first(trace: &Trace) -> Result<(), Finding> {
    let mut created: SortedMap<&str, usize> = SortedMap::new();
    let mut results = Results::default();
    let mut asked = SortedSet::new();
    for (at, fact) in facts(trace) {
        let told = match fact {
            Fact::Rows { changes, .. } => {
                changes.iter().for_each(|change| results.learn(change));
                for (before, after) in changes.iter().filter_map(comparison) {
                    if let (None, Some(new)) = (before, after) {
                        let number = created.len();
                        created.entry(new.id).or_insert(number);
                    }
                }
                continue;
            }
            Fact::Asked { call, request } if request.path.ends_with("/history") => {
                asked.insert(call);
                continue;
            }
            Fact::Answered { call, response } if asked.contains(&call) => {
                read(response.body.bytes())
            }
            Fact::Fetched { to: "model", request } => read(request.body.bytes())["history"].take(),
            _ => continue,
        };
        let mut entries = told.as_array().into_iter().flatten();
        let of = |entry: &Value| results.told(entry).and_then(|id| created.get(id).copied());
        if let Some(unknown) = entries.clone().find(|entry| of(entry).is_none()) {
            return Err(Finding::at(at, format!("a history tells of what never was: {unknown}")));
        }
        if let Some(entry) = entries.clone().find(|entry| entry["status"] != "completed") {
            return Err(Finding::at(at, format!("a history tells of no completed one: {entry}")));
        }
        let places: Vec<Option<usize>> = entries.by_ref().map(of).collect();
        if !places.is_sorted_by(|newer, older| newer > older) {
            return Err(Finding::at(at, format!("a history is told in another order: {told}")));
        }
    }
    Ok(())
}

fn read(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::comparisons::mutants::Story;

    #[test]
    fn a_history_in_another_order_is_rejected_where_it_is_told() {
        let mut story = Story::default();
        story.created(&[1, 2, 3]).explained(1).explained(2).prompt(3, &[2, 1]);
        assert_eq!(newest_first(&story.trace()), Ok(()));
        story.prompt(3, &[1, 2]);
        assert_eq!(newest_first(&story.trace()).unwrap_err().event, Some(4));
    }

    #[test]
    fn a_history_that_repeats_one_is_rejected() {
        let mut story = Story::default();
        story.created(&[1, 2]).explained(1).prompt(2, &[1, 1]);
        assert!(newest_first(&story.trace()).is_err());
    }

    #[test]
    fn a_history_of_what_never_was_or_has_not_completed_is_rejected() {
        let mut story = Story::default();
        story.created(&[1, 2]).prompt(2, &[1]);
        let finding = newest_first(&story.trace()).unwrap_err();
        assert!(finding.message.contains("never was"), "{}", finding.message);
        let mut story = Story::default();
        story.created(&[1, 2]).explained(1);
        story.prompt_text(r#"{"history":[{"status":"failed","result":{"of":1}}]}"#);
        let finding = newest_first(&story.trace()).unwrap_err();
        assert!(finding.message.contains("no completed one"), "{}", finding.message);
    }
}
