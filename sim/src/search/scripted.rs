//! The deviations of a run as faults that a script asks for by name.
//!
//! A verdict, a crash and an eviction have a fault that strikes at exactly the same place. What has none, such as an
//! order or a time on the way, may be replaced: by a call that is late. Whether the run with those faults still
//! breaks its promise is for the caller to see.

use std::time::Duration;

use crate::choices::Draw;
use crate::choices::tape::Deviation;
use crate::choices::words::{DELAYS, DOWNTIMES, LATENCIES, OUTAGES, fault_of, offers};
use crate::engine::run::Run;
use crate::engine::verdict::LAGS;
use crate::protocol::fault::{Fault, FaultSet};
use crate::protocol::site::ChoiceKind;
use crate::protocol::trace::EventKind;
use crate::scenario::scripted_fault::ScriptedFault;
use crate::scenario::{Kill, Scenario, Timing};

/// How late a call may be that stands for something without a fault of its own: as late as an ordinary message is at
/// most, or longer than anything else takes.
const LATE: [Duration; 3] = [LATENCIES[5], DELAYS[0], DELAYS[2]];
/// How many batches of a queue are tried to find the one that was out of order.
const BATCHES: u32 = 12;

/// One thing that goes wrong in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A fault strikes where this draw was made.
    Strike(Strike),
    /// A host dies at a time.
    Kill(Kill),
    /// A fault that no draw says the place of.
    Rule(ScriptedFault),
}

/// A fault and the place at which it strikes: the index of a draw of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strike {
    at: usize,
    fault: Fault,
    by: Option<Duration>,
    code: Option<u32>,
}

/// What can stand for one deviation of a run.
#[derive(Clone, Debug)]
pub struct Place {
    /// The deviation.
    pub deviation: Deviation,
    /// What may stand for it, the likeliest first. A single one is what happened; several are guesses.
    pub options: Vec<Piece>,
}

/// The deviations of a run, in order. One that belongs to the one before, such as how long a delay is, is part of it.
pub fn places(scenario: &Scenario, run: &Run) -> Vec<Place> {
    let (drawn, actors) = (scenario.drawn_faults, run.trace.actors());
    let mut places: Vec<Place> = Vec::new();
    for (at, draw) in run.draws.iter().enumerate() {
        if draw.value == 0 || draw.kind == ChoiceKind::Amount && amount_of(run, at).is_some() {
            continue;
        }
        let deviation = draw.deviation(actors, draw.value);
        let options = match draw.kind {
            ChoiceKind::Verdict => verdict(run, at, drawn).into_iter().collect(),
            ChoiceKind::Crash => {
                vec![strike(at, Fault::Crash, None, (draw.value == 2).then_some(1))]
            }
            ChoiceKind::Evict => vec![strike(at, Fault::Evict, None, None)],
            ChoiceKind::Restart => {
                // The host has just died: a crash at that time stands for that too.
                if let Some(died) = places.iter().rposition(is_fatal) {
                    places.remove(died);
                }
                kills(run, draw)
            }
            ChoiceKind::Pick => (0..BATCHES).map(reorder).collect(),
            ChoiceKind::Latency => travels(run, at),
            _ => late(run, at),
        };
        places.push(Place { deviation, options });
    }
    places
}

/// The scenario in which these pieces go wrong, and nothing else.
pub fn scripted(scenario: &Scenario, run: &Run, pieces: &[&Piece]) -> Scenario {
    let mut strikes: Vec<&Strike> = Vec::new();
    let (mut rules, mut kills) = (Vec::new(), scenario.kills.clone());
    for piece in pieces {
        match piece {
            Piece::Strike(strike) => strikes.push(strike),
            Piece::Kill(kill) => kills.push(kill.clone()),
            Piece::Rule(rule) => rules.push(rule.clone()),
        }
    }
    strikes.sort_by_key(|strike| strike.at);
    let struck = (0..strikes.len()).map(|at| rule(&strikes, at, scenario.drawn_faults, run));
    let mut faults = scenario.faults.clone();
    for rule in struck.chain(rules) {
        // Two rules that are alike strike one after the other, and so does one that strikes twice. A rule for a host
        // counts from the one before it.
        match faults.last_mut() {
            Some(last)
                if !rule.fault.on_host() && ScriptedFault { times: 1, ..last.clone() } == rule =>
            {
                last.times += 1
            }
            _ => faults.push(rule),
        }
    }
    let (drawn_faults, timing) = (FaultSet::NONE, Timing::Latency);
    let max_crashes = Scenario::default().max_crashes;
    Scenario { faults, kills, drawn_faults, timing, max_crashes, ..scenario.clone() }
}

