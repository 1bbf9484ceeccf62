//! The systems that the harness knows, one file each.

mod commands;
mod comparisons;
mod generations;
mod relay;
mod uploads;

use thunderhead_props::System;

/// Every system, by name.
pub const ALL: &[&System] = &[
    &relay::SYSTEM,
    &uploads::SYSTEM,
    &generations::SYSTEM,
    &comparisons::SYSTEM,
    &commands::SYSTEM,
];

/// The system of that name.
pub fn find(name: &str) -> Option<&'static System> {
    ALL.iter().find(|system| system.name == name).copied()
}
