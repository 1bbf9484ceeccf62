//! What the tests of stores share: a server, a pooler, and databases to begin with.

pub mod cluster;
pub mod fixture;
pub mod pooler;
