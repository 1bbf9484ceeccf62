//! Failure files: a failing run as a script that `replay`, `run` and `trace` read.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thunderhead_props::explore::{Broken, Search};
use thunderhead_props::{System, Variant, Violation};
use thunderhead_sim::{Case, Failure, Run, Script, ScriptChoices};

use crate::VERSION;

/// A run that breaks a promise, and how it was found.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The system that was played.
    pub system: &'a System,
    /// The variant of it.
    pub variant: &'a Variant,
    /// The promise that is broken.
    pub violation: &'a Violation,
    /// The scenario and its choices.
    pub case: &'a Case,
    /// The run of that case.
    pub run: &'a Run,
    /// How runs were chosen, in one word.
    pub strategy: &'a str,
    /// The seed of the run that was shrunk, when it had one.
    pub seed: Option<u64>,
}

impl<'a> Found<'a> {
    /// What a search found.
    pub fn by(search: &Search<'a>, broken: &'a Broken) -> Found<'a> {
        Found {
            system: search.system,
            variant: search.variant,
            violation: &broken.violation,
            case: &broken.case,
            run: &broken.run,
            strategy: search.strategy.name(),
            seed: broken.seed,
        }
    }

    /// The failure as a script.
    pub fn script(&self) -> Script {
        let (system, variant) = (&self.system.name, &self.variant.name);
        let promise = &self.violation.promise;
        Script {
            story: format!("{system} {variant} breaks a promise: {promise}."),
            system: system.to_string(),
            variant: Some(variant.to_string()),
            scenario: self.case.scenario.clone(),
            choices: ScriptChoices::Tape(self.case.tape.clone()),
            expect: None,
            failure: Some(Failure {
                thunderhead: VERSION.into(),
                promise: promise.to_string(),
                message: self.violation.finding.message.clone(),
                seed: self.seed,
                strategy: self.strategy.into(),
                choices: self.case.tape.len(),
                trace: self.run.trace.hash(),
            }),
        }
    }

    /// Writes the failure into a folder, which is created if need be, and returns its path.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, Unwritten> {
        let path = folder.join(self.file_name());
        match write_whole(&path, &self.script().to_toml()) {
            Ok(()) => Ok(path),
            Err(error) => Err(Unwritten { path, error }),
        }
    }

    fn file_name(&self) -> String {
        let origin = self.seed.map_or(String::new(), |seed| format!("-{seed}"));
        let parts = [&*self.system.name, &*self.variant.name, &*self.violation.promise];
        let name = format!("{}-{}{origin}", parts.join("-"), self.strategy);
        // Names may hold anything, a file's name may not.
        let plain = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        format!("{}.toml", name.chars().map(plain).collect::<String>())
    }
}

/// A failure file that could not be written.
#[derive(Debug)]
pub struct Unwritten {
    path: PathBuf,
    error: io::Error,
}

impl fmt::Display for Unwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write {}: {}", self.path.display(), self.error)
    }
}

impl std::error::Error for Unwritten {}

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
