//! A system under test: how to mount it, what to send it, what it promises.

use std::fmt;
use std::sync::Arc;

use thunderhead_sim::{ClientRequest, Cloud, Rng, Run, Scenario, StableHasher};

use crate::convergence::converges;
use crate::free::FREE;
use crate::platform::PLATFORM;
use crate::promise::{Check, Name, Promise, Reads, Violation, at_rest, judge_read};
use crate::promises::Reading;

/// A system and its variants. It is made at run time, of names and closures that it owns, so it may come from a file.
/// A clone shares the closures.
///
/// ```
/// use std::sync::LazyLock;
///
/// use thunderhead_props::{System, Variant};
/// use thunderhead_sim::{ClientRequest, Cloud, Response, Time};
///
/// fn echo(greeting: &str) -> System {
///     let greeting = greeting.to_string();
///     let mount = move |cloud: &mut Cloud| {
///         let greeting = greeting.clone();
///         cloud.worker("web").fetch(move |_env, _request| {
///             let greeting = greeting.clone();
///             async move { Ok(Response::new(200, greeting)) }
///         });
///     };
///     System::new("echo", "answers every request", Variant::holds("reference", "answers", mount))
///         .with_workload(|rng| {
///             let ask = |at| ClientRequest::new(Time::from_ms(u64::from(at)), "GET", "/", "");
///             (0..1 + rng.below(3)).map(ask).collect()
///         })
/// }
///
/// // A system that is used all over a program can be a static.
/// static ECHO: LazyLock<System> = LazyLock::new(|| echo("hello"));
/// assert_eq!(ECHO.reference().name, "reference");
/// assert_eq!(ECHO.smallest().len(), 1, "the first request of a workload, unless `with_smallest` says otherwise");
/// ```
#[derive(Clone)]
pub struct System {
    /// Its name on the command line.
    pub name: Name,
    /// What it does, in one line.
    pub about: Name,
    /// Never empty; the reference comes first.
    variants: Vec<Variant>,
    /// The reference with one mistake each.
    mistakes: Vec<Variant>,
    workload: Workload,
    smallest: Option<Smallest>,
    /// Its own promises. Every system is judged by the platform's promises as well.
    pub promises: Vec<Promise>,
    without: Vec<(Name, Name)>,
    ignored: Vec<(Name, Name)>,
    /// The paths of its cron triggers.
    triggers: Vec<Name>,
    /// Whether it is built for storms of days.
    outlasts_days: bool,
    /// What to write to ignore columns, in words.
    remedy: fn(&[String]) -> String,
    /// Where it was read from, if it was: a command may name it so as well, and its failure files do.
    pub origin: Option<Name>,
}

/// In a search, one run of so many is compared with calm runs.
pub const COMPARED: u64 = 16;

type Workload = Arc<dyn Fn(&mut Rng) -> Vec<ClientRequest> + Send + Sync>;
type Smallest = Arc<dyn Fn() -> Vec<ClientRequest> + Send + Sync>;
type Mount = Arc<dyn Fn(&mut Cloud) + Send + Sync>;

impl System {
    /// A system with one variant, no workload and no promises of its own.
    pub fn new(name: impl Into<Name>, about: impl Into<Name>, reference: Variant) -> System {
        System {
            name: name.into(),
            about: about.into(),
            variants: vec![reference],
            mistakes: Vec::new(),
            workload: Arc::new(|_| Vec::new()),
            smallest: None,
            promises: Vec::new(),
            without: Vec::new(),
            ignored: Vec::new(),
            triggers: Vec::new(),
            outlasts_days: false,
            remedy: ignoring,
            origin: None,
        }
    }

    /// Says where it was read from, and what its author writes there to ignore columns.
    pub fn read_from(mut self, origin: impl Into<Name>, remedy: fn(&[String]) -> String) -> System {
        self.origin = Some(origin.into());
        self.remedy = remedy;
        self
    }

    /// Adds another implementation.
    pub fn with_variant(mut self, variant: Variant) -> System {
        self.variants.push(variant);
        self
    }

    /// Adds an implementation that has one mistake, made to see which promise notices it. It can be named like a
    /// variant; a search of everything leaves it out.
    pub fn with_mistake(mut self, mistake: Variant) -> System {
        self.mistakes.push(mistake);
        self
    }

    /// Sets the requests to send, drawn at random.
    pub fn with_workload(
        mut self,
        workload: impl Fn(&mut Rng) -> Vec<ClientRequest> + Send + Sync + 'static,
    ) -> System {
        self.workload = Arc::new(workload);
        self
    }

