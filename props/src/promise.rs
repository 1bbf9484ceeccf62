//! What is promised of a run, as plain data.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use thunderhead_sim::{End, Event, EventKind, Run, Story, Trace};

use crate::promises::Reading;

/// The name of a system, a variant or a promise: a literal, or a string made at run time.
pub type Name = Cow<'static, str>;

/// Something that a system promises about its runs.
///
/// ```
/// use thunderhead_props::{Check, Finding, Promise};
/// use thunderhead_sim::Trace;
///
/// // A promise that is known when the program is compiled can be a static.
/// static SHORT: Promise = Promise::always("runs are short", "at most 1,000 events", |trace| short(trace, 1_000));
///
/// fn short(trace: &Trace, most: usize) -> Result<(), Finding> {
///     match trace.events().len() {
///         events if events <= most => Ok(()),
///         _ => Err(Finding::at(most, "the run goes on")),
///     }
/// }
///
/// // One that is made at run time owns its name and what its check needs to know.
/// let most = 10;
/// let check = Check::always(move |trace| short(trace, most));
/// let made = Promise::made(format!("at most {most} events"), "the run ends soon", check);
/// assert_eq!(made.to_string(), "always at most 10 events");
/// ```
#[derive(Clone, Debug)]
pub struct Promise {
    /// The promise in a few words, unique within its system.
    pub name: Name,
    /// What it means, in one sentence.
    pub about: Name,
    /// How it is judged.
    pub check: Check,
}

impl Promise {
    /// Holds at every moment of every run.
    pub const fn always(
        name: &'static str,
        about: &'static str,
        check: fn(&Trace) -> Result<(), Finding>,
    ) -> Promise {
        Promise::fixed(name, about, Check::Always(Reads::Plain(check)))
    }

    /// Holds when the calm has come and the run is at rest.
    pub const fn eventually(
        name: &'static str,
        about: &'static str,
        check: fn(&Trace) -> Result<(), Finding>,
    ) -> Promise {
        Promise::fixed(name, about, Check::Eventually(Reads::Plain(check)))
    }

    /// Is seen in some run of a search.
    pub const fn sometimes(
        name: &'static str,
        about: &'static str,
        seen: fn(&Trace) -> bool,
    ) -> Promise {
        Promise::fixed(name, about, Check::Sometimes(Reads::Plain(seen)))
    }

