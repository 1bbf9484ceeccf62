//! What an application reaches through its bindings and no service answers alone: objects and agents.

mod agents;
mod objects;
mod surface;
