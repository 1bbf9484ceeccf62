//! Queues: acknowledgements, delivery, limits.

mod acks;
mod conformance;
mod conformance_acks;
mod delivery;
mod driver;
mod limits;
mod model;
mod unpublished;
