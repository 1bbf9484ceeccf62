//! Steps of a schema.

/// One step of a schema, applied once and as a whole. Steps are only ever added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration {
    /// Its number: 1, 2, 3 and so on.
    pub version: i64,
    /// What it brings.
    pub name: &'static str,
    /// What it does, statement by statement.
    pub statements: &'static [&'static str],
}
