//! `thunderhead replay FILE`: plays a recorded run again, and says where it differs.

use std::fmt::Write;
use std::path::PathBuf;

use serde_json::json;
use thunderhead_props::{Name, Violation};
use thunderhead_sim::{Failure, Script, printable};

use super::{Answer, CliError, Given, input, model, run};
use crate::VERSION;
use crate::as_script;
use crate::history::History;
use crate::model::{Choice, Model};
use crate::playable::{Playable, Played};
use crate::recorded;
use crate::report::{self, Failing};

/// The arguments of `replay`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A failure file that `explore` or `check` wrote.
    pub file: PathBuf,
    /// The history with nothing abbreviated.
    #[arg(long)]
    wide: bool,
    /// The whole history, not only what led to the failure.
    #[arg(long, conflicts_with = "wide")]
    history: bool,
    /// Prints the failure as a script without a tape, to be edited, kept, and played by `run`.
    #[arg(long, conflicts_with_all = ["wide", "history"])]
    as_script: bool,
    #[command(flatten)]
    pub model: model::Arg,
}

pub fn replay(given: Given, args: &Args) -> Result<Answer, CliError> {
    let text = input::text(&args.file)?;
    let name = input::shown(&args.file);
    let other = Script::version_of(&text).filter(|version| version != VERSION);
    let playable = Script::parse(&args.file.display().to_string(), &text)
        .and_then(|file| input::ready(file, &args.file, given));
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
    same_model(&name, &failure, given.model)?;
    let played = playable.play().map_err(|error| CliError::Mismatch(format!("{name}: {error}")))?;
    let misfits = recorded::misfits(&playable, &failure, &played);
    Ok(match recorded::violation(&failure, &played) {
        Some(_) if misfits.is_empty() && args.as_script => {
            return as_script(given, &playable, &failure, args);
        }
        Some(violation) if misfits.is_empty() => {
            same(given.program, &playable, &played, violation, args)
        }
        _ => differs(given.program, &playable, &failure, &played, &misfits),
    })
}

/// Refuses a failure of another model: other answers make another run.
fn same_model(name: &str, failure: &Failure, model: &Model) -> Result<(), CliError> {
    let made = failure.model.as_deref().unwrap_or(Choice::StandIn.name());
    if made == model.identity() {
        return Ok(());
    }
    let (made, here) = (printable(made), model.identity());
    Err(CliError::Mismatch(format!(
        "{name}: made with the model `{made}`, and here it is `{here}`: the run would be another one"
    )))
}

fn made_by(name: &str, version: &str) -> String {
    let version = printable(version);
    format!("{name}: made by thunderhead {version}, this is {VERSION}: the run may be another one")
}

fn same(
    program: &str,
    playable: &Playable,
    played: &Played,
    violation: &Violation,
    args: &Args,
) -> Answer {
    let name = printable(playable.file.name());
    let mut text = report::explain(&Failing {
        system: playable.system,
        run: &played.run,
        violation,
        scenario: &playable.script().story,
        origin: &run::origin(playable),
        replay: &format!("{program} replay {name}"),
    });
    let others = played.violations.iter().map(|other| other.promise.clone());
    let others: Vec<Name> = others.filter(|other| *other != violation.promise).collect();
    text += &report::also(&others);
    let history = History::new(playable, played);
    text.push('\n');
    text += &match args {
        Args { wide: true, .. } => history.wide(),
        Args { history: true, .. } => history.folded(),
        _ => {
            let see = format!("{program} trace {name}");
            history.story_of(violation) + &report::all(&played.run, &see)
        }
    };
    Answer { text, json: run::document(playable, played, false), code: 1, notes: Vec::new() }
}

/// The failure as a script whose faults have names and places. It is read and played like any other before it is
/// offered.
fn as_script(
    given: Given,
    playable: &Playable,
    failure: &Failure,
    args: &Args,
) -> Result<Answer, CliError> {
    let name = input::shown(&args.file);
    let none = |why: &str| {
        CliError::Mismatch(format!(
            "{name}: it cannot be told as a script without a tape: {why}\n  it is a script as it is: `{} run {name}` plays it with its tape",
            given.program
        ))
    };
    let script =
        as_script::script(playable, &failure.promise).map_err(|error| none(&error.to_string()))?;
    let text = script.to_toml();
    let again = Script::parse(&args.file.display().to_string(), &text)
        .and_then(|file| input::ready(file, &args.file, given))
        .map_err(|error| none(&error.to_string()))?;
    let played = again.play().map_err(|error| none(&error.to_string()))?;
    let broken = played.violations.iter().any(|one| *one.promise == *failure.promise);
    if let Some(idle) = played.idle.first().filter(|_| broken) {
        return Err(none(idle));
    }
    if !broken {
        return Err(none("as a script it keeps the promise"));
    }
    let mut json = run::document(&again, &played, false);
    json["script"] = json!(text);
    let text = as_script::with_remark(&text, &played.violations);
    Ok(Answer { text, json, code: 0, notes: Vec::new() })
}

fn differs(
    program: &str,
    playable: &Playable,
    failure: &Failure,
    played: &Played,
    misfits: &[String],
) -> Answer {
    let name = printable(playable.file.name());
    let mut text = format!("{}  {name} does not fit\n", report::bad("MISFIT"));
    if playable.system.origin.is_some() && failure.thunderhead == VERSION {
        let promise = printable(&failure.promise);
        let broken = played.violations.iter().any(|one| *one.promise == *failure.promise);
        let (now, file) = match broken {
            true => ("is broken still", ""),
            false => ("holds now", "; search again, and throw the file away"),
        };
        text = format!(
            "{}  the Worker has changed since {name} was written. In this run, \"{promise}\" {now}{file}\n",
            report::bad("CHANGED")
        );
    }
    for misfit in misfits {
        let _ = writeln!(text, "  {}", printable(misfit));
    }
    let (promise, message) = (printable(&failure.promise), printable(&failure.message));
    let _ = writeln!(text, "  recorded  {promise}: {message}");
    if played.violations.is_empty() {
        text += "  now       every promise holds\n";
    }
    for violation in &played.violations {
        let message = printable(&violation.finding.message);
        let _ = writeln!(text, "  now       {}: {message}", violation.promise);
    }
    let _ = writeln!(text, "  see       {program} trace {name}");
    let mut json = run::document(playable, played, false);
    json["misfits"] = json!(misfits);
    Answer { text, json, code: 3, notes: Vec::new() }
}
