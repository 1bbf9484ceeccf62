//! The trace for people: one line per event, in fixed columns, at most [`WIDTH`] columns wide.
//!
//! ```text
//!     0.001s     2  web       begin  #0 fetch web PUT /acme/cat.jpg "one"
//!     0.001s     3  web       call   #1 r2.put images/acme/cat.jpg "one"
//!     0.002s     4  r2        effect #1 r2.put images/acme/cat.jpg "one" = stored etag=f97c5d29…
//!     1.009s    21  ORG:acme  rows   insert Upload#1 name='cat.jpg' status='queued' createdAt=@1.009s
//!                                    update Upload#1 name='cat.jpg' status: 'queued' → 'running'
//! ```
//!
//! The columns are simulated time, number, actor and what happened. An actor has a short name (`names.rs`) that is
//! the same in its column and in every text. Long texts are abbreviated (`abbreviation.rs`). Row changes have one
//! line each. `folded.rs` joins the events of one undisturbed call; `Trace::wide` abbreviates nothing.

use std::fmt;

use super::abbreviation::{self, columns};
use super::names::Names;
use super::{Event, EventKind, OutcomeId, Trace};
use crate::protocol::op::Op;
use crate::protocol::outcome::Outcome;
use crate::values::printable::printable;
use crate::values::time::Time;

/// No line of a history is wider.
pub(super) const WIDTH: usize = 120;
/// So many lines are shown of an event where a promise is broken.
const BROKEN_MAX: usize = 6;
/// Of a text that is longer than this many bytes, only the beginning and the end are looked at. A line shows
/// far less of it, and to look for names in megabytes of it would take long.
const LOOKED_AT: usize = 16_384;
/// A text is never cut to fewer columns than this.
const NARROWEST: usize = 40;
/// The width of the word that says what kind of event it is.
pub(super) const VERB: usize = 7;

impl fmt::Display for Trace {
    /// Simulated time, number, actor, what; row changes after the first are on lines of their own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = Text::new(self);
        (0..self.events().len()).try_for_each(|at| f.write_str(&text.lines(at)))
    }
}

impl Trace {
    /// The line of the event at `index`, as the text form has it; of several row changes, the first.
    pub fn line(&self, index: usize) -> String {
        let lines = Text::new(self).lines(index);
        lines.lines().next().unwrap_or_default().to_string()
    }

    /// What happened, as the text form has it in its last column, on one line.
    pub fn describe(&self, event: &Event) -> String {
        Text::new(self).describe(event)
    }

    /// The name of whom an event happened to, as the text form has it: at most 20 columns, and no other's.
    pub fn actor_short(&self, event: &Event) -> String {
        Names::new(self).of(event.actor).to_string()
    }

    /// `text` with the names, the hexadecimal digits and the times as this history has them.
    pub fn abbreviated(&self, text: &str) -> String {
        Text::new(self).plain(text)
    }

    /// The text form with nothing abbreviated, however long its lines become.
    pub fn wide(&self) -> String {
        let names = self.events().iter().map(|event| columns(&printable(self.actor(event))));
        let text = Text { wide: Some(names.max().unwrap_or(0)), ..Text::new(self) };
        (0..self.events().len()).map(|at| text.lines(at)).collect()
    }
}

/// How the events of one trace are told.
pub(super) struct Text<'a> {
    trace: &'a Trace,
    pub(super) names: Names,
    /// When everything is shown in full: how wide the longest name is.
    wide: Option<usize>,
    /// What the columns before the actor take with the spaces between the columns, in either form.
    before: usize,
}

