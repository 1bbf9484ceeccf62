//! The platform's services as synchronous state machines: an operation and the time go in, a reply and
//! follow-ups come out. A service knows neither hosts nor faults, and imports nothing but [`values`](crate).

pub mod ai;
pub mod d1;
pub mod kv;
pub mod queue;
pub mod r2;
pub mod sqlite;
pub mod storage;
pub mod workflow;
