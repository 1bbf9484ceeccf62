//! The bindings of the deployment.

/// The database of the streams.
pub const STREAMS: &str = "STREAMS";
/// The database of the guests' accounts.
pub const ACCOUNTS: &str = "ACCOUNTS";
/// The server of the plan's advisory locks.
pub const LOCKS: &str = "LOCKS";
