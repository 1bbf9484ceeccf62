//! The engine: hosts and their tasks, the agenda, the one doorway that every call passes, and the storm
//! that decides what goes wrong there.

pub(crate) mod agenda;
pub(crate) mod crash;
pub(crate) mod delivery;
pub(crate) mod doorway;
pub mod env;
pub(crate) mod host;
pub(crate) mod host_index;
pub mod objects;
pub(crate) mod poll;
pub mod run;
pub(crate) mod run_loop;
pub(crate) mod storm;
pub(crate) mod task;
pub(crate) mod verdict;
pub mod wait;
pub(crate) mod workers;
pub(crate) mod workflow_life;
pub(crate) mod world;
