//! What a run leaves behind and tells: all that a promise can judge, without the times and without the order between
//! things that have nothing to do with each other.

use std::sync::Arc;

use crate::engine::run::Run;
use crate::protocol::op::Op;
use crate::protocol::trace::{Event, EventKind, Trace};
use crate::search::reduce::equivalents::only_reads;
use crate::values::hash::StableHasher;
use crate::values::sorted_map::SortedMap;

/// How many digits a number has at least that is taken for a time: milliseconds since 1970 have thirteen.
const TIME_DIGITS: usize = 10;

/// A hash of what a run leaves and tells. Runs with equal hashes differ in times, in the order of independent effects,
/// and in what left no trace.
///
/// The first hash is that of no events, the next that after the first event, and the last is that of the whole run.
pub(super) fn outcomes(run: &Run, clients: &[Arc<str>]) -> Vec<u64> {
    let mut histories: SortedMap<String, u64> = SortedMap::new();
    let mut sum = 0u64;
    let mut outcomes = vec![sum];
    for event in run.trace.events() {
        if let Some((of, told)) = told(&run.trace, event, clients) {
            let before = histories.get(&of).copied().unwrap_or_default();
            let after = StableHasher::of(&(&of, before, timeless(&told)));
            // A sum, because the order between two histories does not matter.
            sum = sum.wrapping_sub(before).wrapping_add(after);
            histories.insert(of, after);
        }
        outcomes.push(sum);
    }
    if let Some(last) = outcomes.last_mut() {
        *last = StableHasher::of(&(*last, run.end as u8));
    }
    outcomes
}

/// Whose history an event belongs to and what it adds; none if it is no effect that outlasts the hosts.
fn told(trace: &Trace, event: &Event, clients: &[Arc<str>]) -> Option<(String, String)> {
    let actor = trace.actor(event);
    let is_client = |actor: &str| clients.iter().any(|client| **client == *actor);
    let its = |told: String| Some((actor.to_string(), told));
    match &event.kind {
        EventKind::Effect { call, outcome } => {
            let op = trace.op(*call);
            if only_reads(op) {
                return None;
            }
            let of = match op {
                Op::Workflow(op) => op.engine().map(|engine| engine.host_name()),
                _ => None,
            };
            let took = trace.outcome(*outcome).is_ok();
            Some((of.unwrap_or_else(|| actor.to_string()), format!("{op:?} {took}")))
        }
        // Requests that overlap are not those that follow each other.
        EventKind::Call { call } if is_client(actor) => its(format!("{:?}", trace.op(*call))),
        EventKind::Return { outcome, .. } if is_client(actor) => {
            its(format!("{:?}", trace.outcome(*outcome)))
        }
        EventKind::Settle { queue, message, fate, .. } => {
            Some((format!("queue {queue}"), format!("{message:?} {fate:?}")))
        }
        EventKind::Rows { changes } => its(format!("{changes:?}")),
        EventKind::Abort { .. }
        | EventKind::AlarmDropped
        | EventKind::Log { .. }
        | EventKind::Panic { .. }
        | EventKind::Stuck { .. }
        | EventKind::Livelock { .. } => its(format!("{:?}", event.kind)),
        EventKind::Boot { .. }
        | EventKind::Crash { .. }
        | EventKind::Call { .. }
        | EventKind::Fault { .. }
        | EventKind::Begin { .. }
        | EventKind::End { .. }
        | EventKind::Return { .. }
        | EventKind::Calm => None,
    }
}

/// A text with every number that can be a time, and every date, replaced by one word.
fn timeless(text: &str) -> String {
    let of_time = |c: char| c.is_ascii_digit() || matches!(c, '-' | ':' | '.' | 'T' | 'Z');
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| of_time(c) != of_time(first)).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        let digits = run.bytes().filter(u8::is_ascii_digit).count();
        told.push_str(if digits < TIME_DIGITS { run } else { "then" });
        rest = after;
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_dates_are_left_out_and_other_numbers_stay() {
        for (text, told) in [
            ("", ""),
            ("at 1767225601007, 3 of 44", "at then, 3 of 44"),
            (r#"{"at":"2026-01-01T00:00:01.007Z","n":-12.5}"#, r#"{"at":"then","n":-12.5}"#),
            ("875edc86ebb5c55f11c0", "875edc86ebb5c55f11c0"),
            ("Total: 7 é 1767225601007", "Total: 7 é then"),
        ] {
            assert_eq!(timeless(text), told);
        }
    }
}
