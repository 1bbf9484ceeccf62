//! Which events a reviewer reads as one line: those of a call that nothing disturbed, and those of a step in which
//! nothing else happened.

use std::time::Duration;

use super::subjects::Subjects;
use super::{EventKind, OutcomeId, Trace};
use crate::protocol::op::Op;
use crate::protocol::outcome::Reply;
use crate::services::workflow::{self, AttemptResult, Progress};

/// A call that took longer between two of its events is not folded: the reader may want to know when it was.
const QUICK: Duration = Duration::from_millis(20);

/// What a line tells.
#[derive(Clone, Copy)]
pub(super) enum What {
    /// A call, after this word, with its answer when it is known.
    Call(&'static str, u32, Option<OutcomeId>),
    /// The event at this index.
    Event(usize),
}

impl What {
    /// What was asked in the call that it begins to tell of.
    pub(super) fn call(self, trace: &Trace) -> Option<&Op> {
        match self {
            What::Call(_, call, _) => Some(trace.op(call)),
            What::Event(at) => match trace.events()[at].kind {
                EventKind::Call { call } => Some(trace.op(call)),
                _ => None,
            },
        }
    }

    /// Whether it tells of something that went wrong, so that its words are needed.
    pub(super) fn went_wrong(self, trace: &Trace) -> bool {
        let told = match self {
            What::Call(_, call, outcome) => outcome.map(|outcome| (call, outcome)),
            What::Event(at) => match trace.events()[at].kind {
                EventKind::Effect { call, outcome }
                | EventKind::End { call, outcome }
                | EventKind::Return { call, outcome } => Some((call, outcome)),
                EventKind::Log { .. }
                | EventKind::Panic { .. }
                | EventKind::Crash { .. }
                | EventKind::Fault { .. }
                | EventKind::Stuck { .. }
                | EventKind::Abort { .. } => return true,
                _ => None,
            },
        };
        let Some((call, outcome)) = told else { return false };
        let threw = |op: &workflow::Op| match op {
            workflow::Op::FinishStep { result, .. } => !matches!(result, AttemptResult::Ok(_)),
            workflow::Op::Finish { result, .. } => result.is_err(),
            _ => false,
        };
        match (trace.op(call), trace.outcome(outcome)) {
            (_, Err(_)) => true,
            (Op::Workflow(op), _) => threw(op),
            _ => false,
        }
    }
}

/// A group of events that is one line: where it is shown, whose line it is, and what it tells.
pub(super) struct Joined {
    pub(super) events: Vec<usize>,
    pub(super) anchor: usize,
    pub(super) actor: u16,
    pub(super) what: What,
}

/// Every group of events that can be one line.
pub(super) fn joins(trace: &Trace, subjects: &Subjects<'_>) -> Vec<Joined> {
    let (calls, lives) = (calls(trace), subjects.lives());
    let numbered = calls.iter().enumerate();
    let joined = numbered.flat_map(|(number, call)| of_call(trace, &lives, number as u32, call));
    joined.chain(steps(trace, subjects, &lives, &calls)).collect()
}

/// The events of one call, as indices.
#[derive(Clone, Default)]
struct Call {
    calls: Vec<usize>,
    begins: Vec<usize>,
    effects: Vec<usize>,
    ends: Vec<usize>,
    returns: Vec<usize>,
    disturbed: bool,
}

fn calls(trace: &Trace) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    let mut of = |call: u32, put: &dyn Fn(&mut Call)| {
        let at = call as usize;
        if at >= calls.len() {
            calls.resize(at + 1, Call::default());
        }
        put(&mut calls[at]);
    };
    for (at, event) in trace.events().iter().enumerate() {
        match event.kind {
            EventKind::Call { call } => of(call, &|known| known.calls.push(at)),
            EventKind::Begin { call } => of(call, &|known| known.begins.push(at)),
            EventKind::Effect { call, .. } => of(call, &|known| known.effects.push(at)),
            EventKind::End { call, .. } => of(call, &|known| known.ends.push(at)),
            EventKind::Return { call, .. } => of(call, &|known| known.returns.push(at)),
            EventKind::Fault { call: Some(call), .. }
            | EventKind::Crash { call: Some(call), .. } => {
                of(call, &|known| known.disturbed = true);
            }
            _ => {}
        }
    }
    calls
}

