//! SQLite under D1 and storage: which rows changed, and the pool of connections.

mod capture;
mod differences;
mod pooling;
