//! What the tests of stores share: a server, and databases to begin with.

pub mod cluster;
pub mod fixture;
