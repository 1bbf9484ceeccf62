//! `thunderhead replay FILE`: plays a recorded run again, and says where it differs.

use std::fmt::Write;
use std::path::PathBuf;

use serde_json::json;
use thunderhead_props::Violation;
use thunderhead_sim::{Failure, FaultSet, Run, Script, ScriptChoices, Tape};

use super::{Answer, CliError, Given, input, run};
use crate::VERSION;
use crate::history::History;
use crate::playable::{Playable, Played, asked};
use crate::report::{self, Failing};

/// The arguments of `replay`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A failure file that `explore` or `check` wrote.
    file: PathBuf,
    /// The history with nothing abbreviated.
    #[arg(long)]
    wide: bool,
}

pub fn replay(given: Given, args: &Args) -> Result<Answer, CliError> {
    let text = input::text(&args.file)?;
    let name = args.file.display().to_string();
    let other = Script::version_of(&text).filter(|version| version != VERSION);
    let playable = Script::parse(&name, &text).and_then(|file| Playable::new(file, given.systems));
    let playable = match (playable, &other) {
        (Ok(playable), _) => playable,
        (Err(error), None) => return Err(error.into()),
        (Err(error), Some(version)) => {
            return Err(CliError::Mismatch(format!("{}:\n{error}", made_by(&name, version))));
        }
    };
    let Some(failure) = playable.script().failure.clone() else {
        return Err(CliError::Input(format!(
            "{name}: nothing is recorded here: there is no [failure] table\n  `{} run {name}` plays a scenario; a failure file without that table was cut off",
            given.program
        )));
    };
    let played = playable.play().map_err(|error| CliError::Mismatch(format!("{name}: {error}")))?;
    let misfits = misfits(&playable, &failure, &played.run, other.as_deref());
    Ok(if misfits.is_empty() {
        same(given.program, &playable, &played, args.wide)
    } else {
        differs(given.program, &playable, &failure, &played, &misfits)
    })
}

fn made_by(name: &str, version: &str) -> String {
    format!("{name}: made by thunderhead {version}, this is {VERSION}: the run may be another one")
}

/// The ways in which this run differs from the recorded one.
fn misfits(playable: &Playable, failure: &Failure, run: &Run, other: Option<&str>) -> Vec<String> {
    let mut misfits = Vec::new();
    if let Some(version) = other {
        misfits.push(made_by(playable.file.name(), version));
    }
    if let ScriptChoices::Tape(tape) = &playable.script().choices {
        misfits.extend(unfitting(tape, playable.script().scenario.drawn_faults, run));
    }
    let now = run.trace.hash();
    if now != failure.trace {
        misfits.push(format!("the trace was {}, now it is {now}", failure.trace));
    }
    misfits
}

/// The lines of a tape that this run never asked for, or asked for with another number of options.
fn unfitting(tape: &Tape, drawn: FaultSet, run: &Run) -> Vec<String> {
    let told = tape.0.iter().zip(tape.in_words(drawn));
    let lines = told.filter_map(|(line, said)| match asked(line, run) {
        None => Some(format!("`{said}`: this turn is never reached")),
        Some(draw) if draw.of != line.of => {
            Some(format!("`{said}`: there were {} options, now there are {}", line.of, draw.of))
        }
        Some(_) => None,
    });
    lines.collect()
}

/// The violation to report: that of the recorded promise, or else the first.
fn recorded<'a>(playable: &Playable, played: &'a Played) -> Option<&'a Violation> {
    let violations = &played.violations;
    let promise = playable.script().failure.as_ref().map(|failure| &*failure.promise);
    let same = violations.iter().find(|violation| Some(&*violation.promise) == promise);
    same.or(violations.first())
}

fn same(program: &str, playable: &Playable, played: &Played, wide: bool) -> Answer {
    let name = playable.file.name();
    let failing = recorded(playable, played);
    let text = match failing {
        None => format!(
            "{}  the run is the one recorded, and it breaks no promise any more\n",
            report::good("ok")
        ),
        Some(violation) => {
            let mut text = report::explain(&Failing {
                system: playable.system,
                run: &played.run,
                violation,
                scenario: &playable.script().story,
                origin: &run::origin(playable),
                replay: &format!("{program} replay {name}"),
            });
            let see = format!("{program} trace {name}");
            let history = History::new(playable, played);
            if wide {
                let _ = write!(text, "\n{}", history.wide());
            } else {
                text += &report::history(&history.folded(), &see);
            }
            text
        }
    };
    let json = run::document(playable, played, failing.is_none());
    Answer { text, json, code: u8::from(failing.is_some()) }
}

fn differs(
    program: &str,
    playable: &Playable,
    failure: &Failure,
    played: &Played,
    misfits: &[String],
) -> Answer {
    let mut text = format!("{}  {} no longer fits\n", report::bad("MISFIT"), playable.file.name());
    for misfit in misfits {
        let _ = writeln!(text, "  {misfit}");
    }
    let _ = writeln!(text, "  recorded  {}: {}", failure.promise, failure.message);
    match recorded(playable, played) {
        None => text += "  now       every promise holds\n",
        Some(violation) => {
            let _ =
                writeln!(text, "  now       {}: {}", violation.promise, violation.finding.message);
        }
    }
    let _ = writeln!(text, "  see       {program} trace {}", playable.file.name());
    let mut json = run::document(playable, played, false);
    json["misfits"] = json!(misfits);
    Answer { text, json, code: 3 }
}
