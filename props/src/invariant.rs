//! What is promised of a run, as plain data.

use std::fmt;

use thunderhead_sim::{Run, Trace, What};

/// One promise.
#[derive(Debug)]
pub struct Invariant {
    /// The promise in a few words, unique within its system.
    pub name: &'static str,
    /// What it means, in one sentence.
    pub about: &'static str,
    /// How it is judged.
    pub property: Property,
}

/// When a promise must hold.
#[derive(Clone, Copy, Debug)]
pub enum Property {
    /// At every moment of every run.
    Always(fn(&Trace) -> Result<(), Finding>),
    /// When the calm has come and the run is at rest.
    Eventually(fn(&Trace) -> Result<(), Finding>),
    /// In some run of a campaign: proof that the campaign was not vacuous.
    Sometimes(fn(&Trace) -> bool),
}

impl Property {
    /// `always`, `eventually` or `sometimes`.
    pub fn word(self) -> &'static str {
        match self {
            Property::Always(_) => "always",
            Property::Eventually(_) => "eventually",
            Property::Sometimes(_) => "sometimes",
        }
    }
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.property.word(), self.name)
    }
}

/// What an invariant found wrong.
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
    /// The promise.
    pub invariant: &'static str,
    /// What is wrong.
    pub finding: Finding,
}

/// Judges a run by every invariant that is not a `sometimes`, in their order.
pub fn judge(promises: impl Iterator<Item = &'static Invariant>, run: &Run) -> Vec<Violation> {
    let trace = &run.trace;
    let at_rest = run.end == thunderhead_sim::End::Quiet
        && trace.events().iter().any(|event| event.what == What::Calm);
    let broken = promises.filter_map(|invariant| {
        let checked = match invariant.property {
            Property::Always(check) => check(trace),
            Property::Eventually(check) if at_rest => check(trace),
            Property::Eventually(_) | Property::Sometimes(_) => Ok(()),
        };
        checked.err().map(|finding| Violation { invariant: invariant.name, finding })
    });
    broken.collect()
}
