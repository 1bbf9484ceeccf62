//! Workflows: instances, steps, events, retention.

mod conformance;
mod conformance_steps;
mod driver;
mod model;
mod rules;
mod steps;
mod unpublished;
