//! A system under test: how to mount it, what to send it, what it promises.

use std::fmt;
use std::sync::Arc;

use thunderhead_sim::{ClientRequest, Cloud, Rng};

use crate::platform::PLATFORM;
use crate::promise::{Check, Name, Promise, Reads};

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
    workload: Workload,
    smallest: Option<Smallest>,
    /// Its own promises. Every system is judged by the platform's promises as well.
    pub promises: Vec<Promise>,
}

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
            workload: Arc::new(|_| Vec::new()),
            smallest: None,
            promises: Vec::new(),
        }
    }

    /// Adds another implementation.
    pub fn with_variant(mut self, variant: Variant) -> System {
        self.variants.push(variant);
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

    /// The implementations that can be mounted, the reference first.
    pub fn variants(&self) -> &[Variant] {
        &self.variants
    }

    /// The variant that must hold, which is listed first.
    pub fn reference(&self) -> &Variant {
        &self.variants[0]
    }

    /// The variant of that name.
    pub fn variant(&self, name: &str) -> Option<&Variant> {
        self.variants.iter().find(|variant| variant.name == name)
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

    /// The promises it is judged by: its own, then those of the platform.
    pub fn promises(&self) -> impl Iterator<Item = &Promise> {
        self.promises.iter().chain(PLATFORM.iter().copied())
    }

    /// The promise of that name.
    pub fn promise(&self, name: &str) -> Option<&Promise> {
        self.promises().find(|promise| promise.name == name)
    }

    /// What a search must have seen at least once, or it would prove little.
    pub fn sometimes(&self) -> impl Iterator<Item = (&Promise, &Reads<bool>)> {
        self.promises().filter_map(|promise| match &promise.check {
            Check::Sometimes(seen) => Some((promise, seen)),
            Check::Always(_) | Check::Eventually(_) => None,
        })
    }
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
    mount: Mount,
}

impl Variant {
    /// An implementation of which no storm may break a promise.
    pub fn holds(
        name: impl Into<Name>,
        about: impl Into<Name>,
        mount: impl Fn(&mut Cloud) + Send + Sync + 'static,
    ) -> Variant {
        let (name, about) = (name.into(), about.into());
        Variant { name, about, expected: Expected::Holds, mount: Arc::new(mount) }
    }

    /// An implementation of which some storm breaks one of `promises`.
    pub fn refuted(
        name: impl Into<Name>,
        about: impl Into<Name>,
        promises: &[&str],
        mount: impl Fn(&mut Cloud) + Send + Sync + 'static,
    ) -> Variant {
        let (name, about) = (name.into(), about.into());
        let promises = promises.iter().map(|name| Name::from(name.to_string())).collect();
        Variant { name, about, expected: Expected::Refuted(promises), mount: Arc::new(mount) }
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
