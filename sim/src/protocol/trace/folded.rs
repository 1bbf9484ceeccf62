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
//! where the handler ends; and a handler that did nothing in between is one line (`joins.rs`). Rows of a database
//! follow the call that changed them. A cycle of lines that repeats is shown once, with how often it came
//! (`cycles.rs`). Where a promise is broken, where the outside asks for something and where something goes wrong, lines
//! are broken instead of being cut.
//!
//! A line has the numbers of its events: `3-5` are all from 3 to 5, `3..7` are some of them, and other lines have
//! the rest. A line with `>` before its time is one where a promise is broken.

use super::cycles::{Part, pattern, repeats};
use super::joins::{Joined, What, joins};
use super::text::{Length, ROW_MAX, Text, VERB, WIDTH};
use super::truncate::{columns, end, wrapped};
use super::{EventKind, Trace};
use crate::protocol::op::Op;
use crate::services::sqlite::TIED;
use crate::values::time::Time;

/// So many lines are shown of an event where a promise is broken, of a request from outside, and of what went wrong.
const BROKEN_MAX: usize = 6;
const REQUEST_MAX: usize = 3;
const WRONG_MAX: usize = 2;

impl Trace {
    /// The text form with the events of undisturbed calls joined; the events at `marked` are never hidden.
    pub fn folded(&self, marked: &[usize]) -> String {
        let text = Text::new(self, Length::Short);
        let lines = fold(self, &text, marked);
        shown(&text, &lines.iter().collect::<Vec<_>>())
    }
}

