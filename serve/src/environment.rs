//! What a server takes from its environment besides a directory and a network. A simulation has others.

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use thunderhead_sim::{EPOCH_MS, Time};

use crate::data::DataError;
use crate::log;

/// The clock, randomness, and what else a process is given. [`Environment::REAL`] is what ships.
#[derive(Clone, Copy, Debug)]
pub struct Environment {
    /// Milliseconds since 1970.
    pub unix_ms: fn() -> u64,
    /// A number that nobody can guess, or why there is none.
    pub random: fn() -> Result<u64, String>,
    /// How long a disk that is simulated takes before a transaction is on it, and then until it says so.
    pub disk: fn() -> [Duration; 2],
    /// Whether others go on meanwhile, on threads of their own, while somebody waits for a disk.
    pub has_threads: bool,
    /// Says what has happened: how grave it is, in a word or two, and with which particulars.
    pub say: fn(&str, &str, &Value),
}

impl Environment {
    /// Those of the operating system.
    pub const REAL: Environment = Environment {
        unix_ms,
        random,
        // A real disk takes the time of the thread that writes.
        disk: || [Duration::ZERO; 2],
        has_threads: true,
        say: log::say,
    };

    /// The time as the engine counts it: in milliseconds since the beginning of 2026.
    pub(crate) fn now(&self) -> Time {
        Time::from_ms((self.unix_ms)().saturating_sub(EPOCH_MS))
    }

    /// Does something that may wait for the disk.
    pub(crate) async fn beside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        match self.has_threads {
            true => tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?,
            false => work(),
        }
    }

    pub(crate) fn entropy(&self) -> Result<u64, DataError> {
        (self.random)().map_err(DataError::Random)
    }
}

pub(crate) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn random() -> Result<u64, String> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
    Ok(u64::from_le_bytes(bytes))
}