/// The rule for a strike among all of them. A call is struck by one rule, and rules that come later in the script do
/// not see it.
fn rule(strikes: &[&Strike], nth: usize, drawn: FaultSet, run: &Run) -> ScriptedFault {
    let &Strike { at, fault, by, code } = strikes[nth];
    let draw = &run.draws[at];
    let alike =
        |other: &Draw| (other.kind, other.host, other.op) == (draw.kind, draw.host, draw.op);
    let struck = |at: usize| strikes[..nth].iter().any(|strike| strike.at == at);
    let earlier = run.draws[..at].iter().enumerate().filter(|(_, other)| alike(other));
    let host = &run.trace.actors()[usize::from(draw.host)];
    let (on, skip) = if fault.on_host() {
        // A rule for a host waits until the one before it has struck.
        let last = strikes[..nth].iter().rev().find(|strike| alike(&run.draws[strike.at]));
        let since = last.map_or(0, |strike| strike.at + 1);
        let seen = |(at, other): &(usize, &Draw)| *at >= since && (code.is_none() || other.of == 3);
        (host.to_string(), earlier.filter(seen).count())
    } else {
        let seen = |(at, other): &(usize, &Draw)| !struck(*at) && offers(other, drawn, fault);
        (format!("{host}>{}", draw.op.name()), earlier.filter(seen).count())
    };
    ScriptedFault { skip: skip as u32, by, code, ..ScriptedFault::once(fault, &on) }
}

fn strike(at: usize, fault: Fault, by: Option<Duration>, code: Option<u32>) -> Piece {
    Piece::Strike(Strike { at, fault, by, code })
}

fn reorder(skip: u32) -> Piece {
    Piece::Rule(ScriptedFault { skip, ..ScriptedFault::once(Fault::Reorder, "queue.deliver") })
}

/// The fault of a verdict, as strong as it was drawn.
fn verdict(run: &Run, at: usize, drawn: FaultSet) -> Option<Piece> {
    let draw = &run.draws[at];
    let fault = fault_of(&draw.deviation(run.trace.actors(), draw.value), drawn)?;
    let strength = run.draws.get(at + 1).filter(|_| amount_of(run, at + 1) == Some(at));
    let value = strength.map_or(0, |draw| draw.value as usize);
    let by = match fault {
        Fault::Delay | Fault::LateReply => DELAYS.get(value).copied(),
        Fault::Outage => OUTAGES.get(value).copied(),
        _ => None,
    };
    let code = match fault {
        Fault::Fail if value > 0 => refusal(run, at, value, drawn),
        Fault::FewLabels | Fault::FalseExists if value > 0 => u32::try_from(value).ok(),
        // A replica that has heard of nothing lags behind by more writes than there are.
        Fault::StaleRead => LAGS.get(value).map(|lag| u32::try_from(*lag).unwrap_or(u32::MAX)),
        _ => None,
    };
    Some(strike(at, fault, by, code))
}

