//! Invariants over traces, and the strategies that hunt for runs that break them.
//!
//! An invariant reads the trace and nothing else: it cannot trust the application because it cannot
//! call it. Each has mutants beside it, doctored traces that it must reject.

mod commands;
mod comparisons;
mod generations;
mod guided;
pub mod hunt;
mod invariant;
#[cfg(test)]
mod mutant;
mod platform;
mod relay;
mod strategy;
mod system;
mod uploads;

pub use commands::COMMANDS;
pub use comparisons::COMPARISONS;
pub use generations::GENERATIONS;
pub use guided::Guided;
pub use invariant::{Finding, Invariant, Property, Violation, judge};
pub use platform::{DELIVERED_TWICE, PLATFORM};
pub use relay::RELAY;
pub use strategy::{Storm, StormTree, Storms, cases, storm};
pub use system::{Expected, System, Variant};
pub use uploads::UPLOADS;
