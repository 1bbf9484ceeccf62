//! Durable Objects: calls, gates, alarms and restarts.

mod alarms;
mod conformance;
mod gates;
mod lives;
mod lost_turns;
mod order;
mod probe;