/// The events of one call that are told together.
fn of_call(trace: &Trace, lives: &[Vec<usize>], number: u32, call: &Call) -> Vec<Joined> {
    let events = trace.events();
    let quick = |from: usize, to: usize| events[to].at - events[from].at <= QUICK;
    let ([asked], false) = (&call.calls[..], call.disturbed) else { return Vec::new() };
    let (asked, caller) = (*asked, events[*asked].actor);
    let outcome = |at: usize| match events[at].kind {
        EventKind::Effect { outcome, .. }
        | EventKind::End { outcome, .. }
        | EventKind::Return { outcome, .. } => outcome,
        _ => unreachable!("only events with an answer are asked for it"),
    };
    let heard = |told: usize, heard: usize| {
        trace.outcome(outcome(told)) == trace.outcome(outcome(heard)) && quick(told, heard)
    };
    let answers = !matches!(
        trace.op(number),
        Op::Notify { .. }
            | Op::Deliver { .. }
            | Op::Alarm { .. }
            | Op::Push { .. }
            | Op::Frame { .. }
    );
    let whole = |at: usize, all: Vec<usize>, told: usize| Joined {
        events: all,
        anchor: at,
        actor: caller,
        what: What::Call("call", number, Some(outcome(told))),
    };
    match (&call.begins[..], &call.effects[..], &call.ends[..], &call.returns[..]) {
        ([], [effect], [], []) if !answers && quick(asked, *effect) => {
            vec![whole(*effect, vec![asked, *effect], *effect)]
        }
        ([], [effect], [], [back]) if quick(asked, *effect) && heard(*effect, *back) => {
            vec![whole(*effect, vec![asked, *effect, *back], *effect)]
        }
        ([begin], [], ends, returns) if quick(asked, *begin) => {
            let end = match (ends, returns) {
                ([end], [back]) if heard(*end, *back) => Some((*end, vec![*end, *back])),
                ([end], []) if !answers => Some((*end, vec![*end])),
                _ => None,
            };
            let handler = events[*begin].actor;
            let idle = |end: usize| next(lives, handler, *begin).is_none_or(|at| at >= end);
            match end {
                Some((end, last)) if quick(*begin, end) && idle(end) => {
                    let all = [&[asked, *begin], &last[..]].concat();
                    vec![whole(*begin, all, end)]
                }
                end => {
                    let first = Joined {
                        events: vec![asked, *begin],
                        anchor: *begin,
                        actor: caller,
                        what: What::Call("call", number, None),
                    };
                    let last = end.map(|(end, last)| Joined {
                        events: last,
                        anchor: end,
                        actor: handler,
                        what: What::Event(end),
                    });
                    std::iter::once(first).chain(last).collect()
                }
            }
        }
        _ => Vec::new(),
    }
}

/// The first event of an actor after the one at `at`.
fn next(lives: &[Vec<usize>], actor: u16, at: usize) -> Option<usize> {
    let life = &lives[usize::from(actor)];
    life.get(life.partition_point(|known| *known <= at)).copied()
}

/// Attempts of steps in which their instance did nothing else: the beginning is told with the end.
fn steps(
    trace: &Trace,
    subjects: &Subjects<'_>,
    lives: &[Vec<usize>],
    calls: &[Call],
) -> Vec<Joined> {
    let events = trace.events();
    let journal = |at: usize| match events[at].kind {
        EventKind::Effect { call, outcome } if !calls[call as usize].disturbed => {
            match trace.op(call) {
                Op::Workflow(op) => Some((op, call, outcome)),
                _ => None,
            }
        }
        _ => None,
    };
    let end_of = |begin: usize| {
        let (workflow::Op::BeginStep { step, .. }, _, outcome) = journal(begin)? else {
            return None;
        };
        let Ok(Reply::Workflow(workflow::Reply::Step(Progress::Run { attempt, .. }))) =
            trace.outcome(outcome)
        else {
            return None;
        };
        let actor = subjects.of(&events[begin]);
        let end = next(lives, actor, begin)?;
        let (workflow::Op::FinishStep { step: ended, attempt: which, .. }, call, outcome) =
            journal(end)?
        else {
            return None;
        };
        ((ended, which) == (step, attempt)).then_some(Joined {
            events: vec![begin, end],
            anchor: end,
            actor,
            what: What::Call("step", call, Some(outcome)),
        })
    };
    (0..events.len()).filter_map(end_of).collect()
}
