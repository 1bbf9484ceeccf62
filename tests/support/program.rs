//! Runs a program as a user would; the tests of `model` use this file too.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What a command left behind.
pub struct Done {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    /// Its standard output, which must be exactly one JSON document.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", self.stdout, self.stderr))
    }
}

/// Runs a program in a folder.
pub fn run(program: &str, folder: &Path, args: &[&str]) -> Done {
    let output = Command::new(program)
        .args(args)
        .current_dir(folder)
        .output()
        .expect("the program is there");
    let text = |bytes| String::from_utf8(bytes).expect("the program speaks UTF-8");
    Done {
        code: output.status.code().expect("it ended by itself"),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// An empty folder of this test's own.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}
