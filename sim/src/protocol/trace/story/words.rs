//! What a fault did in this run, as a sentence: the sentence of its kind, and what is known to have come of it.

use super::super::text::Text;
use super::super::{EventKind, Trace};
use crate::protocol::fault::Fault;
use crate::protocol::op::Op;
use crate::values::call::CallClass;

/// The sentence of the fault that is the event at `at`, if it is one. `told` are the events that the story tells of.
pub(super) fn sentence(text: &Text<'_>, at: usize, told: &[bool]) -> Option<String> {
    let trace = text.trace;
    let event = &trace.events()[at];
    let (fault, call, by) = match event.kind {
        EventKind::Fault { call, fault, by } => (fault, call, by),
        EventKind::Crash { call, fault } => (fault, call, None),
        _ => return None,
    };
    let actor = trace.actor(event).to_string();
    let struck = call.map(|call| format!("{} (#{call})", noun(trace.op(call))));
    let by = |before: &str| by.map_or(String::new(), |ms| format!("{before}{}", seconds(ms)));
    let gaps = [
        ("{calls}", struck.unwrap_or_else(|| "a message".into())),
        ("{on}", actor.clone()),
        ("{who}", actor),
        ("{is}", "is".into()),
        ("{s}", "s".into()),
        ("{y}", "y".into()),
        ("{by}", by(" by ")),
        ("{for}", by(" for ")),
        ("{down}", String::new()),
        ("{code}", String::new()),
    ];
    let kind = fault.kind().told.to_string();
    let said = gaps.iter().fold(kind, |said, (gap, words)| said.replace(gap, words));
    let came_of_it = match call {
        _ if fault.is_crash() => back(trace, at),
        Some(call) => Arrivals::of(trace, call).told(trace, fault, told),
        None => String::new(),
    };
    Some(text.plain(&format!("{said}{came_of_it}")))
}

/// What a call is, as the subject of a sentence.
fn noun(op: &Op) -> String {
    match op {
        Op::Notify { event, .. } => format!("the notification of {}", event.object.key),
        Op::Deliver { batch, .. } => {
            let ids: Vec<String> =
                batch.messages.iter().map(|message| message.id.short()).collect();
            format!("the delivery of {}", ids.join(" and "))
        }
        Op::Fetch { request, .. } => format!("the request {} {}", request.method, request.path),
        Op::Alarm { object, .. } => format!("the alarm of {object}"),
        Op::Rpc { object, method, .. } => format!("the call of {method} at {object}"),
        op => format!("{} {}", op.code().name(), op.target()),
    }
}

/// When the host that died at `at` comes back.
fn back(trace: &Trace, at: usize) -> String {
    let actor = trace.events()[at].actor;
    let mut later = trace.events()[at + 1..].iter().filter(|event| event.actor == actor);
    let boot = later.find(|event| matches!(event.kind, EventKind::Boot { .. }));
    boot.map_or(String::new(), |boot| format!("; it is back at {}", boot.at))
}

/// The events at which a call arrived, and at which its caller learnt how it ended.
struct Arrivals {
    call: u32,
    arrived: Vec<usize>,
    returned: Option<usize>,
}

impl Arrivals {
    fn of(trace: &Trace, call: u32) -> Arrivals {
        let mut arrivals = Arrivals { call, arrived: Vec::new(), returned: None };
        for (at, event) in trace.events().iter().enumerate() {
            match event.kind {
                EventKind::Begin { call: it } | EventKind::Effect { call: it, .. }
                    if it == call =>
                {
                    arrivals.arrived.push(at);
                }
                EventKind::Return { call: it, .. } if it == call => {
                    arrivals.returned.get_or_insert(at);
                }
                _ => {}
            }
        }
        arrivals
    }

    fn told(&self, trace: &Trace, fault: Fault, told: &[bool]) -> String {
        let at = |event: usize| trace.events()[event].at;
        match (fault, &self.arrived[..], self.returned) {
            (Fault::Duplicate, [first, second, ..], _) => {
                let later = at(*second).as_ms() - at(*first).as_ms();
                let after = self.between(trace, *first, *second, told);
                let later = match later {
                    0 => "at the same moment".into(),
                    later => format!("{} later", seconds(later)),
                };
                format!("; the second copy comes {later}{after}")
            }
            (_, [], Some(returned)) => self.heard(trace, returned),
            (_, [first, ..], Some(returned)) if returned < *first => {
                format!(
                    "{}; it arrives at {} all the same",
                    self.heard(trace, returned),
                    at(*first)
                )
            }
            (_, [_, ..], Some(returned))
                if trace.carried(&trace.events()[returned]).1.is_some_and(Result::is_err) =>
            {
                self.heard(trace, returned)
            }
            _ => String::new(),
        }
    }

    /// How its caller learns that the call has failed.
    fn heard(&self, trace: &Trace, returned: usize) -> String {
        let event = &trace.events()[returned];
        let Some(Err(error)) = trace.carried(event).1 else { return String::new() };
        format!("; at {} {} hears: {error}", event.at, trace.actor(event))
    }

    /// The last thing that was done between two copies.
    fn between(&self, trace: &Trace, first: usize, second: usize, told: &[bool]) -> String {
        let done = |at: &usize| match trace.events()[*at].kind {
            EventKind::Effect { call, .. } => {
                told[*at] && call != self.call && trace.op(call).class() != CallClass::Journal
            }
            _ => false,
        };
        let last = (first + 1..second).rev().find(done);
        last.map_or(String::new(), |at| match trace.events()[at].kind {
            EventKind::Effect { call, .. } => {
                format!(", after {} (#{call})", noun(trace.op(call)))
            }
            _ => String::new(),
        })
    }
}

fn seconds(ms: u64) -> String {
    match ms % 1_000 {
        0 => format!("{} s", ms / 1_000),
        part => format!("{}.{part:03} s", ms / 1_000),
    }
}
