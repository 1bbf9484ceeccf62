//! An object's storage as a whole, to be put back after a restart in place of all the turns that led to it.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Storage;
use crate::services::sqlite::Whole;
use crate::values::body::Body;

/// What there is beside the pages of the database.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Beside {
    /// How many random words SQL has drawn: it must not draw them again.
    draws: u64,
    keys: Vec<(Arc<str>, Body)>,
}

impl Storage {
    /// Everything but the alarm, with its pages in a new file if there is a path. There is none while a turn is open,
    /// whose writes may still be lost, nor when the file cannot be written.
    pub(crate) fn image(&mut self, to: Option<&Path>) -> Option<(Beside, Vec<u8>)> {
        if self.in_turn {
            return None;
        }
        let pages = self.db.image(to).ok()?;
        let keys = self.kv.iter().map(|(key, body)| (key.clone(), body.clone())).collect();
        Some((Beside { draws: self.db.draws(), keys }, pages))
    }

    /// How many bytes the pages of an image have; none while a turn is open.
    pub(crate) fn bytes(&mut self) -> Option<u64> {
        (!self.in_turn).then(|| self.db.bytes())
    }

    /// Replaces everything but the alarm.
    pub(crate) fn load_image(
        &mut self,
        beside: Beside,
        whole: Whole<'_>,
    ) -> Result<(), super::Error> {
        self.db.load_image(beside.draws, whole)?;
        self.kv = beside.keys.into_iter().collect();
        Ok(())
    }
}
