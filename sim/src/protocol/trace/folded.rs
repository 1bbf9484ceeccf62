//! The trace for a reviewer: what happened in as few lines as say it all.
//!
//! ```text
//!     0.001s     1-2  client  call   #0 fetch web PUT /acme/cat.jpg "one"
//!     0.002s    3..7  web     call   #1 r2.put images/acme/cat.jpg "one" = stored etag=f97c5d29…
//!     0.003s     5-6  r2      call   #2 r2.notify uploads PutObject acme/cat.jpg = sent 5e0638
//!     0.003s     8-9  web     end    #0 201
//! ```
//!
//! Nothing that went wrong is folded. Of a call that no fault touched, `call`, `effect` and `return` are one line,
//! where the effect is; `call` and `begin` are one line, where the handler begins; `end` and `return` are one line,
//! where the handler ends; and a handler that did nothing in between is one line. Rows of a database follow the call
//! that changed them. A cycle of lines that repeats is shown once, with how often it came.
//!
//! A line has the numbers of its events: `3-5` are all from 3 to 5, `3..7` are some of them, and other lines have
//! the rest. A line with `>` before its time is one where a promise is broken.

use std::time::Duration;

use super::abbreviation::columns;
use super::text::{Text, VERB, WIDTH};
use super::{EventKind, Trace};
use crate::protocol::op::Op;
use crate::values::time::Time;

/// A call that took longer between two of its events is not folded: the reader may want to know when it was.
const QUICK: Duration = Duration::from_millis(20);
/// A cycle has at most so many lines, and is folded from so many repetitions on.
const CYCLE_MAX: usize = 24;
const REPEATS_MIN: usize = 3;

impl Trace {
    /// The text form with the events of undisturbed calls joined; the events at `marked` are never hidden.
    pub fn folded(&self, marked: &[usize]) -> String {
        let text = Text::new(self);
        let lines = fold(self, &text, marked);
        let time = lines.iter().map(|line| columns(&line.at.to_string())).max().unwrap_or(0);
        let number = lines.iter().map(|line| columns(&line.numbers())).max().unwrap_or(0);
        let before = 1 + time + 1 + number + 2;
        let indent = before + text.names.width + 2;
        let mut shown = String::new();
        let mut put = |line: String| {
            shown += super::abbreviation::end(&line, WIDTH).trim_end();
            shown.push('\n');
        };
        for part in repeats(&lines) {
            match part {
                Part::Line(line) => {
                    let mark = if line.marked { '>' } else { ' ' };
                    let (at, numbers, actor) = (line.at, line.numbers(), text.names.of(line.actor));
                    let width = text.names.width;
                    put(format!(
                        "{mark}{at:>time$} {numbers:>number$}  {actor:<width$}  {}",
                        line.text
                    ));
                    for row in &line.rows {
                        put(format!("{:1$}{row}", "", indent + VERB));
                    }
                }
                Part::Again { lines, times, until } => {
                    let lines = match lines {
                        1 => "this line".into(),
                        many => format!("these {many} lines"),
                    };
                    let times =
                        if times == 1 { "once more".into() } else { format!("{times} more times") };
                    put(format!("{:before$}… {lines} {times}, until {until}", ""));
                }
            }
        }
        shown
    }
}

/// One line, with those that belong to it.
struct Line {
    at: Time,
    /// Indices of the events it stands for, in order.
    events: Vec<usize>,
    actor: u16,
    text: String,
    rows: Vec<String>,
    marked: bool,
}

impl Line {
    fn numbers(&self) -> String {
        let (first, last) = (self.events[0] + 1, self.events[self.events.len() - 1] + 1);
        match last - first + 1 {
            1 => first.to_string(),
            count if count == self.events.len() => format!("{first}-{last}"),
            _ => format!("{first}..{last}"),
        }
    }

