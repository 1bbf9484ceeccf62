//! A system under test: how to mount it, what to send it, what it promises.

use thunderhead_sim::{ClientRequest, Cloud, Rng, Trace};

use crate::platform::PLATFORM;
use crate::promise::{Check, Promise};

/// A system and its variants. Its code lives elsewhere: these are function pointers to it.
#[derive(Debug)]
pub struct System {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// The implementations that can be mounted, the reference first.
    pub variants: &'static [Variant],
    /// Requests to send, drawn at random.
    pub workload: fn(&mut Rng) -> Vec<ClientRequest>,
    /// The shortest workload worth enumerating.
    pub smallest: fn() -> Vec<ClientRequest>,
    /// Its own promises. Every system is judged by the platform's promises as well.
    pub promises: &'static [&'static Promise],
}

impl System {
    /// The variant that must hold, which is listed first.
    pub fn reference(&self) -> &'static Variant {
        &self.variants[0]
    }

    /// The variant of that name.
    pub fn variant(&self, name: &str) -> Option<&'static Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }

    /// The promises it is judged by: its own, then those of the platform.
    pub fn promises(&self) -> impl Iterator<Item = &'static Promise> + use<> {
        self.promises.iter().chain(PLATFORM).copied()
    }

    /// The promise of that name.
    pub fn promise(&self, name: &str) -> Option<&'static Promise> {
        self.promises().find(|promise| promise.name == name)
    }

    /// What a search must have seen at least once, or it would prove little.
    pub fn sometimes(&self) -> impl Iterator<Item = (&'static Promise, fn(&Trace) -> bool)> {
        self.promises().filter_map(|promise| match promise.check {
            Check::Sometimes(seen) => Some((promise, seen)),
            Check::Always(_) | Check::Eventually(_) => None,
        })
    }
}

/// One implementation of a system.
#[derive(Debug)]
pub struct Variant {
    /// Its name on the command line.
    pub name: &'static str,
    /// What sets it apart, in one line.
    pub about: &'static str,
    /// What the harness must conclude about it.
    pub expected: Expected,
    /// Adds its workers, queues, buckets and objects to a cloud.
    pub mount: fn(&mut Cloud),
}

/// What is known about a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// No storm breaks any promise.
    Holds,
    /// Some storm breaks one of these promises.
    Refuted(&'static [&'static str]),
}
