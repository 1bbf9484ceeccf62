//! Failure files: a shrunk failure as a script that `replay`, `run` and `trace` read.

use std::io;
use std::path::{Path, PathBuf};

use thunderhead::VERSION;
use thunderhead_props::explore::{Broken, Search};
use thunderhead_sim::{Failure, Script, ScriptChoices};

use super::CliError;

/// The failure as a script.
pub fn script(search: &Search, broken: &Broken) -> Script {
    let (system, variant) = (search.system.name, search.variant.name);
    let promise = broken.violation.promise;
    Script {
        story: format!("{system} {variant} breaks a promise: {promise}."),
        system: system.into(),
        variant: Some(variant.into()),
        scenario: broken.case.scenario.clone(),
        choices: ScriptChoices::Tape(broken.case.tape.clone()),
        expect: None,
        failure: Some(Failure {
            thunderhead: VERSION.into(),
            promise: promise.into(),
            message: broken.violation.finding.message.clone(),
            seed: broken.seed,
            strategy: search.strategy.name().into(),
            choices: broken.case.tape.len(),
            trace: broken.run.trace.hash(),
        }),
    }
}

/// Writes the failure into a folder, which is created if need be, and returns its path.
pub fn write(folder: &Path, search: &Search, broken: &Broken) -> Result<PathBuf, CliError> {
    let path = folder.join(name(search, broken));
    let written = write_whole(&path, &script(search, broken).to_toml());
    written
        .map_err(|error| CliError::Input(format!("cannot write {}: {error}", path.display())))?;
    Ok(path)
}

fn name(search: &Search, broken: &Broken) -> String {
    let promise: String = broken
        .violation
        .promise
        .chars()
        .map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .collect();
    let origin = match broken.seed {
        Some(seed) => format!("{}-{seed}", search.strategy),
        None => search.strategy.name().into(),
    };
    format!("{}-{}-{promise}-{origin}.toml", search.system.name, search.variant.name)
}

/// Writes a file through a draft beside it, so that no reader sees half of it.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let draft = path.with_extension(format!("{}.tmp", std::process::id()));
    let written = std::fs::write(&draft, text).and_then(|()| std::fs::rename(&draft, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    written
}
