//! What the pairs keep, rebuilt from the facts.

use serde_json::Value as Json;
use thunderhead_sim::SortedMap;
use thunderhead_sim::sqlite::{RowChange, Value};

use super::facts::comparison;

/// How many comparisons a pair keeps unless it is told otherwise.
const KEEP: usize = 50;

/// The status of every comparison that is kept, as changes follow each other.
#[derive(Debug, Default)]
pub struct Statuses<'a>(SortedMap<&'a str, &'a str>);

impl<'a> Statuses<'a> {
    /// Learns from a change.
    pub fn learn(&mut self, change: &'a RowChange) {
        let Some((before, after)) = comparison(change) else { return };
        if let Some(before) = before {
            self.0.remove(before.id);
        }
        if let Some(after) = after {
            self.0.insert(after.id, after.status);
        }
    }

    /// The status of one, if it is kept.
    pub fn of(&self, id: &str) -> Option<&'a str> {
        self.0.get(id).copied()
    }

    /// One that runs, if there is any.
    pub fn running(&self) -> Option<&'a str> {
        self.0.iter().find(|(_, status)| **status == "running").map(|(id, _)| *id)
    }
}

/// Which comparison a result is of. Results are told apart by their explanations, of which no two are alike.
#[derive(Debug, Default)]
pub struct Results<'a>(SortedMap<String, &'a str>);

impl<'a> Results<'a> {
    /// Learns from a change.
    pub fn learn(&mut self, change: &'a RowChange) {
        let Some((_, Some(after))) = comparison(change) else { return };
        if let Some(result) = after.result {
            let result: Json = serde_json::from_str(result).unwrap_or_default();
            self.0.insert(result.to_string(), after.id);
        }
    }

    /// The comparison that an entry of a history tells of.
    pub fn told(&self, entry: &Json) -> Option<&'a str> {
        self.0.get(&entry["result"].to_string()).copied()
    }
}

/// How many comparisons each pair keeps, as far as it has been told.
#[derive(Debug, Default)]
pub struct Keeps<'a>(SortedMap<&'a str, usize>);

impl<'a> Keeps<'a> {
    /// Learns from a change at a store.
    pub fn learn(&mut self, store: &'a str, change: &RowChange) {
        let is_keep = change.key.first().and_then(Value::as_str) == Some("keep");
        if &*change.table == "_cf_KV" && is_keep {
            let told = change.value_after("value").and_then(Value::as_str);
            let keep = told.and_then(|text| text.parse().ok()).unwrap_or(KEEP);
            self.0.insert(store.rsplit(':').next().unwrap_or(store), keep);
        }
    }

    /// How many the pair of this key keeps.
    pub fn of(&self, key: &str) -> usize {
        self.0.get(key).copied().unwrap_or(KEEP)
    }
}
