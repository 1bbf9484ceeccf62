//! The storage of a durable object: keys, SQL, transactions, turns.

mod conformance;
mod turns;
