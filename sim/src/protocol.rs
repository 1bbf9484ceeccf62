//! What crosses the doorway, as plain data: operations, replies, errors, faults, sites, and the trace of
//! what happened.

pub mod fault;
pub mod frame;
pub mod headers;
pub mod http;
pub mod object;
pub mod op;
pub mod outcome;
pub mod site;
pub mod trace;
