//! A system under test: how to mount it, what to send it, what it promises.

use thunderhead_sim::{Cloud, Rng, Send, Trace};

use crate::invariant::{Invariant, Property};
use crate::platform::PLATFORM;

/// A system and its variants. The code is its owner's; here are only the ways to reach it.
#[derive(Debug)]
pub struct System {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// The implementations that can be mounted; the one that must hold comes first.
    pub variants: &'static [Variant],
    /// Mounts a variant, by its name.
    pub mount: fn(&mut Cloud, &str),
    /// Requests to send, drawn at random.
    pub workload: fn(&mut Rng) -> Vec<Send>,
    /// The shortest workload worth enumerating.
    pub smallest: fn() -> Vec<Send>,
    /// What it promises of its own; the platform's promises come on top.
    pub invariants: &'static [&'static Invariant],
}

impl System {
    /// The variant of that name.
    pub fn variant(&self, name: &str) -> Option<&'static Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }

    /// Everything it is judged by: its own promises, then those of the platform.
    pub fn promises(&self) -> impl Iterator<Item = &'static Invariant> + use<> {
        self.invariants.iter().chain(PLATFORM).copied()
    }

    /// The promise of that name.
    pub fn invariant(&self, name: &str) -> Option<&'static Invariant> {
        self.promises().find(|invariant| invariant.name == name)
    }

    /// What a campaign must have seen at least once.
    pub fn sometimes(&self) -> impl Iterator<Item = (&'static Invariant, fn(&Trace) -> bool)> {
        self.promises().filter_map(|invariant| match invariant.property {
            Property::Sometimes(seen) => Some((invariant, seen)),
            Property::Always(_) | Property::Eventually(_) => None,
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
}

/// What is known about a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// No storm breaks any promise.
    Holds,
    /// Some storm breaks one of these promises.
    Refuted(&'static [&'static str]),
}