    /// Sets the shortest workload worth enumerating. Without it, that is the first request of a drawn workload.
    pub fn with_smallest(
        mut self,
        smallest: impl Fn() -> Vec<ClientRequest> + Send + Sync + 'static,
    ) -> System {
        self.smallest = Some(Arc::new(smallest));
        self
    }

    /// Adds promises.
    pub fn with_promises(mut self, promises: &[&Promise]) -> System {
        self.promises.extend(promises.iter().copied().cloned());
        self
    }

    /// Does not judge it by one of the promises that come for nothing, for this reason.
    ///
    /// # Panics
    ///
    /// When there is no such promise in [`FREE`].
    pub fn without(mut self, promise: &str, reason: impl Into<Name>) -> System {
        let known = FREE.iter().find(|free| free.name == promise);
        let known = known.unwrap_or_else(|| panic!("`{promise}` does not come for nothing"));
        self.without.push((known.name.clone(), reason.into()));
        self
    }

    /// The promises that come for nothing and do not hold here, each with the reason.
    pub fn left_out(&self) -> &[(Name, Name)] {
        &self.without
    }

    /// Says that it is built to outlast trouble of days, so that a check of everything tries its implementations that
    /// must hold in such weather too. Most systems are not: a queue tries a message three times unless it is told more.
    pub fn outlasting_days(mut self) -> System {
        self.outlasts_days = true;
        self
    }

    /// Whether it is built to outlast trouble of days.
    pub fn outlasts_days(&self) -> bool {
        self.outlasts_days
    }

    /// Does not compare this with what a calm leaves behind, for this reason: `table.column`, `table.column.field` for
    /// a part of JSON (`table.column.list[].field` for all items of a list), or `table.*`. A bucket is a table whose
    /// columns are `key`, `version` and `body`.
    pub fn ignoring(mut self, column: impl Into<Name>, reason: impl Into<Name>) -> System {
        self.ignored.push((column.into(), reason.into()));
        self
    }

    /// Says which cron triggers it has, by the paths of the requests that fire them. A run in which one of them has not
    /// fired long after all else is not compared with what a calm leaves behind.
    pub fn with_triggers(mut self, paths: impl IntoIterator<Item = Name>) -> System {
        self.triggers.extend(paths);
        self
    }

    /// The columns that are not compared with what a calm leaves behind, each with the reason.
    pub fn ignored(&self) -> &[(Name, Name)] {
        &self.ignored
    }

    /// Judges a run of one of its variants by every promise that is not a `sometimes`, in their order. Whether the
    /// storm leaves no trace is asked only when all others hold: what broke one of them leaves its traces, and calm
    /// runs take time.
    pub fn judge(&self, variant: &Variant, scenario: &Scenario, run: &Run) -> Vec<Violation> {
        self.judge_read(variant, scenario, run, &Reading::of(&run.trace))
    }

    fn judge_read(
        &self,
        variant: &Variant,
        scenario: &Scenario,
        run: &Run,
        reading: &Reading<'_>,
    ) -> Vec<Violation> {
        let broken = judge_read(self.promises_of(variant), run, reading);
        let converging = self.promises().find(|promise| matches!(promise.check, Check::Converges));
        let Some(promise) = converging.filter(|_| broken.is_empty() && at_rest(run)) else {
            return broken;
        };
        let ignored = self.ignored.iter().map(|(column, _)| &**column);
        match converges(variant, scenario, run, &self.triggers, ignored, self.remedy) {
            Ok(()) => broken,
            Err(finding) => vec![Violation { promise: promise.name.clone(), finding }],
        }
    }

    /// Judges one of many runs that a search has drawn. Calm runs would double the time of a search, so the storm is
    /// compared with them in one run of [`COMPARED`] unless the system has no promise of its own.
    pub fn judge_drawn(&self, variant: &Variant, scenario: &Scenario, run: &Run) -> Vec<Violation> {
        self.judge_drawn_read(variant, scenario, run, &Reading::of(&run.trace))
    }

    /// Like [`System::judge_drawn`], of a run whose trace is asked for every `sometimes` too.
    pub(crate) fn judge_drawn_read(
        &self,
        variant: &Variant,
        scenario: &Scenario,
        run: &Run,
        reading: &Reading<'_>,
    ) -> Vec<Violation> {
        let drawn = StableHasher::of(&(run.steps, run.draws.len()));
        match self.promises.is_empty() || drawn.is_multiple_of(COMPARED) {
            true => self.judge_read(variant, scenario, run, reading),
            false => judge_read(self.promises_of(variant), run, reading),
        }
    }

    /// The promises that one of its variants makes.
    pub fn promises_of<'a>(&'a self, variant: &'a Variant) -> impl Iterator<Item = &'a Promise> {
        self.promises().filter(|promise| !variant.unpromised.contains(&promise.name))
    }