    /// What makes two lines the same to a reader: not their times, nor the numbers of calls.
    fn pattern(&self) -> (u16, Vec<&str>, &[String], bool) {
        let numbered = |word: &&str| {
            word.strip_prefix('#').is_some_and(|rest| rest.bytes().all(|c| c.is_ascii_digit()))
        };
        let words = self.text.split(' ').filter(|word| !numbered(word)).collect();
        (self.actor, words, &self.rows, self.marked)
    }
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

/// A group of events that is one line: where it is shown, whose line it is, and its text.
struct Joined {
    events: Vec<usize>,
    anchor: usize,
    actor: u16,
    text: String,
}

fn fold(trace: &Trace, text: &Text<'_>, marked: &[usize]) -> Vec<Line> {
    let events = trace.events();
    let mut joined: Vec<Option<Joined>> = Vec::new();
    joined.resize_with(events.len(), || None);
    let mut hidden = vec![false; events.len()];
    let lives = lives(trace);
    for (number, call) in calls(trace).iter().enumerate() {
        for group in joins(trace, text, &lives, number as u32, call) {
            if group.events.iter().any(|at| marked.contains(at) && *at != group.anchor) {
                continue;
            }
            group.events.iter().filter(|at| **at != group.anchor).for_each(|at| hidden[*at] = true);
            let anchor = group.anchor;
            joined[anchor] = Some(group);
        }
    }
    let mut lines: Vec<Line> = Vec::new();
    // Rows of a database and the first life of an instance wait for the event they belong to.
    let mut waiting: Vec<usize> = Vec::new();
    for (at, event) in events.iter().enumerate() {
        if hidden[at] {
            continue;
        }
        if !marked.contains(&at) && leads(trace, at) {
            waiting.push(at);
            continue;
        }
        let before = std::mem::take(&mut waiting);
        let mut rows: Vec<String> = before.iter().flat_map(|at| text.rows(&events[*at])).collect();
        let (mut numbers, actor, what) = match joined[at].take() {
            Some(group) => (group.events, group.actor, group.text),
            None => {
                let mut own = text.rows(event);
                if own.is_empty() {
                    (vec![at], event.actor, text.describe(event))
                } else {
                    let first = own.remove(0);
                    rows.extend(own);
                    (vec![at], event.actor, format!("rows   {first}"))
                }
            }
        };
        numbers.extend(before);
        numbers.sort_unstable();
        let (mut what, marked) = (what, numbers.iter().any(|at| marked.contains(at)));
        if marked && numbers.len() == 1 {
            let mut whole = text.broken(event);
            what = whole.remove(0);
            rows = whole;
        }
        lines.push(Line { at: event.at, events: numbers, actor, text: what, rows, marked });
    }
    lines
}

/// Whether the event at `at` is told with the one after it: rows of a database with the statement that changed them,
/// and the first life of an instance with its beginning.
fn leads(trace: &Trace, at: usize) -> bool {
    let (event, Some(next)) = (&trace.events()[at], trace.events().get(at + 1)) else {
        return false;
    };
    let EventKind::Effect { call, .. } = next.kind else { return false };
    match (&event.kind, trace.op(call)) {
        (EventKind::Rows { .. }, Op::D1(_)) => event.actor == next.actor,
        (EventKind::Boot { life: 1 }, Op::Workflow(op)) => {
            let engine = op.engine().map(|engine| engine.to_string());
            engine.is_some_and(|engine| engine.starts_with(trace.actor(event)))
        }
        _ => false,
    }
}

/// The events of each actor, as indices.
fn lives(trace: &Trace) -> Vec<Vec<usize>> {
    let mut lives = vec![Vec::new(); trace.actors().len()];
    for (at, event) in trace.events().iter().enumerate() {
        lives[usize::from(event.actor)].push(at);
    }
    lives
}

fn joins(
    trace: &Trace,
    text: &Text<'_>,
    lives: &[Vec<usize>],
    number: u32,
    call: &Call,
) -> Vec<Joined> {
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
    let answers =
        !matches!(trace.op(number), Op::Notify { .. } | Op::Deliver { .. } | Op::Alarm { .. });
    let whole = |at: usize, all: Vec<usize>, told: usize| Joined {
        events: all,
        anchor: at,
        actor: caller,
        text: text.call("call", number, Some(outcome(told))),
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
            let idle = |end: usize| {
                let life = &lives[usize::from(handler)];
                let next = life.partition_point(|at| at <= begin);
                life.get(next).is_none_or(|at| *at >= end)
            };
            match end {
                Some((end, last)) if quick(*begin, end) && idle(end) => {
                    let all = [&[asked, *begin], &last[..]].concat();
                    vec![whole(*begin, all, end)]
                }
                end => {
                    let text_of = text.call("call", number, None);
                    let first = Joined {
                        events: vec![asked, *begin],
                        anchor: *begin,
                        actor: caller,
                        text: text_of,
                    };
                    let last = end.map(|(end, last)| Joined {
                        events: last,
                        anchor: end,
                        actor: handler,
                        text: text.describe(&events[end]),
                    });
                    std::iter::once(first).chain(last).collect()
                }
            }
        }
        _ => Vec::new(),
    }
}

