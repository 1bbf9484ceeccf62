//! Events that no wait has taken yet.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::reply::StepEvent;
use crate::values::sorted_map::SortedMap;

/// The events of one instance, first in, first out within each type.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Events {
    waiting: SortedMap<Arc<str>, VecDeque<StepEvent>>,
    /// What the emulator has written down: each type's queue, place by place, as it was when an
    /// event last arrived. Nothing is ever erased from it, which is why events come again.
    written: SortedMap<Arc<str>, Vec<StepEvent>>,
}

impl Events {
    /// An event arrives; `taken` when a parked wait has it already.
    pub fn arrive(&mut self, event: StepEvent, taken: bool) {
        let event_type = Arc::clone(&event.event_type);
        let waiting = self.waiting.entry(Arc::clone(&event_type)).or_default();
        waiting.push_back(event);
        let written = self.written.entry(event_type).or_default();
        for (place, event) in waiting.iter().enumerate() {
            match written.get_mut(place) {
                Some(old) => *old = event.clone(),
                None => written.push(event.clone()),
            }
        }
        if taken {
            waiting.pop_back();
        }
    }

    /// The event of this type that has waited longest.
    pub fn take(&mut self, event_type: &str) -> Option<StepEvent> {
        self.waiting.get_mut(event_type)?.pop_front()
    }

    /// A new life of the emulator's engine reads back what was written down.
    pub fn read_back(&mut self) {
        let queue = |(name, events): (&Arc<str>, &Vec<StepEvent>)| {
            (Arc::clone(name), events.iter().cloned().collect())
        };
        self.waiting = self.written.iter().map(queue).collect();
    }
}
