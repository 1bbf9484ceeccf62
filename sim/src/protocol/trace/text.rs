//! The trace for eyes: one line per event, in fixed columns.

use std::fmt;

use super::{Event, EventKind, OutcomeId, Trace};
use crate::protocol::reply::Outcome;
use crate::values::time::Time;

impl fmt::Display for Trace {
    /// Simulated time, number, actor, what. The actor column is as wide as its longest name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.width();
        (0..self.events().len()).try_for_each(|at| writeln!(f, "{}", self.aligned(at, width)))
    }
}

impl Trace {
    /// The line of the event at `index`, as the text form has it.
    pub fn line(&self, index: usize) -> String {
        self.aligned(index, self.width())
    }

    /// The longest name among those to whom anything happened.
    fn width(&self) -> usize {
        let names = self.events().iter().map(|event| self.actor(event).chars().count());
        names.max().unwrap_or(0)
    }

    fn aligned(&self, index: usize, width: usize) -> String {
        let event = &self.events()[index];
        let (at, number, actor) = (event.at, index + 1, self.actor(event));
        format!("{at:>10} {number:>5}  {actor:<width$}  {}", self.describe(event))
    }

    /// What happened, as the text form has it in its last column.
    pub fn describe<'a>(&'a self, event: &'a Event) -> impl fmt::Display + 'a {
        Described { trace: self, kind: &event.kind }
    }
}

struct Described<'a> {
    trace: &'a Trace,
    kind: &'a EventKind,
}

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tell(&mut OneLine(f))
    }
}

/// Messages of the platform, of panics and of applications may have line breaks; a line of a trace has none.
struct OneLine<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for OneLine<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.0.write_str(" / ")?;
            }
            self.0.write_str(line.trim_end_matches('\r'))?;
        }
        Ok(())
    }
}

impl Described<'_> {
    fn tell(&self, f: &mut impl fmt::Write) -> fmt::Result {
        let on = |call: &Option<u32>| call.map_or(String::new(), |call| format!(" on #{call}"));
        let op = |call: &u32| self.trace.op(*call);
        let shown = |id: &OutcomeId| Shown(self.trace.outcome(*id));
        match self.kind {
            EventKind::Boot { life } => write!(f, "boot   life {life}"),
            EventKind::Crash { fault, call } => write!(f, "CRASH  {fault}{}", on(call)),
            EventKind::Call { call } => write!(f, "call   #{call} {}", op(call)),
            EventKind::Fault { call, fault, by } => {
                write!(f, "FAULT  {fault}{}", on(call))?;
                by.map_or(Ok(()), |ms| write!(f, " by {}", Time::from_ms(ms)))
            }
            EventKind::Effect { call, outcome } => {
                write!(f, "effect #{call} {} = {}", op(call), shown(outcome))
            }
            EventKind::Begin { call } => write!(f, "begin  #{call} {}", op(call)),
            EventKind::End { call, outcome } => write!(f, "end    #{call} {}", shown(outcome)),
            EventKind::Return { call, outcome } => write!(f, "return #{call} {}", shown(outcome)),
            EventKind::Settle { call, queue, message, fate } => {
                write!(f, "settle {queue} {} {fate}{}", message.short(), on(call))
            }
            EventKind::Rows { changes } => {
                let shown: Vec<String> = changes.iter().map(ToString::to_string).collect();
                write!(f, "rows   {}", shown.join("; "))
            }
            EventKind::Abort { reason } => write!(f, "ABORT  {reason}"),
            EventKind::AlarmDropped => write!(f, "ALARM  dropped after its last retry"),
            EventKind::Log { text } => write!(f, "log    {text}"),
            EventKind::Panic { message } => write!(f, "PANIC  {message}"),
            EventKind::Stuck { doing, waits } => write!(f, "STUCK  {doing}, waits for {waits}"),
            EventKind::Livelock { steps } => write!(f, "LOOPS  still busy after {steps} steps"),
            EventKind::Calm => write!(f, "calm   the storm is over"),
        }
    }
}

struct Shown<'a>(&'a Outcome);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Ok(reply) => reply.fmt(f),
            Err(error) => write!(f, "error: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_whatever_it_tells() {
        let mut trace = Trace::new(vec!["web".into()]);
        let (at, actor) = (Time::ZERO, 0);
        trace.push(Event { at, actor, kind: EventKind::Log { text: "one\ntwo\r\nthree".into() } });
        trace.push(Event {
            at,
            actor,
            kind: EventKind::Panic { message: "left: 1\nright: 2".into() },
        });
        let text = trace.to_string();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(
            text.contains("one / two / three") && text.contains("left: 1 / right: 2"),
            "{text}"
        );
    }
}
