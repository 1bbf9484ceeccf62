//! A workflow's stream of messages is its state, its inbox and its outbox in one.
//!
//! What comes to a workflow, what it decides and what it wants done is appended to one stream, all
//! or nothing. State is [rebuilt](rebuild()) from it. Commands in it carry a flag that says whether
//! they have been carried out, so the stream is the outbox too: a [`Processor`] claims those that
//! have not, lets a handler take effect, and marks them. See `docs/stream.md`.

mod backoff;
pub mod batch;
mod error;
mod message;
mod migration;
#[cfg(feature = "postgres")]
pub mod postgres;
mod processor;
mod rebuild;
mod record;
pub mod sqlite;
mod store;

pub use backoff::{Backoff, Next};
pub use error::Error;
pub use message::{Direction, Key, Kind, Message, NewMessage};
pub use migration::Migration;
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
pub use processor::{Failure, Processor, Turn};
pub use rebuild::{Rebuilt, rebuild};
pub use sqlite::SqliteStore;
pub use store::{Claim, Parked, Store};
