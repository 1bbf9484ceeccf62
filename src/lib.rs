#![doc = include_str!("../README.md")]

pub mod as_script;
pub mod bodies;
pub mod catalogue;
pub mod cli;
pub mod failure;
pub mod history;
pub mod model;
pub mod page;
pub mod playable;
pub mod recorded;
pub mod report;
pub mod story;
pub mod systems;
#[cfg(feature = "proptest")]
pub mod testing;

pub use cli::main;
pub use thunderhead_props as props;
pub use thunderhead_sim as sim;

/// The version of Thunderhead, which failure files carry: another version may give another run. A change of the
/// application is noticed by the hash of the history instead.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
