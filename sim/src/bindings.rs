//! What application code holds: the cloud it is mounted on and the handles that its environment gives out.

pub mod agents;
pub mod body_stream;
pub mod bucket;
pub mod cloud;
pub mod connection_end;
pub mod d1_database;
pub mod durable_object;
pub(crate) mod env;
pub mod kv_namespace;
pub mod outside;
pub mod producer;
pub mod roster;
pub mod step;
#[doc(hidden)]
pub mod typed_call;
pub mod web_socket;
pub mod workflow_instance;
