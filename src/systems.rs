//! The systems under test. Each is a file, and a folder of the same name when it is too long for one.
//!
//! Files with the same name hold the same thing in every system: `routes` answers requests, `workload`
//! draws them, `names` has bindings, keys and ids, `wire` the shapes of JSON, `plan` the plan as it
//! was written, which the harness refutes, and `mistakes` slips in the reference that it must notice. To add
//! a system, add its file and a line to [`all`].

mod backoff;
mod commands;
mod comparisons;
mod generations;
mod ids;
mod json;
mod mistake;
mod object_response;
pub(crate) mod relay;
mod uploads;

use thunderhead_props::System;

use crate::model::Model;

pub use comparisons::target::{Refused, Target};

/// Every system of this project.
pub fn all() -> [&'static System; 5] {
    [
        &relay::SYSTEM,
        &uploads::SYSTEM,
        &generations::SYSTEM,
        &comparisons::SYSTEM,
        &commands::SYSTEM,
    ]
}

/// The system of that name among those of this project.
pub fn find(name: &str) -> Option<&'static System> {
    all().into_iter().find(|system| system.name == name)
}

/// Uploads that are classified by a model of the caller's instead of the stand-in.
pub fn uploads_with(model: &Model) -> System {
    uploads::system(model)
}
