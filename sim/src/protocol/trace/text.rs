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
//! the same in its column and in every text. Long texts are abbreviated (`abbreviation.rs`). A row change has one line,
//! or two. `folded.rs` joins the events of one undisturbed call; `Trace::wide` abbreviates nothing.

use std::borrow::Cow;
use std::fmt;

use super::abbreviation;
use super::names::Names;
use super::subjects::Subjects;
use super::tokens::tokens;
use super::truncate::{columns, wrapped};
use super::{Event, EventKind, Trace};
use crate::protocol::op::Op;
use crate::services::sqlite::TIED;
use crate::services::workflow;
use crate::values::printable::printable;
use crate::values::time::Time;

/// No line of a history is wider.
pub(super) const WIDTH: usize = 120;
/// Of a text that is longer than this many bytes, only the beginning and the end are looked at. A line shows
/// far less of it, and to look for names in megabytes of it would take long.
const LOOKED_AT: usize = 16_384;
/// The width of the word that says what kind of event it is.
pub(super) const VERB: usize = 7;
/// So many lines are shown of a row that changed.
pub(super) const ROW_MAX: usize = 2;

impl fmt::Display for Trace {
    /// Simulated time, number, actor, what; row changes after the first are on lines of their own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = Text::new(self, Length::Short);
        (0..self.events().len()).try_for_each(|at| f.write_str(&text.lines(at)))
    }
}

impl Trace {
    /// The line of the event at `index`, as the text form has it; of several row changes, the first.
    pub fn line(&self, index: usize) -> String {
        let lines = Text::new(self, Length::Short).lines(index);
        lines.lines().next().unwrap_or_default().to_string()
    }

    /// What happened, as the text form has it in its last column, on one line.
    pub fn describe(&self, event: &Event) -> String {
        let at = self.events().iter().position(|known| std::ptr::eq(known, event));
        let at = at.or_else(|| self.events().iter().position(|known| known == event));
        let told = at.map(|at| Text::new(self, Length::Short).describe(at, 1));
        told.unwrap_or_default().replace(TIED, " ")
    }

    /// The name of whom an event is told, as the text form has it: at most 20 columns, and no other's.
    pub fn actor_short(&self, event: &Event) -> String {
        let text = Text::new(self, Length::Short);
        text.names.of(text.subjects.of(event)).to_string()
    }

    /// `text` with the names, the hexadecimal digits and the times as this history has them.
    pub fn abbreviated(&self, text: &str) -> String {
        Text::new(self, Length::Short).plain(text)
    }

    /// The text form with nothing abbreviated, however long its lines become.
    pub fn wide(&self) -> String {
        let text = Text::new(self, Length::Wide);
        (0..self.events().len()).map(|at| text.lines(at)).collect()
    }
}

/// How long a text may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// As long as its line: names are short, and the rest is cut.
    Short,
    /// As long as it is, with short names.
    Whole,
    /// As long as it is, with nothing shortened.
    Wide,
}

/// How the events of one trace are told.
pub(super) struct Text<'a> {
    pub(super) trace: &'a Trace,
    pub(super) names: Names,
    pub(super) subjects: Subjects<'a>,
    pub(super) length: Length,
    /// How wide the longest long name is.
    wide: usize,
    /// What the columns before the actor take with the spaces between the columns, in either form.
    before: usize,
    /// The event that is the first to tell of each call, and the first with which a handler begins it.
    first: Vec<First>,
}