enum Part<'a> {
    Line(&'a Line),
    /// So many lines before this come again, so many times, the last at this time.
    Again {
        lines: usize,
        times: usize,
        until: Time,
    },
}

/// The lines, with every cycle that repeats shown once.
fn repeats(lines: &[Line]) -> Vec<Part<'_>> {
    let patterns: Vec<_> = lines.iter().map(Line::pattern).collect();
    let mut parts = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let best = (1..=CYCLE_MAX)
            .map(|length| {
                let cycle = |nth: usize| patterns.get(at + nth * length..at + (nth + 1) * length);
                let first = cycle(0);
                let times =
                    (1..).take_while(|nth| first.is_some() && cycle(*nth) == first).count() + 1;
                (length, times)
            })
            .filter(|(length, times)| *times >= REPEATS_MIN && length * (times - 1) >= REPEATS_MIN)
            .max_by_key(|(length, times)| (length * times, usize::MAX - length));
        let Some((length, times)) = best else {
            parts.push(Part::Line(&lines[at]));
            at += 1;
            continue;
        };
        parts.extend(lines[at..at + length].iter().map(Part::Line));
        let until = lines[at + length * times - 1].at;
        parts.push(Part::Again { lines: length, times: times - 1, until });
        at += length * times;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::super::Event;
    use super::*;
    use crate::protocol::fault::Fault;
    use crate::protocol::http::Request;
    use crate::protocol::outcome::Error;
    use crate::protocol::outcome::Reply;

    /// A client's call to a worker, with the events between `begin` and `end` that are given.
    fn trace(between: &[(u16, EventKind)], heard: bool) -> Trace {
        let mut trace = Trace::new(["client", "web"].map(Into::into).into());
        trace.set_op(0, Op::Fetch { to: "web".into(), request: Request::new("GET", "/", "") });
        let (done, lost) = (trace.keep(Ok(Reply::Done)), trace.keep(Err(Error::NetworkLost)));
        let outcome = if heard { done } else { lost };
        let first = [(0, EventKind::Call { call: 0 }), (1, EventKind::Begin { call: 0 })];
        let last = [
            (1, EventKind::End { call: 0, outcome: done }),
            (0, EventKind::Return { call: 0, outcome }),
        ];
        for (actor, kind) in first.iter().chain(between).chain(&last).cloned() {
            trace.push(Event { at: Time::ZERO, actor, kind });
        }
        trace
    }

    fn log(text: &str) -> (u16, EventKind) {
        (1, EventKind::Log { text: text.into() })
    }

    #[test]
    fn a_call_without_faults_is_one_line_and_with_work_in_between_it_is_two() {
        let whole = trace(&[], true).folded(&[]);
        assert_eq!(whole, " 0.000s 1-4  client  call   #0 fetch web GET / = done\n");
        let lines = trace(&[log("hello")], true).folded(&[]);
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(
            lines,
            [
                " 0.000s 1-2  client  call   #0 fetch web GET /",
                " 0.000s   3  web     log    hello",
                " 0.000s 4-5  web     end    #0 done",
            ]
        );
    }

    #[test]
    fn nothing_that_went_wrong_is_folded() {
        let lost = trace(&[], false).folded(&[]);
        assert!(lost.contains("end    #0 done") && lost.contains("return #0 error"), "{lost}");
        let fault = EventKind::Fault { call: Some(0), fault: Fault::LoseReply, by: None };
        assert_eq!(trace(&[(1, fault)], true).folded(&[]).lines().count(), 5);
    }

    #[test]
    fn an_event_that_breaks_a_promise_is_marked_and_shown() {
        let shown = trace(&[], true).folded(&[3]);
        assert!(
            shown.lines().any(|line| line.starts_with("> 0.000s") || line.starts_with(">0.000s")),
            "{shown}"
        );
        assert!(shown.contains("return #0 done"), "{shown}");
    }

    #[test]
    fn a_cycle_is_shown_once_with_how_often_it_came() {
        let cycle = [log("one"), log("two")];
        let text = trace(&vec![cycle; 5].concat(), true).folded(&[]);
        assert_eq!(text.matches("log    one").count(), 1, "{text}");
        assert!(text.contains("… these 2 lines 4 more times, until 0.000s"), "{text}");
    }
}
