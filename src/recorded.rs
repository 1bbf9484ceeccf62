//! Whether a failure file is what it says: the run that it records, with the violation that it records.

use thunderhead_props::Violation;
use thunderhead_sim::{Failure, FaultSet, Run, Script, ScriptChoices, Tape, printable};

use crate::VERSION;
use crate::playable::{Playable, Played, asked};

/// The violation that a failure file records, among those of the run: of the same promise, with the same message.
pub fn violation<'a>(failure: &Failure, played: &'a Played) -> Option<&'a Violation> {
    let same = |violation: &&Violation| {
        *violation.promise == *failure.promise && violation.finding.message == failure.message
    };
    played.violations.iter().find(same)
}

/// The parts of a failure file that do not fit the run that was played from it; none when the run is the recorded
/// one and breaks the recorded promise in the recorded way.
pub fn misfits(playable: &Playable, failure: &Failure, played: &Played) -> Vec<String> {
    let mut misfits = Vec::new();
    if failure.thunderhead != VERSION {
        misfits.push(format!(
            "`thunderhead`: made by thunderhead {}, this is {VERSION}: the run may be another one",
            printable(&failure.thunderhead)
        ));
    }
    let run = &played.run;
    if let ScriptChoices::Tape(tape) = &playable.script().choices {
        let drawn = playable.script().scenario.drawn_faults;
        let wrong = unfitting(tape, drawn, run).into_iter();
        misfits.extend(wrong.map(|wrong| format!("`tape`: {wrong}")));
    }
    let now = run.trace.hash();
    if now != failure.trace {
        misfits.push(format!("`trace`: the trace was {}, now it is {now}", failure.trace));
    }
    misfits.extend(unbroken(playable, failure, played));
    if misfits.is_empty() && failure.sum.is_some_and(|sum| sum != playable.script().sum()) {
        misfits.push(changed(playable.script()));
    }
    misfits
}

/// Says so when the recorded promise is not broken, or is broken in another way.
fn unbroken(playable: &Playable, failure: &Failure, played: &Played) -> Option<String> {
    if violation(failure, played).is_some() {
        return None;
    }
    let promise = printable(&failure.promise);
    if playable.system.promise(&failure.promise).is_none() {
        return Some(format!("`promise`: {} promises no `{promise}`", playable.system.name));
    }
    let broken = played.violations.iter().find(|violation| *violation.promise == *failure.promise);
    Some(match broken {
        None => format!("`promise`: the run does not break `{promise}`"),
        Some(violation) => {
            format!("`message`: the run says `{}`", printable(&violation.finding.message))
        }
    })
}

/// Everything that the run shows fits, and yet the file is not the one that was written.
fn changed(script: &Script) -> String {
    let failure = script.failure.as_ref();
    let seed =
        failure.and_then(|failure| failure.seed).map_or("none".into(), |seed| seed.to_string());
    format!(
        "`sum`: the file was changed after it was written, in a part that the run does not show: \
         `story`, `seed` (now {seed}), `strategy`, or a fault or request that plays no part"
    )
}

/// The lines of a tape that this run never asked for, or asked for with another number of options.
fn unfitting(tape: &Tape, drawn: FaultSet, run: &Run) -> Vec<String> {
    let asked = asked(run);
    let told = tape.0.iter().zip(tape.in_words(drawn));
    let lines = told.filter_map(|(line, said)| {
        let wrong = match asked.get(&(line.site.clone(), line.nth)) {
            None => "this turn is never reached".into(),
            Some(of) if *of != line.of => {
                format!("there were {} options, now there are {of}", line.of)
            }
            Some(_) => return None,
        };
        Some(format!("`{}`: {wrong}", printable(&said)))
    });
    lines.collect()
}
