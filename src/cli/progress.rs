//! A progress bar on the terminal; without a terminal it prints nothing.

use std::fmt;
use std::io::{IsTerminal, Write};

use thunderhead_props::explore::Progress;

/// How wide the bar is, in characters.
const WIDTH: u64 = 24;

/// A bar that is drawn over itself on standard error.
#[derive(Debug)]
pub struct ProgressBar {
    terminal: bool,
    shown: String,
}

impl ProgressBar {
    /// Creates a bar, which is drawn only if standard error is a terminal.
    pub fn new() -> ProgressBar {
        ProgressBar { terminal: std::io::stderr().is_terminal(), shown: String::new() }
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

/// How far a search is, how fast it goes and what it has found.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How many runs were played, and what they have shown.
    pub progress: Progress,
    /// How many runs there are to be, at most.
    pub all: u64,
    /// How many are played in a second.
    pub per_second: u64,
    /// How many promises are broken.
    pub broken: usize,
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pace { progress: Progress { runs, seen, sometimes }, all, per_second, broken } = *self;
        // An enumeration ends when there is nothing left to try, which nobody knows before.
        match all {
            u64::MAX => write!(f, "{runs} runs")?,
            _ => write!(f, "{runs} of {all} runs")?,
        }
        write!(f, ", {per_second}/s")?;
        if sometimes > 0 {
            write!(f, ", {seen} of {sometimes} sometimes seen")?;
        }
        match broken {
            0 => {}
            1 => write!(f, ", 1 promise broken")?,
            more => write!(f, ", {more} promises broken")?,
        }
        if all == u64::MAX || per_second == 0 {
            return Ok(());
        }
        let left = all.saturating_sub(runs).div_ceil(per_second);
        match (left / 3600, left / 60 % 60, left % 60) {
            (0, 0, seconds) => write!(f, ", {seconds} s left"),
            (0, minutes, seconds) => write!(f, ", {minutes} min {seconds} s left"),
            (hours, minutes, _) => write!(f, ", {hours} h {minutes} min left"),
        }
    }
}

impl Drop for ProgressBar {
    fn drop(&mut self) {
        if !self.shown.is_empty() {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_says_how_far_and_how_fast_and_what_is_broken_and_what_is_left() {
        let pace = |runs, all, per_second, broken| {
            let progress = Progress { runs, seen: 0, sometimes: 0 };
            Pace { progress, all, per_second, broken }.to_string()
        };
        assert_eq!(pace(500, 1000, 100, 0), "500 of 1000 runs, 100/s, 5 s left");
        assert_eq!(pace(0, 1001, 10, 1), "0 of 1001 runs, 10/s, 1 promise broken, 1 min 41 s left");
        assert_eq!(pace(10, 10_000_000, 900, 2).split(", ").last(), Some("3 h 5 min left"));
        assert_eq!(pace(10, u64::MAX, 900, 2), "10 runs, 900/s, 2 promises broken");
        assert_eq!(pace(0, 10, 0, 0), "0 of 10 runs, 0/s");
    }

    #[test]
    fn a_pace_says_how_much_of_what_sometimes_happens_was_seen() {
        let progress = Progress { runs: 20, seen: 7, sometimes: 9 };
        let pace = Pace { progress, all: 40, per_second: 10, broken: 0 };
        assert_eq!(pace.to_string(), "20 of 40 runs, 10/s, 7 of 9 sometimes seen, 2 s left");
    }
}
