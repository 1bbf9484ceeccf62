//! Runs the command as a user would.

#![allow(dead_code, unused_imports, reason = "each test binary uses a part of it")]

mod program;
mod server;

use std::path::{Path, PathBuf};

pub use program::{Done, run, scratch};
pub use server::Server;

/// Runs `thunderhead` in a folder.
pub fn thunderhead(folder: &Path, args: &[&str]) -> Done {
    run(env!("CARGO_BIN_EXE_thunderhead"), folder, args)
}

/// The folder of the project.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The names of the files in a folder; none when it is not there.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    files
}
