//! What is promised of a run, as plain data.

use std::fmt;

use thunderhead_sim::{EventKind, Run, Trace};

/// Something that a system promises about its runs.
#[derive(Debug)]
pub struct Promise {
    /// The promise in a few words, unique within its system.
    pub name: &'static str,
    /// What it means, in one sentence.
    pub about: &'static str,
    /// How it is judged.
    pub check: Check,
}

/// When a promise must hold.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// At every moment of every run.
    Always(fn(&Trace) -> Result<(), Finding>),
    /// When the calm has come and the run is at rest.
    Eventually(fn(&Trace) -> Result<(), Finding>),
    /// In some run of a search: proof that the search was not vacuous.
    Sometimes(fn(&Trace) -> bool),
}

impl Check {
    /// `always`, `eventually` or `sometimes`.
    pub fn word(self) -> &'static str {
        match self {
            Check::Always(_) => "always",
            Check::Eventually(_) => "eventually",
            Check::Sometimes(_) => "sometimes",
        }
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.check.word(), self.name)
    }
}

/// What a promise found wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The event that broke it, as an index into the trace; none when something is missing.
    pub event: Option<usize>,
    /// What is wrong, with the names and values involved.
    pub message: String,
}

impl Finding {
    /// This event broke the promise.
    pub fn at(event: usize, message: impl Into<String>) -> Finding {
        Finding { event: Some(event), message: message.into() }
    }

    /// Something that should have happened did not.
    pub fn missing(message: impl Into<String>) -> Finding {
        Finding { event: None, message: message.into() }
    }
}

/// A promise that a run broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The name of the promise.
    pub promise: &'static str,
    /// What is wrong.
    pub finding: Finding,
}

/// Judges a run by every promise that is not a `sometimes`, in their order.
pub fn judge(promises: impl Iterator<Item = &'static Promise>, run: &Run) -> Vec<Violation> {
    let trace = &run.trace;
    let at_rest = run.end == thunderhead_sim::End::Quiet
        && trace.events().iter().any(|event| event.kind == EventKind::Calm);
    let broken = promises.filter_map(|promise| {
        let checked = match promise.check {
            Check::Always(check) => check(trace),
            Check::Eventually(check) if at_rest => check(trace),
            Check::Eventually(_) | Check::Sometimes(_) => Ok(()),
        };
        checked.err().map(|finding| Violation { promise: promise.name, finding })
    });
    broken.collect()
}
