//! A failure as a script to keep: without a tape, so that a person can read and change it.

use std::fmt;

use thunderhead_props::scripted::{self, Unscripted};
use thunderhead_props::{Violation, quietly};
use thunderhead_sim::{Case, Script, ScriptChoices, printable};

use crate::playable::Playable;

/// Why there is no such script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotKept {
    /// A seed or the script alone decides; there is no tape to tell in other words.
    NoTape,
    /// No faults of a script stand for the tape.
    Unscripted(Unscripted),
}

impl fmt::Display for NotKept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotKept::NoTape => f.write_str("it has no tape"),
            NotKept::Unscripted(Unscripted { without }) if without.is_empty() => {
                f.write_str("with its faults asked for by name, the promise holds")
            }
            NotKept::Unscripted(Unscripted { without }) => {
                let lines: Vec<_> = without.iter().map(|line| format!("`{line}`")).collect();
                let lines = lines.join(", ");
                write!(f, "no fault of a script stands for {}", printable(&lines))
            }
        }
    }
}

impl std::error::Error for NotKept {}

/// The script, whose run breaks the promise `violated` as the run of `playable` does.
pub fn script(playable: &Playable, violated: &str) -> Result<Script, NotKept> {
    let script = playable.script();
    let ScriptChoices::Tape(tape) = &script.choices else { return Err(NotKept::NoTape) };
    let case = Case { scenario: script.scenario.clone(), tape: tape.clone() };
    let told = quietly(|| scripted::told(playable.system, playable.variant, &case, violated));
    let scenario = told.map_err(NotKept::Unscripted)?;
    let choices = ScriptChoices::Benign;
    Ok(Script { scenario, choices, expect: None, failure: None, ..script.clone() })
}

/// The text of such a script with what its keeper has to know above it. `violated` are the promises that it breaks.
pub fn with_remark(text: &str, violated: &[Violation]) -> String {
    let expected = violated.iter().map(|one| format!("\"violates {}\"", one.promise));
    let expected = expected.collect::<Vec<_>>().join(", ");
    format!(
        "# `run` fails on this script until the code is mended. To expect the failure until then, add:\n\
         # expect = [{}]\n{text}",
        printable(&expected)
    )
}