impl<'a> Text<'a> {
    pub(super) fn new(trace: &'a Trace) -> Text<'a> {
        let time = trace.events().iter().map(|event| columns(&event.at.to_string())).max();
        let digits = trace.events().len().to_string().len();
        let (plain, folded) =
            (10.max(time.unwrap_or(0)) + 6, 2 + time.unwrap_or(0) + 2 * digits + 2);
        Text { trace, names: Names::new(trace), wide: None, before: plain.max(folded) + 4 }
    }

    /// How many columns there are for what happened.
    pub(super) fn width(&self) -> usize {
        if self.wide.is_some() { usize::MAX } else { WIDTH - self.before - self.names.width }
    }

    /// The event at `index` with all its columns, and a line break after each line.
    fn lines(&self, index: usize) -> String {
        let event = &self.trace.events()[index];
        let (at, number) = (event.at, index + 1);
        let (actor, width) = match self.wide {
            Some(width) => (printable(self.trace.actor(event)), width),
            None => (self.names.of(event.actor).into(), self.names.width),
        };
        let mut rows = self.rows(event);
        let first = if rows.is_empty() {
            self.describe(event)
        } else {
            format!("rows   {}", rows.remove(0))
        };
        let mut text = format!("{at:>10} {number:>5}  {actor:<width$}  {first}\n");
        let indent = columns(&format!("{at:>10} {number:>5}")) + 4 + width + VERB;
        for row in rows {
            text += &format!("{:indent$}{row}\n", "");
        }
        text
    }

    /// The row changes of an event, a line each.
    pub(super) fn rows(&self, event: &Event) -> Vec<String> {
        match &event.kind {
            EventKind::Rows { changes } => {
                let width = self.width().saturating_sub(VERB);
                let told = changes.iter().map(|change| change.told(self.wide.is_some()));
                told.map(|told| self.fitted(&told, width)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What happened, on one line.
    pub(super) fn describe(&self, event: &Event) -> String {
        let on = |call: &Option<u32>| call.map_or(String::new(), |call| format!(" on #{call}"));
        let asked = |verb: &str, call: &u32| self.call(verb, *call, None);
        let text = match &event.kind {
            EventKind::Boot { life } => format!("boot   life {life}"),
            EventKind::Crash { fault, call } => format!("CRASH  {fault}{}", on(call)),
            EventKind::Call { call } => return asked("call", call),
            EventKind::Fault { call, fault, by } => {
                let by = by.map_or(String::new(), |ms| format!(" by {}", Time::from_ms(ms)));
                format!("FAULT  {fault}{}{by}", on(call))
            }
            EventKind::Effect { call, outcome } => {
                return self.call("effect", *call, Some(*outcome));
            }
            EventKind::Begin { call } => return asked("begin", call),
            EventKind::End { call, outcome } => format!("end    #{call} {}", self.told(*outcome)),
            EventKind::Return { call, outcome } => {
                format!("return #{call} {}", self.told(*outcome))
            }
            EventKind::Settle { call, queue, message, fate } => {
                format!("settle {queue} {} {fate}{}", message.short(), on(call))
            }
            EventKind::Rows { changes } => {
                let wide = self.wide.is_some();
                let shown: Vec<String> = changes.iter().map(|row| row.told(wide)).collect();
                format!("rows   {}", shown.join("; "))
            }
            EventKind::Abort { reason } => format!("ABORT  {reason}"),
            EventKind::AlarmDropped => "ALARM  dropped after its last retry".into(),
            EventKind::Log { text } => format!("log    {text}"),
            EventKind::Panic { message } => format!("PANIC  {message}"),
            EventKind::Stuck { doing, waits } => format!("STUCK  {doing}, waits for {waits}"),
            EventKind::Livelock { steps } => format!("LOOPS  still busy after {steps} steps"),
            EventKind::Calm => "calm   the storm is over".into(),
        };
        self.fitted(&text, self.width())
    }

    /// What was asked in a call and, when it is known, what came of it.
    pub(super) fn call(&self, verb: &str, call: u32, outcome: Option<OutcomeId>) -> String {
        let op = self.trace.op(call);
        let (head, asked) = (format!("{verb:<6} #{call} "), self.plain(&format!("{op:#}")));
        let told = outcome.map(|outcome| self.told(outcome));
        // A step's result is told once.
        let told = told.map_or(String::new(), |told| {
            let again = asked.ends_with(&format!(": {told}"));
            if again { String::new() } else { format!(" = {told}") }
        });
        if self.wide.is_some() {
            return format!("{head}{asked}{told}");
        }
        // The number of the call is no part of it: the same question is cut at the same place.
        let width = self.width().saturating_sub(columns("effect #999 ")).max(NARROWEST);
        let room = width.saturating_sub(columns(&asked)).max(width / 3);
        let told = abbreviation::fit(&told, room);
        let room = width - columns(&told);
        let asked = match op {
            Op::D1(_) => abbreviation::fit_sql(&asked, room),
            _ => abbreviation::fit(&asked, room),
        };
        format!("{head}{asked}{told}")
    }

    /// What was asked in a call, without its number.
    pub(super) fn asked(&self, call: u32) -> String {
        let text = self.call("", call, None);
        text.trim_start().split_once(' ').map_or(String::new(), |(_, asked)| asked.to_string())
    }

    fn told(&self, outcome: OutcomeId) -> String {
        self.plain(&Shown(self.trace.outcome(outcome)).to_string())
    }

    /// What happened at a place where the reader needs every word: not cut, but broken into lines.
    pub(super) fn broken(&self, event: &Event) -> Vec<String> {
        let whole = match &event.kind {
            EventKind::Rows { changes } => {
                let told: Vec<String> = changes.iter().map(|change| change.told(false)).collect();
                self.plain(&format!("rows   {}", told.join("; ")))
            }
            _ => {
                let wide = Text { trace: self.trace, names: Names::new(self.trace), ..*self };
                self.plain(&Text { wide: Some(0), ..wide }.describe(event))
            }
        };
        let mut lines = abbreviation::wrapped(&whole, self.width(), self.width() - VERB);
        if lines.len() > BROKEN_MAX {
            lines.truncate(BROKEN_MAX);
            lines.push("…".into());
        }
        lines
    }

    fn fitted(&self, text: &str, width: usize) -> String {
        let text = self.plain(text);
        if self.wide.is_some() { text } else { abbreviation::fit(&text, width) }
    }

    /// On one line, and with short names unless everything is shown.
    fn plain(&self, text: &str) -> String {
        if self.wide.is_some() {
            return printable(text).into_owned();
        }
        let text = abbreviation::middle(text, LOOKED_AT);
        abbreviation::tokens(&self.names.replace(&printable(&text)))
    }
}

struct Shown<'a>(&'a Outcome);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Ok(reply) => write!(f, "{reply:#}"),
            Err(error) => write!(f, "error: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::http::Request;
    use crate::protocol::outcome::Reply;

    fn trace(actor: &str, kinds: &[EventKind]) -> Trace {
        let mut trace = Trace::new(vec![actor.into()]);
        for kind in kinds {
            trace.push(Event { at: Time::ZERO, actor: 0, kind: kind.clone() });
        }
        trace
    }

    #[test]
    fn an_event_is_one_line_whatever_it_tells() {
        let log = EventKind::Log { text: "one\ntwo\r\nthree".into() };
        let panic = EventKind::Panic { message: "left: 1\nright: 2".into() };
        let text = trace("web", &[log, panic]).to_string();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(
            text.contains(r"one\ntwo\r\nthree") && text.contains(r"left: 1\nright: 2"),
            "{text}"
        );
    }

    #[test]
    fn no_line_is_too_wide_and_the_wide_form_has_it_all() {
        let mut trace = Trace::new(vec!["x".repeat(100).as_str().into()]);
        let body = "y".repeat(500);
        trace.set_op(
            0,
            Op::Fetch { to: "web".into(), request: Request::new("PUT", "/cat", &*body) },
        );
        let outcome = trace.keep(Ok(Reply::Rpc("z".repeat(500).into())));
        trace.push(Event {
            at: Time::ZERO,
            actor: 0,
            kind: EventKind::Effect { call: 0, outcome },
        });
        let text = trace.to_string();
        assert!(text.lines().all(|line| columns(line) <= WIDTH), "{text}");
        assert!(text.contains("yyy…\" = \"zzz"), "both are cut, and neither is lost: {text}");
        assert!(trace.wide().contains(&body) && trace.wide().contains(&"x".repeat(100)));
    }
}