    /// The implementations that can be mounted, the reference first.
    pub fn variants(&self) -> &[Variant] {
        &self.variants
    }

    /// The implementations that have one mistake each.
    pub fn mistakes(&self) -> &[Variant] {
        &self.mistakes
    }

    /// The variant that must hold, which is listed first.
    pub fn reference(&self) -> &Variant {
        &self.variants[0]
    }

    /// The variant of that name, or the mistake.
    pub fn variant(&self, name: &str) -> Option<&Variant> {
        self.variants.iter().chain(&self.mistakes).find(|variant| variant.name == name)
    }

    /// Requests to send, drawn at random.
    pub fn workload(&self, rng: &mut Rng) -> Vec<ClientRequest> {
        (self.workload)(rng)
    }

    /// The shortest workload worth enumerating.
    pub fn smallest(&self) -> Vec<ClientRequest> {
        match &self.smallest {
            Some(smallest) => smallest(),
            None => self.workload(&mut Rng::new(0)).into_iter().take(1).collect(),
        }
    }

    /// The promises it is judged by: its own, then those of the platform, then those that come for nothing.
    pub fn promises(&self) -> impl Iterator<Item = &Promise> {
        let left_out = |free: &&Promise| self.without.iter().any(|(name, _)| *name == free.name);
        let free = FREE.iter().copied().filter(move |free| !left_out(free));
        self.promises.iter().chain(PLATFORM.iter().copied()).chain(free)
    }

    /// The promise of that name.
    pub fn promise(&self, name: &str) -> Option<&Promise> {
        self.promises().find(|promise| promise.name == name)
    }

    /// What a search must have seen at least once, or it would prove little.
    pub fn sometimes(&self) -> impl Iterator<Item = (&Promise, &Reads<bool>)> {
        self.promises().filter_map(|promise| match &promise.check {
            Check::Sometimes(seen) => Some((promise, seen)),
            Check::Always(_) | Check::Eventually(_) | Check::Converges => None,
        })
    }
}

/// The lines of a system in Rust that ignore columns.
fn ignoring(columns: &[String]) -> String {
    let lines = columns.iter().map(|name| format!("`.ignoring(\"{name}\", \"why\")`"));
    format!("add {} to the system", lines.collect::<Vec<_>>().join(" and "))
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("System")
            .field("name", &self.name)
            .field("variants", &self.variants)
            .field("promises", &self.promises)
            .finish_non_exhaustive()
    }
}

/// One implementation of a system.
#[derive(Clone)]
pub struct Variant {
    /// Its name on the command line.
    pub name: Name,
    /// What sets it apart, in one line.
    pub about: Name,
    /// What the harness must conclude about it.
    pub expected: Expected,
    /// The promises of its system that it does not make.
    pub unpromised: Vec<Name>,
    mount: Mount,
}

impl Variant {
    /// An implementation of which no storm may break a promise.
    pub fn holds(
        name: impl Into<Name>,
        about: impl Into<Name>,
        mount: impl Fn(&mut Cloud) + Send + Sync + 'static,
    ) -> Variant {
        Variant::new(name.into(), about.into(), Expected::Holds, Arc::new(mount))
    }

    /// An implementation of which some storm breaks one of `promises`.
    pub fn refuted(
        name: impl Into<Name>,
        about: impl Into<Name>,
        promises: &[&str],
        mount: impl Fn(&mut Cloud) + Send + Sync + 'static,
    ) -> Variant {
        Variant::new(name.into(), about.into(), Expected::refuted(promises), Arc::new(mount))
    }

    fn new(name: Name, about: Name, expected: Expected, mount: Mount) -> Variant {
        Variant { name, about, expected, unpromised: Vec::new(), mount }
    }

    /// Is not judged by this promise of its system, which it never made.
    pub fn not_promising(mut self, promise: impl Into<Name>) -> Variant {
        self.unpromised.push(promise.into());
        self
    }

    /// A number that no other implementation has as long as this one or a clone of it is kept.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.mount).addr()
    }

    /// Adds its workers, queues, buckets and objects to a cloud.
    pub fn mount(&self, cloud: &mut Cloud) {
        (self.mount)(cloud);
    }
}

impl fmt::Debug for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variant")
            .field("name", &self.name)
            .field("expected", &self.expected)
            .finish_non_exhaustive()
    }
}

/// What is known about a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// No storm breaks any promise.
    Holds,
    /// Some storm breaks one of these promises.
    Refuted(Vec<Name>),
}

impl Expected {
    fn refuted(promises: &[&str]) -> Expected {
        Expected::Refuted(promises.iter().map(|name| Name::from(name.to_string())).collect())
    }
}
