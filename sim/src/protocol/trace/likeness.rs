//! Whether two histories are the same, and where they part.

use super::{Event, EventKind, OutcomeId, Trace};

impl Trace {
    /// Where two histories part, faults apart: the indices of the first events that differ, or at which one of them is
    /// over; none when they are the same. A fault is left out because what it changes may come much later.
    pub fn parting(&self, other: &Trace) -> Option<(usize, usize)> {
        let next = |trace: &Trace, from: usize| {
            let skipped = |event: &&Event| matches!(event.kind, EventKind::Fault { .. });
            from + trace.events[from..].iter().take_while(skipped).count()
        };
        let (mut mine, mut theirs) = (next(self, 0), next(other, 0));
        while let (Some(one), Some(two)) = (self.events.get(mine), other.events.get(theirs)) {
            if self.actor(one) != other.actor(two) || !self.same_event(one, other, two) {
                return Some((mine, theirs));
            }
            (mine, theirs) = (next(self, mine + 1), next(other, theirs + 1));
        }
        let over = (self.events.len(), other.events.len());
        ((mine, theirs) != over).then_some((mine, theirs))
    }

    /// Whether two events are the same happening at the same time, to any actor.
    fn same_event(&self, one: &Event, other: &Trace, two: &Event) -> bool {
        one.at == two.at
            && one.kind.unnumbered() == two.kind.unnumbered()
            && self.carried(one) == other.carried(two)
    }
}

impl PartialEq for Trace {
    /// Whether two events did one thing to one actor; how calls are numbered does not matter.
    fn eq(&self, other: &Trace) -> bool {
        let same = |(one, two): (&Event, &Event)| {
            one.actor == two.actor && self.same_event(one, other, two)
        };
        self.actors == other.actors
            && self.events.len() == other.events.len()
            && self.events.iter().zip(&other.events).all(same)
    }
}

impl Eq for Trace {}

impl EventKind {
    /// This event without the number of its answer, which differs between runs.
    pub(super) fn unnumbered(&self) -> std::borrow::Cow<'_, EventKind> {
        let outcome = OutcomeId::default();
        std::borrow::Cow::Owned(match *self {
            EventKind::Effect { call, .. } => EventKind::Effect { call, outcome },
            EventKind::End { call, .. } => EventKind::End { call, outcome },
            EventKind::Return { call, .. } => EventKind::Return { call, outcome },
            _ => return std::borrow::Cow::Borrowed(self),
        })
    }
}
