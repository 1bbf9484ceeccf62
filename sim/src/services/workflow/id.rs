//! Names of things in a workflow: an instance, a life of its engine, a step.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::duration::Millis;
use crate::values::hash::mix;
use crate::values::sorted_map::SortedMap;

/// One life of the engine that runs the body of an instance.
///
/// Everything the body asks carries it, so that a body that was aborted, restarted or believed
/// dead can be told from the one that runs now. Generations are never reused, not even when an id
/// is.
///
/// ```
/// use thunderhead_sim::workflow::Engine;
///
/// let engine = Engine { workflow: "uploads".into(), id: "a".into(), generation: 3 };
/// assert_eq!(engine.to_string(), "uploads/a@3");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Engine {
    /// The name of the workflow.
    pub workflow: Arc<str>,
    /// The id of the instance.
    pub id: Arc<str>,
    /// Which life it is.
    pub generation: u64,
}

impl Engine {
    /// The name of the host on which its instance runs.
    pub(crate) fn host_name(&self) -> String {
        format!("{}/{}", self.workflow, self.id)
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}@{}", self.workflow, self.id, self.generation)
    }
}

/// A step of an instance: its name, and the how-manieth of that name in this run it is.
///
/// The platform stores the SHA-1 of the name and the count; the plain name distinguishes the same
/// steps and can be read in a trace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepKey {
    /// What the application calls it.
    pub name: Arc<str>,
    /// Counts from 1, in the order of the calls.
    pub count: u32,
}

impl StepKey {
    /// The step of this name and count.
    pub fn new(name: &str, count: u32) -> StepKey {
        StepKey { name: name.into(), count }
    }
}

impl fmt::Display for StepKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.name, self.count)
    }
}

/// The three kinds of step, which do not share their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StepKind {
    /// `step.do`.
    Do,
    /// `step.sleep` and `step.sleepUntil`.
    Sleep,
    /// `step.waitForEvent`.
    WaitForEvent,
}

/// What one life of an engine remembers itself: how often each name has been used.
///
/// It starts from nothing with every life, which is why a replay arrives at the same keys.
///
/// ```
/// use thunderhead_sim::workflow::StepCounter;
///
/// let mut counter = StepCounter::default();
/// assert_eq!(counter.step("save").to_string(), "save#1");
/// assert_eq!(counter.step("save").to_string(), "save#2");
/// ```
#[derive(Clone, Debug, Default)]
pub struct StepCounter(SortedMap<(StepKind, Arc<str>, Option<Millis>), u32>);

impl StepCounter {
    /// The key of the next `step.do` of this name.
    pub fn step(&mut self, name: &str) -> StepKey {
        self.next(StepKind::Do, name, None)
    }

    /// The key of the next `step.sleep` of this name and duration, which the platform counts apart.
    pub fn sleep(&mut self, name: &str, duration: Duration) -> StepKey {
        self.next(StepKind::Sleep, name, Some(duration.into()))
    }

    /// The key of the next `step.sleepUntil` of this name.
    pub fn sleep_until(&mut self, name: &str) -> StepKey {
        self.next(StepKind::Sleep, name, None)
    }

    /// The key of the next `step.waitForEvent` of this name.
    pub fn wait_for_event(&mut self, name: &str) -> StepKey {
        self.next(StepKind::WaitForEvent, name, None)
    }

    fn next(&mut self, kind: StepKind, name: &str, duration: Option<Millis>) -> StepKey {
        let name: Arc<str> = name.into();
        let count = self.0.entry((kind, Arc::clone(&name), duration)).or_default();
        *count += 1;
        StepKey { name, count: *count }
    }
}

/// Letters, digits, `_` and `-`, not beginning with `-`: the pattern of ids, names and event types.
pub(super) fn is_valid_name(name: &str, max_len: usize) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= max_len && !name.starts_with('-') && name.chars().all(plain)
}

/// The id of an instance that was created without one: a version 4 UUID, the same in every run.
pub(super) fn numbered_uuid(number: u64) -> Arc<str> {
    let (high, low) = (mix(number), mix(!number));
    let (high, low) = (high & !0xf000 | 0x4000, low & !(0b11 << 62) | 0b10 << 62);
    let (first, second, third) = (high >> 32, high >> 16 & 0xffff, high & 0xffff);
    format!(
        "{first:08x}-{second:04x}-{third:04x}-{:04x}-{:012x}",
        low >> 48,
        low & 0xffff_ffff_ffff
    )
    .into()
}

#[cfg(test)]
mod tests {
    use crate::values::sorted_set::SortedSet;

    use super::*;

    #[test]
    fn ids_that_nobody_chose_are_valid_uuids_and_never_repeat() {
        let ids: SortedSet<Arc<str>> = (0..10_000).map(numbered_uuid).collect();
        assert_eq!(ids.len(), 10_000);
        for id in ids {
            assert!(id.len() == 36 && is_valid_name(&id, 100), "{id}");
            assert_eq!(&id[14..15], "4", "{id}");
            assert!("89ab".contains(&id[19..20]), "{id}");
        }
    }

    #[test]
    fn kinds_and_durations_are_counted_apart() {
        let mut counter = StepCounter::default();
        let (short, long) = (Duration::from_secs(1), Duration::from_secs(2));
        assert_eq!(counter.step("a").count, 1);
        assert_eq!(counter.sleep("a", short).count, 1);
        assert_eq!(counter.sleep("a", long).count, 1);
        assert_eq!(counter.sleep("a", short).count, 2);
        assert_eq!(counter.sleep_until("a").count, 1);
        assert_eq!(counter.wait_for_event("a").count, 1);
    }
}