impl<'a> Text<'a> {
    pub(super) fn new(trace: &'a Trace, length: Length) -> Text<'a> {
        let time = trace.events().iter().map(|event| columns(&event.at.to_string())).max();
        let digits = trace.events().len().to_string().len();
        let (plain, folded) =
            (10.max(time.unwrap_or(0)) + 6, 2 + time.unwrap_or(0) + 2 * digits + 2);
        let names = trace.events().iter().map(|event| columns(&printable(trace.actor(event))));
        let (wide, subjects) = (names.max().unwrap_or(0), Subjects::new(trace));
        let (names, before) = (Names::new(trace, &subjects), plain.max(folded) + 4);
        Text { trace, names, subjects, length, wide, before, first: first(trace) }
    }

    /// How many columns there are for what happened.
    pub(super) fn width(&self) -> usize {
        WIDTH - self.before - self.names.width
    }

    /// How many columns there are on so many lines. Words that do not fit leave the ends of some empty.
    pub(super) fn room(&self, lines: usize) -> usize {
        const LOST: usize = 10;
        self.width() + (lines - 1) * (self.width() - VERB - LOST)
    }

    /// The event at `index` with all its columns, and a line break after each line.
    fn lines(&self, index: usize) -> String {
        let event = &self.trace.events()[index];
        let (at, number) = (event.at, index + 1);
        let (actor, width) = if self.length == Length::Wide {
            (printable(self.trace.actor(event)), self.wide)
        } else {
            (Cow::Borrowed(self.names.of(self.subjects.of(event))), self.names.width)
        };
        let mut rows = self.rows(event, ROW_MAX);
        let first = if rows.is_empty() {
            self.describe(index, 1)
        } else {
            format!("rows   {}", rows.remove(0))
        };
        let mut text = format!("{at:>10} {number:>5}  {actor:<width$}  {first}\n");
        let indent = columns(&format!("{at:>10} {number:>5}")) + 4 + width + VERB;
        for row in rows {
            text += &format!("{:indent$}{row}\n", "");
        }
        text.replace(TIED, " ")
    }

    /// The row changes of an event, each on so many lines at most. What is deleted was told when it was inserted.
    pub(super) fn rows(&self, event: &Event, most: usize) -> Vec<String> {
        let EventKind::Rows { changes } = &event.kind else { return Vec::new() };
        let told = changes.iter().map(|change| {
            let most = if change.after.is_none() { most / 2 } else { most };
            (self.plain(&change.told(self.length == Length::Wide)), most)
        });
        match self.length {
            Length::Short => told.flat_map(|(told, most)| self.row(&told, most)).collect(),
            _ => told.map(|(told, _)| told).collect(),
        }
    }

    pub(super) fn row(&self, told: &str, most: usize) -> Vec<String> {
        const INDENT: usize = 2;
        let width = self.width().saturating_sub(VERB);
        let broken = |told: &str| wrapped(told, width, width - INDENT);
        let room = (width..most * width).rev().step_by(4);
        let cut = room.map(|room| broken(&abbreviation::fit(told, room)));
        let fits = std::iter::once(broken(told)).chain(cut).find(|lines| lines.len() <= most);
        let lines = fits.unwrap_or_else(|| vec![abbreviation::fit(told, width)]);
        let indented = |(nth, line): (usize, String)| match nth {
            0 => line,
            _ => format!("{:INDENT$}{line}", ""),
        };
        lines.into_iter().enumerate().map(indented).collect()
    }

    /// What happened, to be broken into so many lines.
    pub(super) fn describe(&self, at: usize, lines: usize) -> String {
        let event = &self.trace.events()[at];
        let on = |call: &Option<u32>| call.map_or(String::new(), |call| format!(" on #{call}"));
        let text = match &event.kind {
            EventKind::Boot { life } => format!("boot   life {life}"),
            EventKind::Crash { fault, call } => {
                format!("CRASH  {fault}{}{}", on(call), self.unasked(at, *call))
            }
            EventKind::Call { call } => return self.call("call", *call, None, lines),
            EventKind::Fault { call, fault, by } => {
                let by = by.map_or(String::new(), |ms| format!(" by {}", Time::from_ms(ms)));
                format!("FAULT  {fault}{}{by}{}", on(call), self.unasked(at, *call))
            }
            EventKind::Effect { call, outcome } => {
                let ends_step =
                    matches!(self.trace.op(*call), Op::Workflow(workflow::Op::FinishStep { .. }));
                let step = ends_step && self.length != Length::Wide;
                let verb = if step { "step" } else { "effect" };
                return self.call(verb, *call, Some(*outcome), lines);
            }
            EventKind::Begin { call }
                if self.length != Length::Wide && self.first[*call as usize].begun != Some(at) =>
            {
                format!("begin  #{call} copy")
            }
            EventKind::Begin { call } => return self.call("begin", *call, None, lines),
            EventKind::End { call, outcome } => format!("end    #{call} {}", self.told(*outcome)),
            EventKind::Return { call, outcome } => {
                format!("return #{call} {}", self.told(*outcome))
            }
            EventKind::Settle { call, queue, message, fate } => {
                format!("settle {queue} {} {fate}{}", message.short(), on(call))
            }
            EventKind::Rows { changes } => {
                let whole = self.length == Length::Wide;
                let shown: Vec<String> = changes.iter().map(|row| row.told(whole)).collect();
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
        let text = self.plain(&text);
        if self.length == Length::Short { abbreviation::fit(&text, self.room(lines)) } else { text }
    }

    /// The question of a call that no event before the one at `at` has told.
    fn unasked(&self, at: usize, call: Option<u32>) -> String {
        let Some(call) = call else { return String::new() };
        if self.first[call as usize].told.is_some_and(|told| told < at) {
            return String::new();
        }
        format!(" {}", self.question(self.trace.op(call)))
    }

    /// On one line, and with short names unless everything is shown.
    pub(super) fn plain(&self, text: &str) -> String {
        if self.length == Length::Wide {
            return printable(text).into_owned();
        }
        let text = abbreviation::middle(text, LOOKED_AT);
        tokens(&self.names.replace(&printable(&text)))
    }
}

/// The events that are the first of a call, as indices.
#[derive(Clone, Copy, Default)]
struct First {
    /// It tells what was asked.
    told: Option<usize>,
    /// A handler begins with it.
    begun: Option<usize>,
}

fn first(trace: &Trace) -> Vec<First> {
    let mut first: Vec<First> = Vec::new();
    for (at, event) in trace.events().iter().enumerate() {
        let (call, tells) = match event.kind {
            EventKind::Call { call }
            | EventKind::Begin { call }
            | EventKind::Effect { call, .. } => (call, true),
            EventKind::Fault { call: Some(call), .. }
            | EventKind::Crash { call: Some(call), .. } => (call, false),
            _ => continue,
        };
        let number = call as usize;
        if number >= first.len() {
            first.resize(number + 1, First::default());
        }
        if tells {
            first[number].told.get_or_insert(at);
        }
        if let EventKind::Begin { .. } = event.kind {
            first[number].begun.get_or_insert(at);
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::fault::Fault;
    use crate::protocol::http::Request;
    use crate::protocol::outcome::Reply;
    use crate::services::sqlite::Database;

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

    #[test]
    fn a_long_row_goes_on_in_a_second_line() {
        let mut db = Database::open(0);
        db.exec("create table t(name text, one text, two text)", &[]).unwrap();
        let (one, two) = ("o".repeat(60), "w".repeat(60));
        db.exec(&format!("insert into t values ('a', '{one}', '{two}')"), &[]).unwrap();
        let changes = db.take_changes().into();
        let text = trace("db", &[EventKind::Rows { changes }]).to_string();
        assert!(text.contains(&format!("one='{one}'\n")), "{text}");
        assert!(text.lines().nth(1).unwrap().ends_with(&format!("  two='{two}'")), "{text}");
    }

    #[test]
    fn a_crash_on_a_call_that_was_not_told_tells_its_question() {
        let mut trace = Trace::new(vec!["web".into()]);
        let request = Request::new("GET", "/cat", "");
        trace.set_op(0, Op::Fetch { to: "web".into(), request });
        let crash = EventKind::Crash { fault: Fault::CrashBefore, call: Some(0) };
        let kinds =
            [crash.clone(), EventKind::Begin { call: 0 }, crash, EventKind::Begin { call: 0 }];
        for kind in kinds {
            trace.push(Event { at: Time::ZERO, actor: 0, kind });
        }
        let text = trace.to_string();
        let ends = [
            "CRASH  crash_before on #0 fetch web GET /cat",
            "begin  #0 fetch web GET /cat",
            "CRASH  crash_before on #0",
            "begin  #0 copy",
        ];
        for (line, end) in text.lines().zip(ends) {
            assert!(line.ends_with(end), "{text}");
        }
    }
}
