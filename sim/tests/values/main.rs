//! Plain values.

mod sorted_map;
