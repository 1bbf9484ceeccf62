//! Steps of a schema.

use crate::error::Error;

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

/// The steps that a database of this version lacks; one that has more than all of them is not touched.
pub fn missing(all: &[Migration], version: i64) -> Result<impl Iterator<Item = &Migration>, Error> {
    let known = all.last().map_or(0, |step| step.version);
    match version > known {
        true => Err(Error::NewerSchema { found: version, known }),
        false => Ok(all.iter().filter(move |step| step.version > version)),
    }
}
