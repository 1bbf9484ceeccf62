//! What the script of a page reads: how everything that is kept changes, and what every event says in full.

use serde_json::{Value, json};

use super::super::story::Story;
use super::super::text::{Length, Text};
use super::super::{EventKind, Trace};
use super::call;
use super::durable::DurableState;
use crate::services::sqlite::TIED;
use crate::values::sorted_map::SortedMap;

/// The data of a page. Texts that several events say are there once.
pub(super) fn of(trace: &Trace, story: Option<&Story>) -> Value {
    let text = Text::new(trace, Length::Whole);
    let kept = DurableState::of(&text);
    let changes = kept.changes.iter().map(|change| json!([change.event, change.thing, change.now]));
    let mut said = Said::default();
    let events: Vec<Value> = (0..trace.events().len()).map(|at| said.event(&text, at)).collect();
    let stands_at = story.and_then(|story| story.marked.iter().min().copied());
    json!({
        "places": kept.places,
        "things": kept.things,
        "changes": changes.collect::<Vec<_>>(),
        "events": events,
        "texts": said.texts,
        "at": stands_at.map_or(trace.events().len(), |at| at + 1),
    })
}

/// Texts, each once.
#[derive(Default)]
struct Said {
    texts: Vec<String>,
    known: SortedMap<String, usize>,
}

impl Said {
    /// What an event says in full: what was asked, what was answered, and anything else, by the numbers of the texts.
    fn event(&mut self, text: &Text<'_>, at: usize) -> Value {
        let event = &text.trace.events()[at];
        let mut parts: Vec<(&str, usize)> = Vec::new();
        if let Some(call) = call(event) {
            parts.push((
                "asked",
                self.number(format!("#{call} {}", text.question(text.trace.op(call)))),
            ));
        }
        match &event.kind {
            EventKind::Effect { outcome, .. }
            | EventKind::End { outcome, .. }
            | EventKind::Return { outcome, .. } => {
                let word = if text.trace.outcome(*outcome).is_err() { "error" } else { "answered" };
                parts.push((word, self.number(text.told(*outcome))));
            }
            EventKind::Rows { .. } => {
                let rows = text.rows(event, usize::MAX);
                parts.extend(rows.into_iter().map(|row| ("row", self.number(row))));
            }
            EventKind::Call { .. } | EventKind::Begin { .. } => {}
            _ => parts.push(("said", self.number(text.describe(at, 1)))),
        }
        json!(parts)
    }

    fn number(&mut self, text: String) -> usize {
        let text = text.replace(TIED, " ");
        if let Some(number) = self.known.get(&text) {
            return *number;
        }
        let number = self.texts.len();
        self.texts.push(text.clone());
        self.known.insert(text, number);
        number
    }
}
