//! Promises over traces, and searches for runs that break them.
//!
//! A promise reads the trace and nothing else: it cannot trust the application because it cannot
//! call it. Each has mutants beside it, doctored traces that it must reject.

pub mod explore;
mod guided;
#[cfg(test)]
mod mutant;
mod platform;
mod promise;
pub mod promises;
mod quiet;
pub mod search;
mod strategy;
mod system;

pub use guided::Guided;
pub use platform::{DELIVERED_TWICE, PLATFORM};
pub use promise::{Check, Finding, Promise, Violation, judge};
pub use promises::{COMMANDS, COMPARISONS, GENERATIONS, RELAY, UPLOADS};
pub use quiet::quietly;
pub use strategy::{Storm, StormTree, Storms, cases, storm};
pub use system::{Expected, System, Variant};
