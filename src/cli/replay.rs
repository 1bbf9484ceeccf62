//! `thunderhead replay FILE`: the exact run again, or a clear word on why it is not the same.

use std::fmt::Write;
use std::path::PathBuf;

use serde_json::json;
use thunderhead::VERSION;
use thunderhead::playable::{Playable, Played};
use thunderhead_props::Violation;
use thunderhead_sim::{Failure, Run, Script, ScriptChoices, Tape};

use super::report::{self, Failing};
use super::{Answer, CliError, input, run};

/// What `replay` is told.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A failure file, as `explore` writes them.
    file: PathBuf,
}

pub fn replay(args: &Args) -> Result<Answer, CliError> {
    let text = input::text(&args.file)?;
    let name = args.file.display().to_string();
    let other = Script::version_of(&text).filter(|version| version != VERSION);
    let plan = Script::parse(&name, &text).and_then(Playable::new);
    let plan = match (plan, &other) {
        (Ok(plan), _) => plan,
        (Err(error), None) => return Err(error.into()),
        (Err(error), Some(version)) => {
            return Err(CliError::SetupError(format!("{}:\n{error}", made_by(&name, version))));
        }
    };
    let Some(failure) = plan.script().failure.clone() else {
        return Err(CliError::Input(format!(
            "{name}: nothing is recorded here: there is no [failure] table\n  `thunderhead run {name}` plays a scenario; a failure file without that table was cut off"
        )));
    };
    let played = plan.play().map_err(|misfit| CliError::SetupError(format!("{name}: {misfit}")))?;
    let misfits = misfits(&plan, &failure, &played.run, other.as_deref());
    Ok(if misfits.is_empty() {
        same(&plan, &played)
    } else {
        differs(&plan, &failure, &played, &misfits)
    })
}

fn made_by(name: &str, version: &str) -> String {
    format!("{name}: made by thunderhead {version}, this is {VERSION}: the run may be another one")
}

/// Everything in which this run is not the one that was recorded.
fn misfits(plan: &Playable, failure: &Failure, run: &Run, other: Option<&str>) -> Vec<String> {
    let mut misfits = Vec::new();
    if let Some(version) = other {
        misfits.push(made_by(plan.file.name(), version));
    }
    if let ScriptChoices::Tape(tape) = &plan.script().choices {
        misfits.extend(unfitting(tape, run));
    }
    let now = run.trace.hash();
    if now != failure.trace {
        misfits.push(format!("the trace was {}, now it is {now}", failure.trace));
    }
    misfits
}

/// The lines of a tape that this run never asked for, or asked with other options.
fn unfitting(tape: &Tape, run: &Run) -> Vec<String> {
    let actors = run.trace.actors();
    let lines = tape.0.iter().filter_map(|line| {
        let asked = run.draws.iter().find(|draw| {
            let now = draw.deviation(actors, line.value);
            now.site == line.site && now.nth == line.nth
        });
        match asked {
            None => Some(format!("`{line}`: this turn is never reached")),
            Some(draw) if draw.of != line.of => {
                Some(format!("`{line}`: there were {} options, now there are {}", line.of, draw.of))
            }
            Some(_) => None,
        }
    });
    lines.collect()
}

/// The violation to tell of: of the promise that was recorded, or the first there is.
fn recorded<'a>(plan: &Playable, played: &'a Played) -> Option<&'a Violation> {
    let violations = &played.violations;
    let promise = plan.script().failure.as_ref().map(|failure| &*failure.promise);
    let same = violations.iter().find(|violation| Some(violation.promise) == promise);
    same.or(violations.first())
}

fn same(plan: &Playable, played: &Played) -> Answer {
    let name = plan.file.name();
    let failing = recorded(plan, played);
    let text = match failing {
        None => format!(
            "{}  the run is the one recorded, and it breaks no promise any more\n",
            report::good("ok")
        ),
        Some(violation) => {
            let mut text = report::explain(&Failing {
                system: plan.system,
                run: &played.run,
                violation,
                scenario: &plan.script().story,
                origin: &run::origin(plan),
                replay: &format!("thunderhead replay {name}"),
            });
            text += &report::history(&played.run, &format!("thunderhead trace {name}"));
            text
        }
    };
    let json = run::document(plan, played, failing.is_none());
    Answer { text, json, code: u8::from(failing.is_some()) }
}

fn differs(plan: &Playable, failure: &Failure, played: &Played, misfits: &[String]) -> Answer {
    let mut text = format!("{}  {} no longer fits\n", report::bad("MISFIT"), plan.file.name());
    for misfit in misfits {
        let _ = writeln!(text, "  {misfit}");
    }
    let _ = writeln!(text, "  recorded  {}: {}", failure.promise, failure.message);
    match recorded(plan, played) {
        None => text += "  now       every promise holds\n",
        Some(violation) => {
            let _ =
                writeln!(text, "  now       {}: {}", violation.promise, violation.finding.message);
        }
    }
    let _ = writeln!(text, "  see       thunderhead trace {}", plan.file.name());
    let mut json = run::document(plan, played, false);
    json["misfits"] = json!(misfits);
    Answer { text, json, code: 3 }
}
