//! Reference systems and their runner.
