//! The promises of the systems, a module for each.
//!
//! A module that is more than one file uses the same names as the others:
//!
//! * `facts.rs`: what the promises read from a trace, in the words of the system. It is the only file that
//!   knows how the trace is laid out.
//! * `contents.rs`: what is stored, rebuilt from the facts.
//! * `Known`, in the module itself: what is read of a history once, because most promises begin with it ([`Reading`]).
//! * `sometimes.rs`: what a search has to meet, so that it proves something.
//! * `mutants.rs`: histories written by hand, for the tests; each promise must reject some of them.
//! * Every other file holds the promises about one subject.

mod commands;
mod comparisons;
mod generations;
mod part;
mod reading;
mod relay;
mod uploads;

pub use commands::COMMANDS;
pub use comparisons::COMPARISONS;
pub use generations::GENERATIONS;
pub use reading::Reading;
pub use relay::RELAY;
pub use uploads::UPLOADS;

/// `1 artifact`, `2 artifacts`.
fn count(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}
