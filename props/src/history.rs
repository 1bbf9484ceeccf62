//! Readers over a history: what a promise usually wants to know, without the layout of the trace.
//!
//! Each takes a [`Trace`](thunderhead_sim::Trace) and tells one thing: [`rows`] what the tables hold at a moment and
//! [`changes`] how a table came to that, [`exchanges`] which requests were made and how they were answered, [`stored`]
//! and [`contents`] what buckets were given and hold, [`namespaces`] what KV holds, [`messages`] what became of every
//! message, [`instances`] of every instance of a workflow,
//! and [`served`] what a worker, such as a service outside the cloud, was asked to do and has done.
//!
//! ```
//! use thunderhead_props::history::{contents, exchanges};
//! use thunderhead_props::Finding;
//! use thunderhead_sim::Trace;
//!
//! /// A photo of which a client was told that it is stored is there in the end.
//! fn every_photo(trace: &Trace) -> Result<(), Finding> {
//!     let kept = contents(trace);
//!     for exchange in exchanges(trace).filter(|exchange| exchange.is_ok()) {
//!         let photo = &exchange.request.path[1..];
//!         if kept.get("photos", photo).is_none() {
//!             return Err(Finding::missing(format!("{photo} is not stored")));
//!         }
//!     }
//!     Ok(())
//! }
//! ```

mod bucket;
mod connection;
mod exchange;
mod instance;
mod message;
mod named;
mod namespace;
mod rows;

pub use bucket::{Contents, Stored, contents, contents_before, stored};
pub use connection::{Said, Streamed, end_of, said, streamed};
pub use exchange::{Exchange, exchanges, served};
pub use instance::{Ended, Instance, instances};
pub use message::{Message, messages};
pub use named::named;
pub use namespace::namespaces;
pub use rows::{Held, Rows, changes, rows, rows_before};