    /// Like [`Promise::always`], with a check that shares what it reads with others.
    pub(crate) const fn always_shared(
        name: &'static str,
        about: &'static str,
        check: fn(&Reading<'_>) -> Result<(), Finding>,
    ) -> Promise {
        Promise::fixed(name, about, Check::Always(Reads::Shared(check)))
    }

    /// Like [`Promise::eventually`], with a check that shares what it reads with others.
    pub(crate) const fn eventually_shared(
        name: &'static str,
        about: &'static str,
        check: fn(&Reading<'_>) -> Result<(), Finding>,
    ) -> Promise {
        Promise::fixed(name, about, Check::Eventually(Reads::Shared(check)))
    }

    /// Like [`Promise::sometimes`], with a check that shares what it reads with others.
    pub(crate) const fn sometimes_shared(
        name: &'static str,
        about: &'static str,
        seen: fn(&Reading<'_>) -> bool,
    ) -> Promise {
        Promise::fixed(name, about, Check::Sometimes(Reads::Shared(seen)))
    }

    /// A promise that is made at run time.
    pub fn made(name: impl Into<Name>, about: impl Into<Name>, check: Check) -> Promise {
        Promise { name: name.into(), about: about.into(), check }
    }

    pub(crate) const fn fixed(name: &'static str, about: &'static str, check: Check) -> Promise {
        Promise { name: Cow::Borrowed(name), about: Cow::Borrowed(about), check }
    }
}

/// When a promise must hold.
#[derive(Clone, Debug)]
pub enum Check {
    /// At every moment of every run.
    Always(Reads<Result<(), Finding>>),
    /// When the calm has come and the run is at rest.
    Eventually(Reads<Result<(), Finding>>),
    /// In some run of a search: proof that the search was not vacuous.
    Sometimes(Reads<bool>),
    /// When the run is at rest: it leaves behind what some calm run of its requests leaves behind. More than the
    /// trace is needed to tell, so [`System::judge`](crate::System::judge) does.
    Converges,
}

impl Check {
    /// A closure that judges every moment of every run.
    pub fn always(check: impl Fn(&Trace) -> Result<(), Finding> + Send + Sync + 'static) -> Check {
        Check::Always(Reads::Made(Arc::new(check)))
    }

    /// A closure that judges a run at rest.
    pub fn eventually(
        check: impl Fn(&Trace) -> Result<(), Finding> + Send + Sync + 'static,
    ) -> Check {
        Check::Eventually(Reads::Made(Arc::new(check)))
    }

    /// A closure that says whether a run shows something.
    pub fn sometimes(seen: impl Fn(&Trace) -> bool + Send + Sync + 'static) -> Check {
        Check::Sometimes(Reads::Made(Arc::new(seen)))
    }

    /// `always`, `eventually` or `sometimes`.
    pub fn word(&self) -> &'static str {
        match self {
            Check::Always(_) => "always",
            Check::Eventually(_) | Check::Converges => "eventually",
            Check::Sometimes(_) => "sometimes",
        }
    }
}

/// A function of a trace: one that a static can hold, or a closure that was made at run time.
#[derive(Clone)]
pub enum Reads<T: 'static> {
    /// A function.
    Plain(fn(&Trace) -> T),
    /// A closure.
    Made(Arc<dyn Fn(&Trace) -> T + Send + Sync>),
    /// A function that shares what it reads with others.
    Shared(fn(&Reading<'_>) -> T),
}

impl<T> Reads<T> {
    /// What it says of this trace.
    pub fn of(&self, trace: &Trace) -> T {
        self.read(&Reading::of(trace))
    }

    /// What it says of a trace that others are asked about too.
    pub(crate) fn read(&self, reading: &Reading<'_>) -> T {
        match self {
            Reads::Plain(read) => read(reading),
            Reads::Made(read) => read(reading),
            Reads::Shared(read) => read(reading),
        }
    }
}

impl<T> fmt::Debug for Reads<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reads::Plain(_) | Reads::Shared(_) => "function",
            Reads::Made(_) => "closure",
        })
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
    /// Other events that it is about, for the story of a failure: what was accepted and is missing, what is left over.
    pub about: Vec<usize>,
    /// What is wrong, with the names and values involved.
    pub message: String,
}

impl Finding {
    /// This event broke the promise.
    pub fn at(event: usize, message: impl Into<String>) -> Finding {
        Finding { event: Some(event), about: Vec::new(), message: message.into() }
    }

    /// Something that should have happened did not.
    pub fn missing(message: impl Into<String>) -> Finding {
        Finding { event: None, about: Vec::new(), message: message.into() }
    }

    /// Adds events that the finding is about, from which its story begins.
    #[must_use]
    pub fn about(mut self, events: impl IntoIterator<Item = usize>) -> Finding {
        self.about.extend(events);
        self
    }
}

/// A promise that a run broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The name of the promise.
    pub promise: Name,
    /// What is wrong.
    pub finding: Finding,
}

impl Violation {
    /// What led to it, in the trace of the run that broke the promise.
    pub fn story(&self, trace: &Trace) -> Story {
        let broken: Vec<usize> = self.finding.event.into_iter().collect();
        trace.story(&broken, &self.finding.about)
    }
}

/// Judges a run by every promise that is not a `sometimes`, in their order.
pub fn judge<'a>(promises: impl Iterator<Item = &'a Promise>, run: &Run) -> Vec<Violation> {
    judge_read(promises, run, &Reading::of(&run.trace))
}

/// Like [`judge`], of a run whose trace others are asked about too.
pub(crate) fn judge_read<'a>(
    promises: impl Iterator<Item = &'a Promise>,
    run: &Run,
    trace: &Reading<'_>,
) -> Vec<Violation> {
    let at_rest = at_rest(run);
    let broken = promises.filter_map(|promise| {
        let checked = match &promise.check {
            Check::Always(check) => check.read(trace),
            Check::Eventually(check) if at_rest => check.read(trace),
            Check::Eventually(_) | Check::Sometimes(_) | Check::Converges => Ok(()),
        };
        checked.err().map(|finding| Violation { promise: promise.name.clone(), finding })
    });
    broken.collect()
}

/// Whether the storm is over and nothing is left to do.
pub(crate) fn at_rest(run: &Run) -> bool {
    let calm = |event: &Event| event.kind == EventKind::Calm;
    run.end == End::Quiet && run.trace.events().iter().any(calm)
}
