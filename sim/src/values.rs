//! Plain values that every other layer uses: bytes, simulated time, stable hashes, random numbers.

pub mod backing_store;
pub mod body;
pub mod call;
pub(crate) mod count;
pub mod hash;
pub mod hex;
pub(crate) mod media;
pub(crate) mod pairs;
pub(crate) mod percent;
pub mod printable;
pub(crate) mod push_in_place;
pub mod rng;
pub mod sorted_map;
pub mod sorted_set;
pub mod time;
