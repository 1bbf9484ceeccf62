//! Deviations from one run that come to the same, as far as the run itself tells.

use std::time::Duration;

use crate::choices::Draw;
use crate::choices::words::fault_of;
use crate::engine::run::Run;
use crate::protocol::fault::{Fault, FaultSet};
use crate::protocol::op::Op;
use crate::protocol::site::ChoiceKind;
use crate::protocol::trace::EventKind;
use crate::services::{d1, r2, workflow};
use crate::values::call::CallClass;
use crate::values::sorted_map::SortedMap;
use crate::values::time::Time;

/// How far apart two deaths of a host can be and still be one. Between later ones, others may have done much.
const AT_ONCE: Duration = Duration::from_secs(1);

/// What two deviations have in common that come to the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sign {
    /// The host of that name dies after so many crossings.
    Dies(String, usize),
    /// The caller of this call, which only reads, hears nothing.
    Unheard(u32),
    /// Nothing is different.
    Nothing,
}

/// The deviations from one run, of which each is asked for in order.
pub(super) struct Equivalents<'a> {
    run: &'a Run,
    faults: FaultSet,
    crossings: Crossings<'a>,
    /// The draws after each poll of a host that can die.
    polls: SortedMap<u16, Vec<usize>>,
    seen: SortedMap<Sign, Time>,
}

impl<'a> Equivalents<'a> {
    pub fn of(run: &'a Run, faults: FaultSet) -> Equivalents<'a> {
        let mut polls: SortedMap<u16, Vec<usize>> = SortedMap::new();
        for (at, draw) in run.draws.iter().enumerate() {
            if draw.kind == ChoiceKind::Crash {
                polls.entry(draw.host).or_default().push(at);
            }
        }
        Equivalents { run, faults, crossings: Crossings::of(run), polls, seen: SortedMap::new() }
    }

    /// Whether this deviation differs from the run and from those that were asked for before.
    pub fn is_first(&mut self, at: usize, value: u32) -> bool {
        let draw = &self.run.draws[at];
        let sign = match draw.kind {
            ChoiceKind::Crash => Some(self.crash(at, value)),
            ChoiceKind::Verdict => {
                let line = draw.deviation(self.run.trace.actors(), value);
                fault_of(&line, self.faults).and_then(|fault| self.verdict(at, fault))
            }
            _ => None,
        };
        let Some(sign) = sign else { return true };
        if sign == Sign::Nothing {
            return false;
        }
        let events = self.run.trace.events();
        let before = (draw.after as usize).checked_sub(1).and_then(|last| events.get(last));
        let now = before.map_or(Time::ZERO, |event| event.at);
        match self.seen.get(&sign) {
            Some(first) if now <= *first + AT_ONCE => false,
            _ => {
                self.seen.insert(sign, now);
                true
            }
        }
    }

    /// The host dies after a poll.
    fn crash(&self, at: usize, value: u32) -> Sign {
        let draw = &self.run.draws[at];
        let (host, after) = (self.name(draw), draw.after as usize);
        // The writes of an object's turn, and what it sends, come after the draw.
        let kept = self.crossings.is_object(host) && value == 1;
        let crossed = match kept {
            true => self.after_turn(at),
            false => self.crossings.before(host, after),
        };
        Sign::Dies(host.to_string(), crossed)
    }

    /// How many crossings an object has behind it at the end of the turn that this draw decides.
    fn after_turn(&self, at: usize) -> usize {
        let draw = &self.run.draws[at];
        let (host, after) = (self.name(draw), draw.after as usize);
        let events = &self.run.trace.events()[after..self.next_poll(at)];
        let sent = events.iter().take_while(|event| {
            let leaves = matches!(
                event.kind,
                EventKind::Rows { .. } | EventKind::Call { .. } | EventKind::End { .. }
            );
            leaves && event.actor == draw.host
        });
        let end = after + sent.count();
        let wrote = usize::from(draw.of > 2 && end == after);
        self.crossings.before(host, end) + wrote
    }

    /// A fault strikes a call.
    fn verdict(&self, at: usize, fault: Fault) -> Option<Sign> {
        let (trace, draw) = (&self.run.trace, &self.run.draws[at]);
        let (host, after) = (self.name(draw), draw.after as usize);
        let dies = |crossed| Some(Sign::Dies(host.to_string(), crossed));
        let asked = after.checked_sub(1)?;
        let call = match trace.events()[asked].kind {
            EventKind::Call { call } if trace.op(call).code() == draw.op => call,
            // An engine writes its journal without a call that is told of: the entry comes next.
            _ => return self.journal(at, fault),
        };
        let op = trace.op(call);
        let answered = |like: fn(&EventKind) -> Option<u32>| {
            let later = trace.events()[after..].iter();
            later.map(|event| like(&event.kind)).position(|of| of == Some(call)).map(|n| after + n)
        };
        let asks_service = matches!(
            op.class(),
            CallClass::Service | CallClass::Ai | CallClass::Create | CallClass::Read
        );
        match fault {
            Fault::Duplicate if only_reads(op) => Some(Sign::Nothing),
            Fault::LoseRequest | Fault::LoseReply if only_reads(op) => Some(Sign::Unheard(call)),
            Fault::CrashBefore if asks_service => {
                // A worker finishes its poll first, and what else it asks for in that poll is on its way.
                let alone = self.crossings.is_object(host)
                    || self.crossings.before(host, self.next_poll(at))
                        == self.crossings.before(host, after);
                alone.then(|| self.crossings.before(host, asked)).and_then(dies)
            }
            Fault::CrashAfter if asks_service => {
                let effect = answered(|kind| match kind {
                    EventKind::Effect { call, .. } => Some(*call),
                    _ => None,
                })?;
                dies(self.crossings.before(host, effect))
            }
            // The host that was called dies before its answer leaves.
            Fault::CrashAfter => {
                let end = answered(|kind| match kind {
                    EventKind::End { call, .. } => Some(*call),
                    _ => None,
                })?;
                let callee = trace.actor(&trace.events()[end]);
                Some(Sign::Dies(callee.to_string(), self.crossings.before(callee, end)))
            }
            _ => None,
        }
    }

    /// An engine dies before or after it has written an entry of its journal.
    fn journal(&self, at: usize, fault: Fault) -> Option<Sign> {
        let draw = &self.run.draws[at];
        let host = self.name(draw);
        let before = self.crossings.before(host, draw.after as usize);
        let alone = self.crossings.before(host, self.next_poll(at)) <= before + 1;
        let crossed = match fault {
            Fault::CrashBefore if alone => before,
            Fault::CrashAfter if alone => before + 1,
            _ => return None,
        };
        Some(Sign::Dies(host.to_string(), crossed))
    }

    /// How many events there were when the poll ended in which this draw was made, or the one after it.
    fn next_poll(&self, at: usize) -> usize {
        let polls = self.polls.get(&self.run.draws[at].host);
        let next = polls.and_then(|polls| polls.get(polls.partition_point(|poll| *poll <= at)));
        let all = self.run.trace.events().len();
        next.map_or(all, |poll| self.run.draws[*poll].after as usize)
    }

    fn name(&self, draw: &Draw) -> &'a str {
        &self.run.trace.actors()[usize::from(draw.host)]
    }
}

