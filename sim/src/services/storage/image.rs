//! An object's storage as a whole, to be put back after a restart in place of all the turns that led to it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Storage;
use crate::values::body::Body;

/// What there is beside the pages of the database.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Beside {
    /// How many random words SQL has drawn: it must not draw them again.
    draws: u64,
    keys: Vec<(Arc<str>, Body)>,
}

impl Storage {
    /// Everything but the alarm; none while a turn is open, whose writes may still be lost.
    pub(crate) fn image(&mut self) -> Option<(Beside, Vec<u8>)> {
        if self.in_turn {
            return None;
        }
        let keys = self.kv.iter().map(|(key, body)| (key.clone(), body.clone())).collect();
        Some((Beside { draws: self.db.draws(), keys }, self.db.image()))
    }

    /// Replaces everything but the alarm.
    pub(crate) fn load_image(&mut self, beside: Beside, pages: &[u8]) -> Result<(), super::Error> {
        self.db.load_image(beside.draws, pages)?;
        self.kv = beside.keys.into_iter().collect();
        Ok(())
    }
}
