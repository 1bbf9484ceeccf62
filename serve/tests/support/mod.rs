//! What the tests of the server share.

pub mod campaign;
pub mod client;
pub mod forgetful;
pub mod process;
