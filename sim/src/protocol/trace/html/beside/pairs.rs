//! Which event of one run stands beside which of another.

use std::mem::Discriminant;

use super::super::super::{Event, EventKind, Trace};
use super::super::call;

/// An event of the one run, of the other, or of both.
pub(super) type Pair = (Option<usize>, Option<usize>);

/// Runs that part are not compared beyond so many pairs of events: the rest of one follows the rest of the other.
const COMPARED_MAX: usize = 4_000_000;

/// The events of both runs in order. Up to where they part only faults differ; after it, events that are about the
/// same thing stand side by side, as many of them as can.
pub(super) fn pairs(mine: &Trace, theirs: &Trace, parting: (usize, usize)) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let fault = |trace: &Trace, at: usize, end: usize| {
        let event = trace.events()[..end].get(at)?;
        matches!(event.kind, EventKind::Fault { .. }).then(|| About::of(trace, event))
    };
    let (mut one, mut two) = (0, 0);
    while one < parting.0 || two < parting.1 {
        let both = ((one < parting.0).then_some(one), (two < parting.1).then_some(two));
        let pair = match (fault(mine, one, parting.0), fault(theirs, two, parting.1)) {
            (Some(one), Some(two)) if one == two => both,
            (Some(_), _) => (both.0, None),
            (None, Some(_)) => (None, both.1),
            (None, None) => both,
        };
        (one, two) = (one + usize::from(pair.0.is_some()), two + usize::from(pair.1.is_some()));
        pairs.push(pair);
    }
    aligned(mine, theirs, parting, &mut pairs);
    pairs
}

/// What an event is about, apart from when it happens and what exactly is said.
#[derive(PartialEq)]
struct About {
    kind: Discriminant<EventKind>,
    text: String,
}

impl About {
    fn of(trace: &Trace, event: &Event) -> About {
        let asked = match (call(event), &event.kind) {
            (Some(call), _) => {
                let op = trace.op(call);
                format!("{} {}", op.code().name(), op.target())
            }
            (None, EventKind::Rows { changes }) => {
                changes.first().map_or(String::new(), |change| change.table.to_string())
            }
            (None, EventKind::Log { text }) => text.to_string(),
            _ => String::new(),
        };
        let text = format!("{} {asked}", trace.actor(event));
        About { kind: std::mem::discriminant(&event.kind), text }
    }
}

fn aligned(mine: &Trace, theirs: &Trace, from: (usize, usize), pairs: &mut Vec<Pair>) {
    let rest = |trace: &Trace, from: usize| -> Vec<About> {
        trace.events().iter().skip(from).map(|event| About::of(trace, event)).collect()
    };
    let (one, two) = (rest(mine, from.0), rest(theirs, from.1));
    let (mut at, mut beside) = (0, 0);
    if one.len().saturating_mul(two.len()) <= COMPARED_MAX {
        let shared = shared(&one, &two);
        while at < one.len() && beside < two.len() {
            let here = (Some(from.0 + at), Some(from.1 + beside));
            if one[at] == two[beside] {
                pairs.push(here);
                (at, beside) = (at + 1, beside + 1);
            } else if shared[at + 1][beside] >= shared[at][beside + 1] {
                pairs.push((here.0, None));
                at += 1;
            } else {
                pairs.push((None, here.1));
                beside += 1;
            }
        }
    }
    pairs.extend((at..one.len()).map(|at| (Some(from.0 + at), None)));
    pairs.extend((beside..two.len()).map(|at| (None, Some(from.1 + at))));
}

/// How many events can stand side by side from each place of the one run and each of the other on.
fn shared(one: &[About], two: &[About]) -> Vec<Vec<u32>> {
    let mut shared = vec![vec![0; two.len() + 1]; one.len() + 1];
    for at in (0..one.len()).rev() {
        for beside in (0..two.len()).rev() {
            shared[at][beside] = match one[at] == two[beside] {
                true => shared[at + 1][beside + 1] + 1,
                false => shared[at + 1][beside].max(shared[at][beside + 1]),
            };
        }
    }
    shared
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::fault::Fault;
    use crate::values::time::Time;

    fn trace(said: &[&str]) -> Trace {
        let mut trace = Trace::new(vec!["web".into()]);
        for (at, text) in said.iter().enumerate() {
            let kind = EventKind::Log { text: (*text).into() };
            trace.push(Event { at: Time::from_ms(at as u64), actor: 0, kind });
        }
        trace
    }

    #[test]
    fn what_both_runs_have_stands_side_by_side_and_nothing_is_left_out() {
        let (mine, theirs) = (trace(&["a", "b", "c", "d"]), trace(&["a", "x", "c", "d", "e"]));
        let pairs = pairs(&mine, &theirs, mine.parting(&theirs).unwrap());
        let both = |at, beside| (Some(at), Some(beside));
        assert_eq!(
            pairs,
            [both(0, 0), (Some(1), None), (None, Some(1)), both(2, 2), both(3, 3), (None, Some(4))]
        );
    }

    #[test]
    fn up_to_where_runs_part_a_fault_stands_alone() {
        let (mut mine, theirs) = (trace(&[]), trace(&["a", "b"]));
        let fault = EventKind::Fault { call: None, fault: Fault::LoseReply, by: None };
        for kind in [fault, theirs.events()[0].kind.clone()] {
            mine.push(Event { at: Time::ZERO, actor: 0, kind });
        }
        let parting = mine.parting(&theirs).unwrap();
        assert_eq!(parting, (2, 1), "the fault is left out, and then one run is over");
        assert_eq!(
            pairs(&mine, &theirs, parting),
            [(Some(0), None), (Some(1), Some(0)), (None, Some(1))]
        );
    }
}
