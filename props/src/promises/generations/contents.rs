//! What the library and the bucket hold, rebuilt from the facts.

use thunderhead_sim::sqlite::{RowChange, Value};
use thunderhead_sim::{Body, SortedMap, SortedSet, Time};

use super::facts::{Fact, after, before, facts};
use crate::promises::Reading;

/// What the library and the bucket hold, as changes follow each other.
#[derive(Debug, Default)]
pub struct Contents<'a> {
    pub generations: SortedMap<&'a str, Generation<'a>>,
    /// The generation of each artifact.
    pub artifacts: SortedMap<&'a str, &'a str>,
    /// The client of each generation and of each artifact, where the tables have one.
    pub clients: SortedMap<&'a str, &'a str>,
    /// The tags of each generation and of each artifact.
    pub tags: SortedMap<&'a str, SortedSet<&'a str>>,
    pub bucket: SortedMap<&'a str, Body>,
    /// The ETag of each artifact that is in the bucket.
    pub etags: SortedMap<&'a str, &'a str>,
    /// The parts of each upload, by their numbers.
    parts: SortedMap<(&'a str, i64), &'a Body>,
}

/// A generation as its row has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation<'a> {
    pub status: &'a str,
    pub output_count: i64,
    pub cost: i64,
    /// When the row was written.
    pub at: Time,
}

impl<'a> Contents<'a> {
    /// The contents at the end of a trace.
    pub fn at_the_end<'b>(trace: &'b Reading<'a>) -> &'b Contents<'a> {
        trace.generations.at_the_end.get_or_init(|| {
            let mut contents = Contents::default();
            facts(trace).for_each(|(_, at, fact)| contents.learn(at, &fact));
            contents
        })
    }

    /// Learns from what happened.
    pub fn learn(&mut self, at: Time, fact: &Fact<'a>) {
        match fact {
            Fact::Library(changes) => changes.iter().for_each(|change| self.change(at, change)),
            Fact::Part { upload, number, body } => {
                self.parts.insert((upload, *number), body);
            }
            Fact::Put { artifact, etag, .. } | Fact::Completed { artifact, etag, .. } => {
                let written = self.written(fact).map(|(_, body)| body);
                self.bucket.insert(artifact, written.unwrap_or_else(Body::empty));
                self.etags.insert(artifact, etag);
            }
            Fact::Deleted(artifacts) => {
                for artifact in artifacts.ids() {
                    self.bucket.remove(artifact);
                    self.etags.remove(artifact);
                }
            }
            _ => {}
        }
    }

    /// The artifact that is written to the bucket, and its bytes: those of a put, or of all parts of an upload.
    pub fn written(&self, fact: &Fact<'a>) -> Option<(&'a str, Body)> {
        match fact {
            Fact::Put { artifact, body, .. } => Some((artifact, (*body).clone())),
            Fact::Completed { artifact, upload, parts, .. } => {
                let mut numbers: Vec<i64> = parts.iter().map(|part| part.part_number).collect();
                numbers.sort_unstable();
                let parts = numbers.iter().filter_map(|number| self.parts.get(&(*upload, *number)));
                let bytes: Vec<&[u8]> = parts.map(|part| part.bytes()).collect();
                Some((artifact, Body::from(bytes.concat())))
            }
            _ => None,
        }
    }

    fn change(&mut self, at: Time, change: &'a RowChange) {
        match &*change.table {
            "generations" => {
                self.generations.remove(before(change, "id"));
                if change.after.is_some() {
                    let number = |column| change.value_after(column).and_then(Value::as_i64);
                    let output_count = number("output_count").unwrap_or_default();
                    let (status, cost) =
                        (after(change, "status"), number("cost").unwrap_or_default());
                    let row = Generation { status, output_count, cost, at };
                    self.generations.insert(after(change, "id"), row);
                    self.clients.insert(after(change, "id"), after(change, "client"));
                }
            }
            "artifacts" => {
                self.artifacts.remove(before(change, "id"));
                if change.after.is_some() {
                    self.artifacts.insert(after(change, "id"), after(change, "generation_id"));
                    self.clients.insert(after(change, "id"), after(change, "client"));
                }
            }
            "tags" => {
                let tags = self.tags.entry(before(change, "target_id")).or_default();
                tags.remove(before(change, "tag"));
                if change.after.is_some() {
                    let tags = self.tags.entry(after(change, "target_id")).or_default();
                    tags.insert(after(change, "tag"));
                }
            }
            _ => {}
        }
    }

    /// How many artifacts a generation has.
    pub fn count_of(&self, generation: &str) -> usize {
        self.artifacts.values().filter(|of| **of == generation).count()
    }
}
