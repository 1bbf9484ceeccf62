//! Invariants over traces.