/// The number that a script has for the error with which a call was refused. A tape numbers errors in another way.
fn refusal(run: &Run, at: usize, value: usize, drawn: FaultSet) -> Option<u32> {
    let (draw, actors) = (&run.draws[at], run.trace.actors());
    let fails = |other: &&Draw| {
        (other.kind, other.host, other.op) == (draw.kind, draw.host, draw.op)
            && other.value > 0
            && fault_of(&other.deviation(actors, other.value), drawn) == Some(Fault::Fail)
    };
    let earlier = run.draws[..at].iter().filter(fails).count();
    let refused = run.trace.events().iter().filter_map(|event| match event.kind {
        EventKind::Fault { call: Some(call), fault: Fault::Fail, .. }
            if event.actor == draw.host =>
        {
            Some(run.trace.op(call))
        }
        _ => None,
    });
    let op = refused.filter(|op| op.code() == draw.op).nth(earlier)?;
    let error = op.refusals().into_iter().nth(value)?;
    draw.op.failures().iter().copied().find(|code| op.refusal(*code).as_ref() == Some(&error))
}

/// The verdict that an amount belongs to: it is drawn right after it.
fn amount_of(run: &Run, at: usize) -> Option<usize> {
    let (amount, before) = (run.draws.get(at)?, at.checked_sub(1)?);
    let verdict = &run.draws[before];
    let same = (verdict.host, verdict.op) == (amount.host, amount.op);
    let kinds = (verdict.kind, amount.kind) == (ChoiceKind::Verdict, ChoiceKind::Amount);
    (same && kinds && verdict.value > 0).then_some(before)
}

fn is_fatal(place: &Place) -> bool {
    matches!(&place.options[..], [Piece::Strike(strike)] if strike.fault.is_crash())
}

/// The crash after which a host was down for as long as it was, as one at a time. What a call did in that instant may
/// be needed, so the next instant is tried too.
fn kills(run: &Run, restart: &Draw) -> Vec<Piece> {
    let of_host = |kind: &EventKind| matches!(kind, EventKind::Crash { .. });
    let mut crashes =
        run.trace.events().iter().filter(|one| one.actor == restart.host && of_host(&one.kind));
    let down = DOWNTIMES.get(restart.value as usize).copied();
    let Some(crash) = crashes.nth(restart.nth as usize - 1) else { return Vec::new() };
    let host = &run.trace.actors()[usize::from(restart.host)];
    let at = [0, 1].map(|later| crash.at + Duration::from_millis(later));
    at.map(|at| Piece::Kill(Kill { at, host: host.clone(), down })).into()
}

/// What stands for a message that travelled longer: a delay of that call, if it was a request.
fn travels(run: &Run, at: usize) -> Vec<Piece> {
    let draw = &run.draws[at];
    let by = LATENCIES.get(draw.value as usize).copied();
    let before = at.checked_sub(1).map(|before| &run.draws[before]);
    let asked = before.filter(|before| {
        (before.kind, before.host, before.op, before.value)
            == (ChoiceKind::Verdict, draw.host, draw.op, 0)
    });
    match asked {
        Some(_) => vec![strike(at - 1, Fault::Delay, by, None)],
        None => {
            // It was an answer, to one of the calls of that kind.
            let same = |(_, other): &(usize, &Draw)| {
                (other.kind, other.host, other.op) == (ChoiceKind::Verdict, draw.host, draw.op)
            };
            let calls = run.draws[..at].iter().enumerate().rev().filter(same);
            let answers = calls.map(|(call, _)| strike(call, Fault::LateReply, by, None));
            answers.chain(late(run, at)).collect()
        }
    }
}

/// What may stand for anything else: one of the calls around it is late, or its answer is.
fn late(run: &Run, at: usize) -> Vec<Piece> {
    let free = |call: &usize| {
        let draw = &run.draws[*call];
        draw.kind == ChoiceKind::Verdict && draw.value == 0
    };
    let mut calls: Vec<usize> = (0..run.draws.len()).filter(free).collect();
    calls.sort_by_key(|call| call.abs_diff(at));
    let each = |by: Duration| {
        let both = [Fault::Delay, Fault::LateReply];
        let strikes = move |call| both.map(|fault| strike(call, fault, Some(by), None));
        calls.iter().copied().flat_map(strikes)
    };
    LATE.into_iter().flat_map(each).collect()
}