/// Where something came to a host or left it, as twice the number of events before; odd for the event itself. Reads are
/// left out: if their caller dies, nobody knows of them.
struct Crossings<'a> {
    of: SortedMap<&'a str, Host>,
}

#[derive(Default)]
struct Host {
    is_object: bool,
    at: Vec<usize>,
}

impl<'a> Crossings<'a> {
    fn of(run: &'a Run) -> Crossings<'a> {
        let trace = &run.trace;
        let mut of: SortedMap<&str, Host> = SortedMap::new();
        for (at, event) in trace.events().iter().enumerate() {
            let crosses = match &event.kind {
                EventKind::Call { call } => !only_reads(trace.op(*call)),
                EventKind::Begin { call } => {
                    let to_object = matches!(
                        trace.op(*call),
                        Op::Rpc { .. }
                            | Op::Alarm { .. }
                            | Op::Connect { .. }
                            | Op::SocketMessage { .. }
                    );
                    of.entry(trace.actor(event)).or_default().is_object |= to_object;
                    true
                }
                EventKind::Effect { call, .. } => {
                    // An entry of its journal leaves an engine.
                    if let Op::Workflow(op) = trace.op(*call)
                        && let Some(engine) = op.engine()
                    {
                        let name = engine.host_name();
                        let host = trace.actors().iter().find(|actor| ***actor == *name);
                        if let Some(host) = host {
                            of.entry(host).or_default().at.push(2 * at + 1);
                        }
                    }
                    false
                }
                EventKind::Boot { .. }
                | EventKind::Crash { .. }
                | EventKind::End { .. }
                | EventKind::Rows { .. }
                | EventKind::Abort { .. }
                | EventKind::Log { .. } => true,
                _ => false,
            };
            if crosses {
                of.entry(trace.actor(event)).or_default().at.push(2 * at + 1);
            }
        }
        // A turn that wrote is a crossing even if no row tells of it: an object may have set its alarm.
        for draw in &run.draws {
            if draw.kind == ChoiceKind::Crash && draw.of > 2 {
                let host = &*trace.actors()[usize::from(draw.host)];
                of.entry(host).or_default().at.push(2 * draw.after as usize);
            }
        }
        of.values_mut().for_each(|host| host.at.sort_unstable());
        Crossings { of }
    }

    /// How many crossings a host had before the event of that index.
    fn before(&self, host: &str, event: usize) -> usize {
        self.of.get(host).map_or(0, |host| host.at.partition_point(|at| *at < 2 * event))
    }

    fn is_object(&self, host: &str) -> bool {
        self.of.get(host).is_some_and(|host| host.is_object)
    }
}

/// Whether an operation changes nothing, whoever hears of it. A read of KV is kept at its location, so it does.
pub(super) fn only_reads(op: &Op) -> bool {
    match op {
        Op::R2(op) => {
            matches!(op.method(), r2::Method::Head | r2::Method::Get | r2::Method::List)
        }
        Op::Workflow(op) => {
            matches!(op, workflow::Op::Get { .. } | workflow::Op::Status { .. })
        }
        Op::D1(op) => match &op.method {
            d1::Method::All(statement)
            | d1::Method::Run(statement)
            | d1::Method::First { statement, .. }
            | d1::Method::Raw { statement, .. } => {
                let sql = statement.sql.trim_start();
                sql.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("select"))
            }
            d1::Method::Batch(_) | d1::Method::Exec(_) | d1::Method::Dump => false,
        },
        _ => false,
    }
}
