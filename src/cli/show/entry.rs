//! What a list tells of one file: a failure, or why it cannot be shown.

use std::path::Path;

use thunderhead_sim::printable;

use super::super::{CliError, Given, input, with_workers};
use crate::history::History;
use crate::page::page;
use crate::playable::{Playable, Played};
use crate::recorded;

/// One line of a list.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A failure.
    Failure(Failure),
    /// Why a file cannot be shown.
    Unshown(String),
}

/// What a list tells of a failure.
#[derive(Clone, Debug)]
pub struct Failure {
    pub promise: String,
    pub message: String,
    pub system: String,
    pub variant: String,
    /// The faults that led to it, in words.
    pub faults: Vec<String>,
    pub events: usize,
    /// What no longer fits the code.
    pub misfit: Option<String>,
}

/// What was told of a file, and whether it stays so while the file does.
pub struct Told {
    pub entry: Entry,
    pub lasts: bool,
}

/// What a list tells of a file.
pub fn tell(given: Given, path: &Path) -> Told {
    let failure = played(given, path, |playable, played| {
        let script = playable.script();
        let failure = script.failure.as_ref();
        let first = played.violations.first();
        let promise = failure.map(|failure| failure.promise.clone());
        let promise = promise.or_else(|| first.map(|first| first.promise.to_string()));
        let message = failure.map(|failure| failure.message.clone());
        let message = message.or_else(|| first.map(|first| first.finding.message.clone()));
        let misfits = failure.map(|failure| recorded::misfits(playable, failure, played));
        let story =
            History::new(playable, played).plainest().map(|one| one.story(&played.run.trace));
        let faults = story.into_iter().flat_map(|story| story.faults).map(|(_, words)| words);
        let entry = Failure {
            promise: promise.unwrap_or_default(),
            message: played.run.trace.abbreviated(&message.unwrap_or_default()),
            system: playable.system.name.to_string(),
            variant: playable.variant.name.to_string(),
            faults: faults.collect(),
            events: played.run.trace.events().len(),
            misfit: misfits.and_then(|misfits| misfits.into_iter().next()),
        };
        // A Worker may be another one the next time.
        Told { entry: Entry::Failure(entry), lasts: playable.system.origin.is_none() }
    });
    failure.unwrap_or_else(|why| Told { entry: Entry::Unshown(why), lasts: false })
}

/// The page of a failure, or why there is none.
pub fn page_of(given: Given, path: &Path) -> Result<String, String> {
    played(given, path, |playable, played| page(playable, played, given.program, Some("/")))
}

/// Plays a failure file.
fn played<T>(
    given: Given,
    path: &Path,
    then: impl FnOnce(&Playable, &Played) -> T,
) -> Result<T, String> {
    let told = |error: CliError| printable(&error.to_string().replace('\n', " ")).into_owned();
    if path.extension().is_none_or(|extension| extension != "toml") {
        return Err("it is no failure file: its name does not end in .toml".into());
    }
    let named: Vec<_> = input::named(path).into_iter().collect();
    with_workers(given, &named, |given| {
        let file = input::script(path)?;
        let Some(failure) = &file.script.failure else {
            return Err(CliError::Input(
                "it is a script, and no failure: there is no [failure] table".into(),
            ));
        };
        if failure.model.as_deref().is_some_and(|model| model != given.model.identity()) {
            return Err(CliError::Mismatch(format!(
                "it was made with the model `{}`, which is not loaded here; `{} replay` loads it",
                failure.model.as_deref().unwrap_or_default(),
                given.program
            )));
        }
        let playable = input::ready(file, path, given)?;
        let played = playable.play()?;
        Ok(then(&playable, &played))
    })
    .map_err(told)
}
