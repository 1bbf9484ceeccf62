//! What generations promise.

use crate::invariant::Invariant;

/// Every promise of the system.
pub const GENERATIONS: &[&Invariant] = &[];
