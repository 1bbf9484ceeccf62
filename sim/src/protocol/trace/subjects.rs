//! Of whom the text form tells an event.

use super::{Event, EventKind, Trace};
use crate::protocol::op::Op;
use crate::services::workflow::Engine;
use crate::values::sorted_map::SortedMap;

impl Trace {
    /// The actor of whom the text form tells an event: when an engine writes its journal, its instance.
    pub fn subject(&self, event: &Event) -> u16 {
        Subjects::new(self).of(event)
    }
}

/// The actors of a trace by name, so that the instance of an engine is found without looking at all of them.
pub(super) struct Subjects<'a> {
    trace: &'a Trace,
    numbers: SortedMap<&'a str, u16>,
}

impl<'a> Subjects<'a> {
    pub(super) fn new(trace: &'a Trace) -> Subjects<'a> {
        let names = trace.actors().iter().map(|name| &**name);
        Subjects { trace, numbers: names.zip(0..).collect() }
    }

    /// The actor of whom an event is told.
    pub(super) fn of(&self, event: &Event) -> u16 {
        let engine = match event.kind {
            EventKind::Effect { call, .. } => match self.trace.op(call) {
                Op::Workflow(op) => op.engine(),
                _ => None,
            },
            _ => None,
        };
        engine.and_then(|engine| self.instance(engine)).unwrap_or(event.actor)
    }

    /// The actor that is the instance of an engine.
    pub(super) fn instance(&self, engine: &Engine) -> Option<u16> {
        self.numbers.get(&*format!("{}/{}", engine.workflow, engine.id)).copied()
    }

    /// The events of each actor, as indices: those that it caused and those that are told of it.
    pub(super) fn lives(&self) -> Vec<Vec<usize>> {
        let mut lives = vec![Vec::new(); self.trace.actors().len()];
        for (at, event) in self.trace.events().iter().enumerate() {
            lives[usize::from(event.actor)].push(at);
            let subject = self.of(event);
            if subject != event.actor {
                lives[usize::from(subject)].push(at);
            }
        }
        lives
    }
}
