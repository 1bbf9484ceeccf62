//! Describes a violation: in five lines of text, or as a JSON object.

use std::fmt::Write;
use std::io::IsTerminal;

use serde_json::{Value, json};
use thunderhead_props::{Check, FREE, Name, System, Violation};
use thunderhead_sim::{EventKind, Run, printable};

use crate::failure::Found;

/// What a failure is described with.
pub struct Failing<'a> {
    /// The system that fails.
    pub system: &'a System,
    /// The run that fails.
    pub run: &'a Run,
    /// The promise it breaks.
    pub violation: &'a Violation,
    /// What was played: the file, or the system and variant.
    pub scenario: &'a str,
    /// Where its choices came from.
    pub origin: &'a str,
    /// The command that plays it again.
    pub replay: &'a str,
}

/// The five lines: promise, first offending event, scenario, seed or tape, the command that replays.
pub fn explain(failing: &Failing) -> String {
    let Failing { system, run, violation, scenario, origin, replay } = failing;
    let promise = system.promise(&violation.promise);
    let promise = promise.map_or_else(|| violation.promise.to_string(), ToString::to_string);
    let event = match violation.finding.event {
        Some(at) => run.trace.line(at).trim_start().to_string(),
        None => "no single event: it is about what is there, or is not, in the end".into(),
    };
    let mut text = String::new();
    let message = run.trace.abbreviated(&violation.finding.message);
    let _ = writeln!(text, "{}   {promise}: {message}", bad("BROKEN"));
    let _ = writeln!(text, "  event  {event}");
    let _ = writeln!(text, "  story  {}", printable(scenario));
    let _ = writeln!(text, "  from   {}", printable(origin));
    let _ = writeln!(text, "  replay {}", printable(replay));
    // What differs from the calm has offered its own line.
    let free = FREE.iter().find(|free| free.name == violation.promise);
    if system.origin.is_some() && free.is_some_and(|free| !matches!(free.check, Check::Converges)) {
        let _ = writeln!(
            text,
            "  ignore if this may be so, write the line `### ignore {}` into storm.http",
            violation.promise
        );
    }
    text
}

/// A failure that was written to `file`: the five lines, what led to it, and where it parts from a run that holds.
/// When it is asked for, the whole history follows.
pub fn failure(
    found: &Found,
    story: &str,
    program: &str,
    file: &str,
    origin: &str,
    whole: bool,
) -> String {
    let Found { system, violation, run, .. } = *found;
    let mut text = explain(&Failing {
        system,
        run,
        violation,
        scenario: &summary(found),
        origin,
        replay: &format!("{program} replay {file}"),
    });
    text += &also(found.also);
    let _ = write!(text, "\n{story}");
    text += &match whole {
        true => format!("\n{}", folded(run, violation)),
        false => all(run, &format!("{program} trace {file}")),
    };
    text + "\n"
}

/// The promises that the run breaks besides the one that is told, in one line.
pub fn also(promises: &[Name]) -> String {
    match promises {
        [] => String::new(),
        many => format!("  also   the same run breaks: {}\n", many.join("; ")),
    }
}

/// How to see all of a history.
pub fn all(run: &Run, see: &str) -> String {
    format!("All {}: {see}\n", count(run.trace.events().len(), "event", "events"))
}

/// The whole history with the offending line marked.
pub fn folded(run: &Run, violation: &Violation) -> String {
    let broken_at: Vec<usize> = violation.finding.event.into_iter().collect();
    run.trace.folded(&broken_at)
}

fn summary(found: &Found) -> String {
    format!(
        "{} {}: {}, {}, {}, {}",
        found.system.name,
        found.variant.name,
        count(found.case.scenario.requests.len(), "request", "requests"),
        count(found.case.tape.len(), "deviation", "deviations"),
        count(found.run.crashes, "crash", "crashes"),
        count(faults(found.run), "other fault", "other faults"),
    )
}

/// The JSON object of a violation, without the file and the seed.
pub fn violation(run: &Run, violation: &Violation) -> Value {
    let event = violation.finding.event.map(|at| {
        json!({
            "number": at + 1,
            "text": run.trace.line(at).trim_start(),
        })
    });
    json!({
        "promise": violation.promise,
        // The contract of the command line names promises so, and tools depend on it.
        "invariant": violation.promise,
        "message": violation.finding.message,
        "event": event,
    })
}

/// How many faults a run has, without its crashes.
pub fn faults(run: &Run) -> usize {
    run.trace.events().iter().filter(|event| matches!(event.kind, EventKind::Fault { .. })).count()
}

/// `1 crash`, `2 crashes`.
pub fn count(number: impl TryInto<u64>, one: &str, many: &str) -> String {
    match number.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {one}"),
        number => format!("{number} {many}"),
    }
}

/// Paints a word green on a terminal.
pub fn good(word: &str) -> String {
    paint(word, "32")
}

/// Paints a word red on a terminal.
pub fn bad(word: &str) -> String {
    paint(word, "31")
}

fn paint(word: &str, colour: &str) -> String {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if std::io::stdout().is_terminal() && !refused {
        format!("\x1b[{colour}m{word}\x1b[0m")
    } else {
        word.into()
    }
}
