//! A progress bar on the terminal; without a terminal it prints nothing.

use std::io::{IsTerminal, Write};

/// How wide the bar is, in characters.
const WIDTH: u64 = 24;

/// A bar that is drawn over itself on standard error.
#[derive(Debug)]
pub struct Progress {
    terminal: bool,
    shown: String,
}

impl Progress {
    /// Creates a bar, which is drawn only if standard error is a terminal.
    pub fn new() -> Progress {
        Progress { terminal: std::io::stderr().is_terminal(), shown: String::new() }
    }

    /// Shows that `done` of `all` is done.
    pub fn show(&mut self, done: u64, all: u64, what: &str) {
        if !self.terminal {
            return;
        }
        let filled = (done.min(all) * WIDTH / all.max(1)) as usize;
        let empty = WIDTH as usize - filled;
        let line = format!("[{}{}] {what}", "#".repeat(filled), " ".repeat(empty));
        if line != self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[2K{line}");
            self.shown = line;
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if !self.shown.is_empty() {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}
