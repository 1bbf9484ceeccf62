//! The history of a played scenario as a reviewer reads it: what it is, in a few lines, and then what happened.

use std::fmt::Write;

use thunderhead_sim::{Fault, Kill, ScriptChoices, ScriptedFault, printable};

use crate::playable::{Playable, Played};

/// No line of the short form is wider.
const WIDTH: usize = 120;
/// The width of the words before the lines of the header.
const LABEL: usize = 9;

/// A played scenario with its header.
#[derive(Debug)]
pub struct History<'a> {
    playable: &'a Playable<'a>,
    played: &'a Played,
}

impl<'a> History<'a> {
    /// The history of `playable`, as it was played.
    pub fn new(playable: &'a Playable<'a>, played: &'a Played) -> History<'a> {
        History { playable, played }
    }

    /// At most 120 columns wide, with the events of undisturbed calls joined.
    pub fn short(&self) -> String {
        format!("{}\n{}", self.header(), self.folded())
    }

    /// Everything that the trace has to say, one line per event.
    pub fn wide(&self) -> String {
        format!("{}\n{}", self.header(), self.played.run.trace.wide())
    }

    /// The short form without its header.
    pub fn folded(&self) -> String {
        let broken = self.played.violations.iter();
        let marked: Vec<usize> = broken.filter_map(|violation| violation.finding.event).collect();
        self.played.run.trace.folded(&marked)
    }

    /// The story, the system, what went wrong in the platform, and which promises are broken.
    pub fn header(&self) -> String {
        let (system, variant) = (self.playable.system, self.playable.variant);
        let system = format!("{}, variant {}: {}", system.name, variant.name, variant.about);
        let mut text = String::new();
        labelled(&mut text, "story", &self.playable.script().story);
        labelled(&mut text, "system", &system);
        labelled(&mut text, "faults", &self.played.run.trace.abbreviated(&self.faults()));
        if self.played.violations.is_empty() {
            labelled(&mut text, "verdict", "every promise holds");
        }
        for violation in &self.played.violations {
            let promise = self.playable.system.promise(&violation.promise);
            let promise =
                promise.map_or_else(|| violation.promise.to_string(), ToString::to_string);
            let event = violation.finding.event;
            let event = event.map_or(String::new(), |at| format!(" (event {})", at + 1));
            let said = format!("{promise}: {}{event}", violation.finding.message);
            labelled(&mut text, "broken", &self.played.run.trace.abbreviated(&said));
        }
        text
    }

    /// What went wrong in the platform, in words.
    fn faults(&self) -> String {
        let script = self.playable.script();
        let kills = script.scenario.kills.iter().map(killed);
        let mut words: Vec<String> =
            script.scenario.faults.iter().map(struck).chain(kills).collect();
        match &script.choices {
            ScriptChoices::Benign => {}
            ScriptChoices::Seed(seed) => words.push(format!("others, drawn by seed {seed}")),
            ScriptChoices::Tape(tape) if tape.0.is_empty() => {}
            ScriptChoices::Tape(tape) => {
                let lines = tape.in_words(script.scenario.drawn_faults);
                words.push(format!("as recorded: {}", lines.join(", ")));
            }
        }
        if words.is_empty() { "none".into() } else { words.join("; ") }
    }
}

/// A scripted fault in words: `the reply to the first fetch web/* is lost`.
fn struck(rule: &ScriptedFault) -> String {
    let (which, many) = which(rule);
    let (on, is) = (&rule.on, if many { "are" } else { "is" });
    let by = rule.by.map_or(String::new(), |by| format!(" by {by:?}"));
    let code = rule.code.map_or(String::new(), |code| format!(" ({code})"));
    let calls = format!("{which} {on}");
    match rule.fault {
        Fault::Delay => format!("{calls} {is} late{by}"),
        Fault::Fail => format!("{calls} {is} refused with a transient error{code}"),
        Fault::LoseRequest => format!("{calls} {is} lost on the way"),
        Fault::LoseReply => format!("the reply to {calls} is lost"),
        Fault::Duplicate if many => format!("{calls} happen twice"),
        Fault::Duplicate => format!("{calls} happens twice"),
        Fault::Reorder => format!("{calls} {is} overtaken"),
        Fault::LoseEvent => format!("the notification of {calls} is lost"),
        Fault::FewLabels => format!("{calls} {is} answered with few labels{code}"),
        Fault::Mood => format!("{calls} {is} slow or refused by the outside{code}"),
        Fault::FalseExists => format!("{calls} {is} told that the instance exists"),
        Fault::StaleRead => format!("{calls} {is} answered by a replica that lags{code}"),
        Fault::Evict => format!("{on} loses its memory while idle"),
        Fault::CrashBefore => format!("the worker dies on {calls}, before the effect"),
        Fault::CrashAfter => format!("the worker dies on {calls}, after the effect"),
        Fault::Crash => format!(
            "{on} dies{}",
            rule.by.map_or(String::new(), |by| format!(" and is down for {by:?}"))
        ),
        // A fault without a sentence of its own here is told by its entry in the list of faults.
        other => format!("{calls}: {other}{by}{code}, {}", other.kind().help),
    }
}

/// Which of the matching calls, and whether those are several.
fn which(rule: &ScriptedFault) -> (String, bool) {
    if let Some(chance) = rule.chance {
        return (format!("{} of 100", u32::from(chance) * 100 / 1024), true);
    }
    let after = |skip: u32| if skip == 0 { String::new() } else { format!("after {skip}, ") };
    match (rule.skip, rule.times) {
        (0, 1) => ("the first".into(), false),
        (1, 1) => ("the second".into(), false),
        (2, 1) => ("the third".into(), false),
        (skip, 1) => (format!("number {} of", skip + 1), false),
        (skip, u32::MAX) => (format!("{}all", after(skip)), true),
        (skip, times) => (
            format!("{}the {}{times}", after(skip), if skip == 0 { "first " } else { "next " }),
            true,
        ),
    }
}

fn killed(kill: &Kill) -> String {
    let down = kill.down.map_or(String::new(), |down| format!(" and is down for {down:?}"));
    format!("{} dies at {}{down}", kill.host, kill.at)
}

/// A line of the header, broken between words.
fn labelled(text: &mut String, label: &str, said: &str) {
    let mut line = format!("{label:<LABEL$}");
    let mut empty = true;
    for word in printable(said).split_whitespace() {
        let word: String = match word.chars().nth(WIDTH - LABEL) {
            Some(_) => word.chars().take(WIDTH - LABEL - 1).chain(['…']).collect(),
            None => word.into(),
        };
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(text, "{line}");
            line = " ".repeat(LABEL);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line += &word;
        empty = false;
    }
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scripted_fault_is_told_in_words() {
        let once = ScriptedFault::once(Fault::LoseReply, "fetch web/*");
        assert_eq!(struck(&once), "the reply to the first fetch web/* is lost");
        let by = Some(std::time::Duration::from_secs(30));
        let late =
            ScriptedFault { times: 2, skip: 1, by, ..ScriptedFault::once(Fault::Delay, "r2.get") };
        assert_eq!(struck(&late), "after 1, the next 2 r2.get are late by 30s");
        let refused =
            ScriptedFault { times: u32::MAX, ..ScriptedFault::once(Fault::Fail, "ai.run") };
        assert_eq!(struck(&refused), "all ai.run are refused with a transient error");
    }

    #[test]
    fn a_long_line_of_the_header_is_broken_between_words() {
        let mut text = String::new();
        labelled(&mut text, "story", &"word ".repeat(60));
        labelled(&mut text, "faults", &"x".repeat(300));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.lines().nth(1).unwrap().starts_with("         word"), "{text}");
    }
}
