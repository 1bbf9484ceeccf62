//! The history of a played scenario as a reviewer reads it: what it is, in a few lines, and then what happened.

use std::fmt::Write;

use thunderhead_props::Violation;
use thunderhead_sim::{Case, ScriptChoices, printable};

use crate::playable::{Playable, Played};
use crate::story;

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

    /// What led to the first broken promise, with the header; the whole short form when none is broken.
    pub fn story(&self) -> String {
        match self.plainest() {
            None => self.short(),
            Some(violation) => format!("{}\n{}", self.header(), self.story_of(violation)),
        }
    }

    /// What led to a broken promise, and where the run parts from one that keeps it.
    pub fn story_of(&self, violation: &Violation) -> String {
        let Playable { system, variant, .. } = *self.playable;
        story::told(system, variant, &self.case(), &self.played.run, violation)
    }

    /// What was played, as requests and choices.
    pub fn case(&self) -> Case {
        let scenario = self.playable.script().scenario.clone();
        Case { scenario, tape: self.played.run.tape() }
    }

    /// Of the broken promises, one that an event breaks, if there is any: it is plainer than what is missing.
    pub fn plainest(&self) -> Option<&'a Violation> {
        let violations = &self.played.violations;
        violations.iter().min_by_key(|violation| violation.finding.event.is_none())
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
            // A space that does not break, so that the number stands with its word.
            let event = event.map_or(String::new(), |at| format!(" (event\u{a0}{})", at + 1));
            let said = format!("{promise}: {}{event}", violation.finding.message);
            labelled(&mut text, "broken", &self.played.run.trace.abbreviated(&said));
        }
        text
    }

    /// What went wrong in the platform, in words.
    fn faults(&self) -> String {
        let script = self.playable.script();
        let mut words = script.scenario.faults_in_words();
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

/// A line of the header, broken between words.
fn labelled(text: &mut String, label: &str, said: &str) {
    let mut line = format!("{label:<LABEL$}");
    let mut empty = true;
    for word in printable(said).split([' ', '\n']).filter(|word| !word.is_empty()) {
        let word = &*word.replace('\u{a0}', " ");
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
    fn a_long_line_of_the_header_is_broken_between_words() {
        let mut text = String::new();
        labelled(&mut text, "story", &"word ".repeat(60));
        labelled(&mut text, "faults", &"x".repeat(300));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.lines().nth(1).unwrap().starts_with("         word"), "{text}");
    }
}
