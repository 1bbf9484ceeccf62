//! Pairs are apart: none reads or changes what belongs to another.

use thunderhead_sim::{SortedMap, Trace};

use super::contents::Results;
use super::facts::{Fact, comparison, facts, key_of};
use crate::promise::{Finding, Promise};

pub static APART: Promise = Promise::always(
    "pairs are apart",
    "each pair of URLs, in this order, has a store and a key of its own, and is explained by its own history alone",
    apart,
);

fn apart(trace: &Trace) -> Result<(), Finding> {
    let mut at_store = SortedMap::new();
    let mut first = SortedMap::new();
    let mut of_key = SortedMap::new();
    let mut key_of_pair = SortedMap::new();
    let mut results = Results::default();
    for (at, fact) in facts(trace) {
        match fact {
            Fact::Rows { store, changes } => {
                changes.iter().for_each(|change| results.learn(change));
                for (_, after) in changes.iter().filter_map(comparison) {
                    let Some(after) = after else { continue };
                    let key = key_of(after.id);
                    let alone = *at_store.entry(store).or_insert(after.pair) == after.pair
                        && *of_key.entry(key).or_insert(after.pair) == after.pair
                        && *key_of_pair.entry(after.pair).or_insert(key) == key;
                    if !alone {
                        let (left, right) = after.pair;
                        let message = format!("{left} and {right} share {store} with another pair");
                        return Err(Finding::at(at, message).about(first.get(store).copied()));
                    }
                    first.entry(store).or_insert(at);
                }
            }
            Fact::Fetched { to: "model", request } => {
                let prompt: serde_json::Value = request.body.read().unwrap_or_default();
                let id = prompt["comparisonId"].as_str().unwrap_or_default();
                let history = prompt["history"].as_array().map_or(&[][..], Vec::as_slice);
                for past in history {
                    let Some(past) = results.told(past) else { continue };
                    if key_of(past) != key_of(id) {
                        let message = format!("{id} is explained by {past}, of another pair");
                        return Err(Finding::at(at, message));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::comparisons::mutants::{OTHER, Story, id};

    #[test]
    fn a_pair_with_its_own_store_is_as_it_should_be() {
        let mut story = Story::default();
        story
            .created(&[1, 2])
            .explained(1)
            .prompt(2, &[1])
            .elsewhere()
            .turn(|turn| turn.create_of(OTHER, "k2:1"));
        assert_eq!(apart(&story.trace()), Ok(()));
    }

    #[test]
    fn two_pairs_in_one_store_or_under_one_key_are_rejected() {
        let mut story = Story::default();
        story.created(&[1]).turn(|turn| turn.create_of(OTHER, "k2:1"));
        assert_eq!(apart(&story.trace()).unwrap_err().event, Some(1), "one store");
        let mut story = Story::default();
        story.created(&[1]).elsewhere().turn(|turn| turn.create_of(OTHER, &id(2)));
        assert_eq!(apart(&story.trace()).unwrap_err().event, Some(1), "one key");
    }

    #[test]
    fn one_pair_under_two_keys_is_rejected() {
        let mut story = Story::default();
        story
            .created(&[1])
            .elsewhere()
            .turn(|turn| turn.create_of(("https://l.example/", "https://r.example/"), "k2:1"));
        assert!(apart(&story.trace()).is_err());
    }

    #[test]
    fn a_history_of_another_pair_is_rejected() {
        let mut story = Story::default();
        story.created(&[1]).explained(1);
        story.prompt_text(r#"{"comparisonId":"k2:1","history":[{"result":{"of":1}}]}"#);
        let finding = apart(&story.trace()).unwrap_err();
        assert_eq!(finding.message, "k2:1 is explained by k:1, of another pair");
    }
}
