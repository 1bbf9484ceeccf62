//! D1: statements, batches, sessions and migrations.

mod conformance;
mod migrations;
mod sessions;
mod support;
mod unpublished;
