//! What a search of seeds has found so far, as a file keeps it between processes.

use std::fmt;

use serde::{Deserialize, Serialize};
use thunderhead_sim::{SetupError, SortedMap, TraceHash};

/// The counts of a search, and the seeds of the failures that are worth shrinking. What else there is to know about a
/// run follows from its seed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Checkpoint {
    /// How many runs there were.
    pub runs: u64,
    /// The hash of the first one, which tells whether the code is still the same.
    pub first: Option<TraceHash>,
    /// A hash over each block of runs.
    pub blocks: Vec<TraceHash>,
    /// In how many runs each `sometimes` was seen, in the order of the system.
    pub seen: Vec<(String, u64)>,
    /// The promises that were broken.
    pub broken: SortedMap<String, CheckpointFailures>,
}

/// How a promise was broken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckpointFailures {
    /// In how many runs.
    pub times: u64,
    /// The seeds of the smallest of them, the smallest first.
    pub seeds: Vec<u64>,
}

/// Why a search cannot go on from what was saved.
#[derive(Debug)]
pub enum CheckpointError {
    /// The system cannot be played.
    Setup(SetupError),
    /// Another system or other code made it, or it was altered.
    Other(String),
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckpointError::Setup(error) => error.fmt(f),
            CheckpointError::Other(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for CheckpointError {}

impl From<SetupError> for CheckpointError {
    fn from(error: SetupError) -> CheckpointError {
        CheckpointError::Setup(error)
    }
}
