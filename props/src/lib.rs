//! Promises over traces, and searches for runs that break them.
//!
//! A [`Promise`] is a name, a sentence and a function over a trace. It reads nothing but the trace: it cannot call
//! the application, so it cannot be deceived by it. [`Check`] says when it must hold:
//!
//! * `Always`: at every moment of every run.
//! * `Eventually`: at the end, when the faults have stopped and the application has come to rest.
//! * `Sometimes`: in at least one run of a search. A search that never meets it proves little.
//!
//! # An example
//!
//! `web` puts an order on a queue and accepts it; `shop` takes orders off the queue and stores them in a bucket.
//!
//! ```
//! use thunderhead_sim::SortedSet;
//!
//! use thunderhead_props::search::{self, Sampling};
//! use thunderhead_props::{Finding, Promise, System, Variant};
//! use thunderhead_sim::queue::{self, ConsumerConfig, MessageBody, QueueConfig};
//! use thunderhead_sim::r2::{self, BucketConfig};
//! use thunderhead_sim::{Case, ClientRequest, Cloud, Op, Response, Time, Trace};
//!
//! fn mount(cloud: &mut Cloud) {
//!     cloud.bucket("orders", BucketConfig::default());
//!     cloud.queue("accepted", QueueConfig::default());
//!     cloud.worker("web").fetch(|env, request| async move {
//!         env.queue("accepted").send(MessageBody::text(&request.path[1..])).await?;
//!         Ok(Response::new(202, ""))
//!     });
//!     let consumer = [("accepted", ConsumerConfig::default())];
//!     cloud.worker("shop").queue(&consumer, |env, batch| async move {
//!         for message in batch.messages() {
//!             message.ack(); // The mistake: the order is acknowledged before it is stored.
//!             let order = message.body().to_text().unwrap_or_default();
//!             env.bucket("orders").put(&order, "ordered").execute().await?;
//!         }
//!         Ok(())
//!     });
//! }
//!
//! // The promise: a constant, and a function that reads the trace.
//! static EVERY_ORDER: Promise = Promise::eventually(
//!     "every order is stored",
//!     "in the end, each order that was put on the queue is in the bucket",
//!     every_order,
//! );
//!
//! fn every_order(trace: &Trace) -> Result<(), Finding> {
//!     let (mut sent, mut stored) = (SortedSet::new(), SortedSet::new());
//!     for (_, op, _) in trace.effects().filter(|(_, _, outcome)| outcome.is_ok()) {
//!         match op {
//!             Op::Queue(queue::Op::Send { message, .. }) => drop(sent.insert(message.body.to_text())),
//!             Op::R2(r2::Op::Put { key, .. }) => drop(stored.insert(Some(key.to_string()))),
//!             _ => {}
//!         }
//!     }
//!     match sent.difference(&stored).next() {
//!         Some(order) => Err(Finding::missing(format!("{order:?} is not stored"))),
//!         None => Ok(()),
//!     }
//! }
//!
//! // What a search needs to know: the variants, the requests, and the promises.
//! let acks_early = Variant::refuted(
//!     "acks-early",
//!     "acknowledges an order before it is stored",
//!     &["every order is stored"],
//!     mount,
//! );
//! let system = System::new("shop", "orders go through a queue into a bucket", acks_early)
//!     .with_workload(|rng| (0..1 + rng.below(3)).map(order).collect())
//!     .with_smallest(|| vec![order(1)])
//!     .with_promises(&[&EVERY_ORDER]);
//!
//! fn order(number: u32) -> ClientRequest {
//!     ClientRequest::new(Time::from_ms(100 * u64::from(number)), "PUT", &format!("/{number}"), "")
//! }
//!
//! // The search: every seed stands for a workload and a storm of faults.
//! let shop = system.reference();
//! let (case, violation) = (0..1_000)
//!     .find_map(|seed| {
//!         let (scenario, source) = search::of_seed(&system, seed, Sampling::Random, 3);
//!         let (run, broken) = search::check(&system, shop, &scenario, &source).ok()?;
//!         Some((Case { scenario, tape: run.tape() }, broken.into_iter().next()?))
//!     })
//!     .expect("a thousand storms are enough");
//! assert_eq!(violation.promise, "every order is stored");
//!
//! // The shrunk failure: one order, and the one thing that had to go wrong.
//! let small = search::smallest(&system, shop, case, &violation.promise);
//! assert_eq!(small.best().scenario.requests.len(), 1);
//! assert_eq!(small.best().tape.len(), 1);
//! ```
//!
//! In a test, [`storm`] is a proptest strategy over such runs, with that shrinking:
//!
//! ```
//! use proptest::prelude::*;
//! use thunderhead_props::{System, storm};
//!
//! fn the_reference_holds(system: &System) {
//!     proptest!(|(storm in storm(system, system.reference()))| {
//!         prop_assert_eq!(storm.violations(), vec![], "{}", storm);
//!     });
//! }
//! ```
//!
//! # What to read next
//!
//! * `promises/relay.rs`: the promises of a small system, in one file, with the mutants that they reject.
//! * `platform.rs`: the promises of the platform, which every system is judged by.
//! * `search.rs`: what a seed stands for. `strategy.rs`: the proptest strategy. `guided.rs`: a search that learns.
//! * [`explore`]: a whole search, which counts runs and shrinks the smallest failure of each promise.
//! * [`scripted`]: a failure as a script without a tape.
//! * [`coverage`]: which calls met which faults in a search.
//! * `tests/systems/every.rs`: what is tried on every registered system.

mod convergence;
pub mod coverage;
pub mod divergence;
pub mod explore;
mod free;
mod guided;
pub mod history;
#[cfg(test)]
mod mutant;
mod panics;
mod platform;
mod promise;
pub mod promises;
pub mod scripted;
pub mod search;
#[cfg(feature = "proptest")]
mod strategy;
mod system;

/// The version of proptest that [`storm`] is a strategy of.
#[cfg(feature = "proptest")]
pub use proptest;

pub use free::FREE;
pub use guided::Guided;
pub use panics::quietly;
pub use platform::{DELIVERED_TWICE, PLATFORM};
pub use promise::{Check, Finding, Name, Promise, Reads, Violation, judge};
pub use promises::{COMMANDS, COMPARISONS, GENERATIONS, RELAY, Reading, UPLOADS};
#[cfg(feature = "proptest")]
pub use strategy::{Storm, StormTree, Storms, cases, storm};
pub use system::{COMPARED, Expected, System, Variant};
