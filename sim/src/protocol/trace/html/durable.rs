//! What lasts, as every event leaves it: rows of tables and of objects, objects of buckets, messages of queues, keys
//! of KV and instances of workflows. A page shows it at any moment.

mod instances;
mod messages;

use super::super::text::Text;
use super::super::{Event, EventKind};
use crate::protocol::op::Op;
use crate::protocol::outcome::{Outcome, Reply};
use crate::services::queue::MessageId;
use crate::services::sqlite::{Row, RowChange, Value};
use crate::services::{kv, r2};
use crate::values::sorted_map::SortedMap;

/// Names and values.
pub(super) type Fields = Vec<(String, String)>;

/// Everything that was kept at some moment, and how it changed.
#[derive(Default)]
pub(super) struct DurableState {
    /// What kind of place it is, and its name: `bucket`, `photos`.
    pub places: Vec<(&'static str, String)>,
    /// What was ever there: the place, and the name that it has there.
    pub things: Vec<(usize, String)>,
    /// In the order of events.
    pub changes: Vec<Change>,
}

/// What an event made of a thing.
pub(super) struct Change {
    /// The index of the event.
    pub event: usize,
    /// The index of the thing.
    pub thing: usize,
    /// What it is now; none when it is gone.
    pub now: Option<Fields>,
}

impl DurableState {
    /// Follows what is kept through a whole history.
    pub fn of(text: &Text<'_>) -> DurableState {
        let mut reader = Reader { text, at: 0, ..Reader::new(text) };
        for (at, event) in text.trace.events().iter().enumerate() {
            reader.at = at;
            reader.event(event);
        }
        reader.kept
    }
}

/// A row, the key under which it was last heard of, and the thing that it is.
type Known<'a> = (&'a [Value], &'a Row, usize);

struct Reader<'a, 't> {
    text: &'t Text<'a>,
    /// The index of the event that is read.
    at: usize,
    kept: DurableState,
    /// The rows that are there, by owner and table.
    rows: SortedMap<(u16, &'a str), Vec<Known<'a>>>,
    /// The things that are there and have a name of their own, with what they are.
    named: SortedMap<(usize, String), (usize, Fields)>,
    /// Messages that were moved to another queue, where they have another id: the queue, and the id that they had.
    moved: Vec<(&'a str, MessageId)>,
}

impl<'a, 't> Reader<'a, 't> {
    fn new(text: &'t Text<'a>) -> Reader<'a, 't> {
        let (kept, rows) = (DurableState::default(), SortedMap::new());
        Reader { text, at: 0, kept, rows, named: SortedMap::new(), moved: Vec::new() }
    }

    fn event(&mut self, event: &'a Event) {
        let trace = self.text.trace;
        match &event.kind {
            EventKind::Rows { changes } => {
                changes.iter().for_each(|change| self.row(event.actor, change));
            }
            EventKind::Effect { call, outcome } => {
                self.effect(trace.op(*call), trace.outcome(*outcome));
            }
            EventKind::Call { call } => {
                if let Op::Deliver { to, batch } = trace.op(*call) {
                    self.delivered(to, batch);
                }
            }
            EventKind::Settle { queue, message, fate, .. } => self.settled(queue, *message, fate),
            _ => {}
        }
    }

    fn row(&mut self, owner: u16, change: &'a RowChange) {
        let name = (owner, &*change.table);
        let rows = self.rows.entry(name).or_default();
        let known = change.find(rows.iter().map(|(key, row, _)| (*key, *row)));
        let thing = match known {
            Some(at) => rows.remove(at).2,
            None if change.after.is_none() => return,
            None => {
                let owner = self.text.names.of(owner);
                let place = self.place("table", &format!("{owner} {}", change.table));
                let key: Vec<String> = change.key.iter().map(|key| self.value(key)).collect();
                self.thing(place, key.join(", "))
            }
        };
        if let Some(row) = &change.after {
            let rows = self.rows.entry(name).or_default();
            rows.insert(known.unwrap_or(rows.len()), (&change.key, row, thing));
        }
        let told = |(column, value): &(std::sync::Arc<str>, Value)| {
            (*value != Value::Null).then(|| (column.to_string(), self.value(value)))
        };
        let now = change.after.as_ref().map(|row| row.iter().filter_map(told).collect());
        self.kept.changes.push(Change { event: self.at, thing, now });
    }

    fn effect(&mut self, op: &'a Op, outcome: &'a Outcome) {
        let Ok(reply) = outcome else { return };
        match (op, reply) {
            (Op::R2(op), Reply::R2(r2::Reply::Stored(object))) => {
                let mut fields = vec![("etag".into(), self.text.plain(&object.etag))];
                fields.push(("version".into(), self.text.plain(&object.version)));
                fields.push(("size".into(), object.size.to_string()));
                if let r2::Op::Put { body, .. } = op {
                    fields.push(("body".into(), self.text.plain(&format!("{body:#}"))));
                }
                self.set("bucket", op.bucket(), &object.key, Some(fields));
            }
            (Op::R2(op @ (r2::Op::Delete { .. } | r2::Op::LifecycleDelete { .. })), _) => {
                op.keys().iter().for_each(|key| self.set("bucket", op.bucket(), key, None));
            }
            (Op::Kv(kv::Op::Put { namespace, key, value, options }), _) => {
                let mut fields = vec![("value".into(), self.text.plain(&format!("{value:#}")))];
                fields.extend(
                    options
                        .metadata
                        .as_ref()
                        .map(|metadata| ("metadata".to_string(), self.text.plain(metadata))),
                );
                self.set("KV", namespace, key, Some(fields));
            }
            (Op::Kv(kv::Op::Delete { namespace, key }), _) => self.set("KV", namespace, key, None),
            (Op::Workflow(op), Reply::Workflow(reply)) => self.instance(op, reply),
            (op, Reply::Queue(reply)) => self.sent(op, reply),
            _ => {}
        }
    }

    /// A thing with a name of its own is this now.
    fn set(&mut self, kind: &'static str, place: &str, name: &str, now: Option<Fields>) {
        let name = (self.place(kind, place), name.to_string());
        let thing = match (self.named.get(&name), &now) {
            (Some((_, fields)), Some(now)) if fields == now => return,
            (Some((thing, _)), _) => *thing,
            (None, None) => return,
            (None, Some(_)) => {
                // A message is told by its first digits, as in the lines of a history.
                let message = (kind == "queue").then(|| name.1.chars().take(6).collect());
                self.thing(name.0, message.unwrap_or_else(|| self.text.plain(&name.1)))
            }
        };
        match &now {
            Some(fields) => drop(self.named.insert(name, (thing, fields.clone()))),
            None => drop(self.named.remove(&name)),
        }
        self.kept.changes.push(Change { event: self.at, thing, now });
    }

    /// One value of a thing that is there is another now.
    fn update(&mut self, kind: &'static str, place: &str, name: &str, field: (&str, String)) {
        let key = (self.place(kind, place), name.to_string());
        let Some((_, mut fields)) = self.named.get(&key).cloned() else { return };
        match fields.iter_mut().find(|(name, _)| name == field.0) {
            Some((_, value)) => *value = field.1,
            None => fields.push((field.0.into(), field.1)),
        }
        self.set(kind, place, name, Some(fields));
    }

    /// What a thing that is there is now.
    fn fields(&mut self, kind: &'static str, place: &str, name: &str) -> Option<Fields> {
        let key = (self.place(kind, place), name.to_string());
        self.named.get(&key).map(|(_, fields)| fields.clone())
    }

    fn place(&mut self, kind: &'static str, name: &str) -> usize {
        let known = self.kept.places.iter().position(|place| (place.0, &*place.1) == (kind, name));
        known.unwrap_or_else(|| {
            self.kept.places.push((kind, name.into()));
            self.kept.places.len() - 1
        })
    }

    fn thing(&mut self, place: usize, name: String) -> usize {
        self.kept.things.push((place, name));
        self.kept.things.len() - 1
    }

    fn value(&self, value: &Value) -> String {
        self.text.plain(&format!("{value:#}"))
    }
}

#[cfg(test)]
mod tests;
