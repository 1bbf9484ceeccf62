//! Every system under every kind of search.
//!
//! `every.rs` covers all of `thunderhead::systems::all`, so a new system is searched as soon as it is registered.
//! `bounds.rs` says how long. The other modules hold what is special to one system.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bounds;
mod campaigns;
mod caught;
mod commands;
mod comparisons;
mod determinism;
mod every;
mod free;
mod generations;
mod kinds;
mod mistakes;
mod reduction;
mod relay;
mod search;
mod uploads;
mod weather;

// As in the program: these tests play as many runs as a search does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