/// The lines with all their columns; a cycle of them is shown once.
pub(super) fn shown(text: &Text<'_>, lines: &[&Line]) -> String {
    let time = lines.iter().map(|line| columns(&line.at.to_string())).max().unwrap_or(0);
    let number = lines.iter().map(|line| columns(&line.numbers())).max().unwrap_or(0);
    let before = 1 + time + 1 + number + 2;
    let indent = before + text.names.width + 2;
    let mut shown = String::new();
    let mut put = |line: String| {
        shown += end(&line.replace(TIED, " "), WIDTH).trim_end();
        shown.push('\n');
    };
    for part in repeats(lines) {
        match part {
            Part::Line(line) => {
                let mark = if line.marked { '>' } else { ' ' };
                let (at, numbers, actor) = (line.at, line.numbers(), text.names.of(line.actor));
                let width = text.names.width;
                let before = format!("{mark}{at:>time$} {numbers:>number$}  {actor:<width$}");
                for (nth, text) in line.text.iter().enumerate() {
                    put(match nth {
                        0 => format!("{before}  {text}"),
                        _ => format!("{:1$}{text}", "", indent + VERB),
                    });
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

/// One line, with those that belong to it.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) at: Time,
    /// Indices of the events it stands for, in order.
    pub(super) events: Vec<usize>,
    pub(super) actor: u16,
    /// The line, and those below it.
    pub(super) text: Vec<String>,
    /// How many of them tell what was asked; the others are rows that changed.
    pub(super) head: usize,
    /// What the line shares with those that say the same at another time.
    pub(super) pattern: String,
    pub(super) marked: bool,
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
}

pub(super) fn fold(trace: &Trace, text: &Text<'_>, marked: &[usize]) -> Vec<Line> {
    let events = trace.events();
    let whole = Text::new(trace, Length::Whole);
    let mut joined: Vec<Option<Joined>> = Vec::new();
    joined.resize_with(events.len(), || None);
    let mut hidden = vec![false; events.len()];
    for group in joins(trace, &text.subjects) {
        if group.events.iter().any(|at| marked.contains(at) && *at != group.anchor) {
            continue;
        }
        group.events.iter().filter(|at| **at != group.anchor).for_each(|at| hidden[*at] = true);
        let anchor = group.anchor;
        joined[anchor] = Some(group);
    }
    let outside = outside(trace);
    let mut lines: Vec<Line> = Vec::new();
    // Rows of a database and the first life of an instance wait for the event they belong to.
    let mut waiting: Vec<usize> = Vec::new();
    for (at, event) in events.iter().enumerate() {
        if hidden[at] {
            continue;
        }
        if leads(trace, at) {
            waiting.push(at);
            continue;
        }
        let Joined { events: mut numbers, actor, what, .. } = joined[at].take().unwrap_or(Joined {
            events: vec![at],
            anchor: at,
            actor: text.subjects.of(event),
            what: What::Event(at),
        });
        let mut pattern = pattern(&whole.what(what, 1));
        let breaks = numbers.iter().chain(&waiting).any(|at| marked.contains(at));
        let own = numbers.iter().any(|at| marked.contains(at));
        let most = match what.call(trace) {
            _ if own => BROKEN_MAX,
            Some(Op::Fetch { .. }) if outside[usize::from(actor)] => REQUEST_MAX,
            _ if what.went_wrong(trace) => WRONG_MAX,
            _ => 1,
        };
        let mut shown = match event.kind {
            EventKind::Rows { .. } => Vec::new(),
            _ => text.broken(&text.what(what, most), most),
        };
        let head = shown.len();
        for at in waiting.iter().chain([&at]) {
            shown.extend(text.rows(&events[*at], if breaks { 2 * ROW_MAX } else { ROW_MAX }));
            pattern += &super::cycles::pattern(&whole.rows(&events[*at], 1).join(" "));
        }
        if let EventKind::Rows { .. } = event.kind {
            shown[0] = format!("rows   {}", shown[0]);
        }
        numbers.append(&mut waiting);
        numbers.sort_unstable();
        let (at, marked) = (event.at, breaks);
        lines.push(Line { at, events: numbers, actor, text: shown, head, pattern, marked });
    }
    lines
}

impl Text<'_> {
    fn what(&self, what: What, lines: usize) -> String {
        match what {
            What::Call(verb, call, outcome) => self.call(verb, call, outcome, lines),
            What::Event(at) => self.describe(at, lines),
        }
    }

    /// A text on lines, of which there are so many at most.
    pub(super) fn broken(&self, text: &str, most: usize) -> Vec<String> {
        let next = self.width() - VERB;
        let mut lines = wrapped(text, self.width(), next);
        if lines.len() > most {
            let rest = lines.split_off(most - 1).join(" ");
            lines.push(end(&rest, if most == 1 { self.width() } else { next }));
        }
        lines
    }
}

/// Which actors are no part of the cloud: nothing is ever asked of them.
pub(super) fn outside(trace: &Trace) -> Vec<bool> {
    let mut outside = vec![true; trace.actors().len()];
    for event in trace.events() {
        if matches!(event.kind, EventKind::Begin { .. } | EventKind::Boot { .. }) {
            outside[usize::from(event.actor)] = false;
        }
    }
    outside
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

    #[test]
    fn a_request_from_outside_goes_on_in_a_second_line() {
        let mut trace = Trace::new(["client", "web"].map(Into::into).into());
        let body = format!("{{\"left\":\"{}\",\"right\":\"{}\"}}", "l".repeat(40), "r".repeat(60));
        let request = Request::new("POST", "/compare", &*body);
        trace.set_op(0, Op::Fetch { to: "web".into(), request });
        for (actor, kind) in [(0, EventKind::Call { call: 0 }), (1, EventKind::Begin { call: 0 })] {
            trace.push(Event { at: Time::ZERO, actor, kind });
        }
        let text = trace.folded(&[]);
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.contains(&"l".repeat(40)) && text.contains(&"r".repeat(60)), "{text}");
    }

    #[test]
    fn a_joined_line_that_breaks_a_promise_has_every_word() {
        let mut trace = trace(&[], true);
        let body = format!("{} broken", "word ".repeat(30));
        let request = Request::new("PUT", "/", &*body);
        trace.set_op(0, Op::Fetch { to: "web".into(), request });
        let lines = trace.folded(&[1]);
        assert!(lines.starts_with('>') && lines.contains("broken\" = done"), "{lines}");
    }

    #[test]
    fn an_attempt_in_which_nothing_happened_is_one_line() {
        use crate::services::workflow::{
            AttemptResult, Engine, Op as Journal, Policy, Progress, Reply as Answer, Retries,
            StepConfig, StepKey,
        };
        let mut trace = Trace::new(["workflows", "W/a"].map(Into::into).into());
        let engine = Engine { workflow: "W".into(), id: "a".into(), generation: 1 };
        let step = StepKey::new("diff", 1);
        let config = StepConfig::default();
        let begin = Journal::BeginStep { engine: engine.clone(), step: step.clone(), config };
        let result = AttemptResult::Ok("7".into());
        let finish = Journal::FinishStep { engine, step, attempt: 1, result };
        let zero = std::time::Duration::ZERO;
        let retries = Retries { limit: 1, delay: zero.into(), backoff: None };
        let policy = Policy { retries, timeout: zero.into() };
        let answers = [Progress::Run { attempt: 1, policy }, Progress::Value("7".into())];
        for (call, (op, answer)) in (0..).zip([begin, finish].into_iter().zip(answers)) {
            trace.set_op(call, Op::Workflow(op));
            let outcome = trace.keep(Ok(Reply::Workflow(Answer::Step(answer))));
            let kind = EventKind::Effect { call, outcome };
            trace.push(Event { at: Time::ZERO, actor: 0, kind });
        }
        assert_eq!(trace.folded(&[]), " 0.000s 1-2  W/a        step   #1 diff#1: 7\n");
    }
}
