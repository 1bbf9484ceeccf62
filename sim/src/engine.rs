//! The simulation engine: hosts and their tasks, the agenda, the doorway that every call passes, and the
//! storm that decides what goes wrong there.
//!
//! `run_loop` plays a run on the state in `world`; `doorway` describes the path of a call.

pub(crate) mod agenda;
pub(crate) mod answers;
pub(crate) mod calls;
pub mod changes;
pub(crate) mod client;
pub(crate) mod connections;
pub(crate) mod crash;
pub(crate) mod delivery;
pub(crate) mod doorway;
pub mod env;
pub(crate) mod host;
pub(crate) mod host_index;
pub(crate) mod hosts;
pub(crate) mod ids;
pub mod inference;
pub(crate) mod invocations;
pub mod live;
pub mod objects;
pub(crate) mod outages;
pub mod outbound;
pub(crate) mod poll;
pub(crate) mod queueing;
pub(crate) mod recurring_alarms;
pub(crate) mod redo_logs;
pub mod restore;
pub mod run;
pub(crate) mod run_loop;
pub(crate) mod services;
pub(crate) mod snapshots;
pub(crate) mod storm;
pub(crate) mod task;
pub(crate) mod tasks;
pub mod variables;
pub(crate) mod verdict;
pub mod wait;
pub(crate) mod workers;
pub(crate) mod workflow_engines;
pub(crate) mod world;
