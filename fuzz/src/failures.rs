//! Failure files: a file that was changed never passes for what it was.

use thunderhead::recorded;
use thunderhead_sim::Script;

use crate::{Input, mutation, scripts};

/// Failure files of the relay, and what becomes of them.
pub const FAILURES: Input = Input {
    name: "failures",
    about: "failure files: read, played, and compared with what they record",
    examples,
    words: || {
        vec![
            "failure",
            "choices",
            "sum",
            "thunderhead",
            "promise",
            "message",
            "seed",
            "strategy",
            "trace",
            "random",
            "enumerate",
            "variant",
            "acks-early",
            "writes-twice",
            "reference",
            "relay",
            "every upload has its receipt",
            "one receipt per upload",
        ]
    },
    mutated: mutation::text,
    check,
};

/// The shrunk failures of two variants, as a search writes them.
fn examples() -> Vec<Vec<u8>> {
    crate::files(std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/failures")))
        .into_iter()
        .map(|(_, text)| text)
        .collect()
}

fn check(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let file = match Script::parse("failure.toml", &text) {
        Ok(file) => file,
        Err(error) => return scripts::objection(&error.to_string()),
    };
    let Some(failure) = file.script.failure.clone() else { return Ok(()) };
    let playable = match crate::playable(file) {
        Ok(playable) => playable,
        Err(error) => return scripts::objection(&error.to_string()),
    };
    let played = match playable.play() {
        Ok(played) => played,
        Err(error) => return scripts::objection(&error.to_string()),
    };
    let misfits = recorded::misfits(&playable, &failure, &played);
    misfits.iter().try_for_each(|misfit| scripts::clean("a misfit", misfit))?;
    if !misfits.is_empty() {
        return Ok(());
    }
    let found = recorded::violation(&failure, &played);
    let same = found.is_some_and(|found| {
        *found.promise == *failure.promise && found.finding.message == failure.message
    });
    let whole = failure.sum.is_none_or(|sum| sum == playable.script().sum());
    match same && whole && played.run.trace.hash() == failure.trace {
        true => Ok(()),
        false => Err(format!("it passes for {failure:?}")),
    }
}
