//! The services, each asked directly: no test here needs a fault, and few need the engine.

mod d1;
mod probes;
mod queues;
mod r2;
mod sqlite;
mod storage;
mod workflows;
