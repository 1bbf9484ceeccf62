//! Failure files: a failing run as a script that `replay`, `run` and `trace` read.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use thunderhead_props::explore::{Broken, Search};
use thunderhead_props::{Name, System, Variant, Violation};
use thunderhead_sim::{Case, Failure, Run, Script, ScriptChoices, printable};

use crate::VERSION;
use crate::model::Choice;
use crate::story;

/// A run that breaks a promise, and how it was found.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The system that was played.
    pub system: &'a System,
    /// The variant of it.
    pub variant: &'a Variant,
    /// The promise that is broken.
    pub violation: &'a Violation,
    /// The other promises that the run breaks.
    pub also: &'a [Name],
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
            also: &broken.also,
            case: &broken.case,
            run: &broken.run,
            strategy: search.strategy.name(),
            seed: broken.seed,
        }
    }

    /// The failure as a script.
    pub fn script(&self) -> Script {
        let (system, variant) = (&self.system.name, &self.variant.name);
        let (promise, model) = (&self.violation.promise, self.run.model.as_deref());
        Script {
            story: format!("{system} {variant} breaks a promise: {promise}."),
            system: system.to_string(),
            variant: Some(variant.to_string()),
            model: model.and_then(Choice::of_identity).map(|choice| choice.to_string()),
            scenario: self.case.scenario.clone(),
            choices: ScriptChoices::Tape(self.case.tape.clone()),
            expect: None,
            failure: Some(Failure {
                thunderhead: VERSION.into(),
                model: model.map(Into::into),
                promise: promise.to_string(),
                message: self.violation.finding.message.clone(),
                seed: self.seed,
                strategy: self.strategy.into(),
                choices: self.case.tape.len(),
                trace: self.run.trace.hash(),
                sum: None,
            }),
        }
        .sealed()
    }

    /// What led to it, and where it parts from the nearest run that holds.
    pub fn story(&self) -> String {
        story::told(self.system, self.variant, self.case, self.run, self.violation)
    }

    /// Writes the failure into a folder, which is created if need be, and returns its path. A system that is read from
    /// elsewhere is named by where it is, as seen from that folder. The story is a comment: it says to whom opens the
    /// file what its tape does.
    pub fn write(
        &self,
        folder: &Path,
        system: Option<String>,
        story: &str,
    ) -> Result<PathBuf, Unwritten> {
        let path = folder.join(self.file_name());
        let script = match system {
            Some(system) => Script { system, ..self.script() }.sealed(),
            None => self.script(),
        };
        let story = story.lines().map(|line| format!("# {line}").trim_end().to_string() + "\n");
        let text = story.collect::<String>() + &script.to_toml();
        match write_whole(&path, &text) {
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
        write!(f, "cannot write {}: {}", printable(&self.path.display().to_string()), self.error)
    }
}

impl std::error::Error for Unwritten {}

/// Makes sure that files can be written into a folder, or that it can be created; nothing is left behind. To be
/// asked before a long search.
pub fn writable(folder: &Path) -> Result<(), Unwritten> {
    let above = folder.ancestors().map(|path| match path.as_os_str().is_empty() {
        true => Path::new("."),
        false => path,
    });
    let mut existing = above.filter(|path| path.symlink_metadata().is_ok());
    let draft = draft(existing.next().unwrap_or(Path::new(".")));
    let written = write_draft(&draft, "thunderhead\n").and_then(|()| std::fs::remove_file(&draft));
    written.map_err(|error| Unwritten { path: folder.into(), error })
}

/// Writes a file through a draft beside it, so that no reader sees half of it.
pub fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    sweep(folder);
    let draft = draft(folder);
    write_draft(&draft, text)?;
    std::fs::rename(&draft, path).inspect_err(|_| drop(std::fs::remove_file(&draft)))
}

/// Writes a draft, so that a full disk is noticed; none is left when it cannot be written.
fn write_draft(draft: &Path, text: &str) -> io::Result<()> {
    let write = || {
        let mut file = File::create(draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    write().inspect_err(|_| drop(std::fs::remove_file(draft)))
}

/// What the name of a draft begins and ends with; between them are the numbers of the process and of the draft.
const DRAFT: (&str, &str) = (".thunderhead-", ".draft");

fn draft(folder: &Path) -> PathBuf {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    let (number, process) = (DRAFTS.fetch_add(1, Ordering::Relaxed), std::process::id());
    folder.join(format!("{}{process}-{number}{}", DRAFT.0, DRAFT.1))
}

/// Removes the drafts of processes that no longer exist.
fn sweep(folder: &Path) {
    // Where processes cannot be looked up, every draft might be of a living one.
    if !Path::new("/proc/self").exists() {
        return;
    }
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| {
            let numbers = name.strip_prefix(DRAFT.0)?.strip_suffix(DRAFT.1)?;
            numbers.split_once('-')?.0.parse::<u32>().ok()
        });
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
