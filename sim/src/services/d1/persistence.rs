//! What of D1 outlives the process that runs it: what was written, in order.

use std::path::Path;
use std::sync::Arc;

use super::D1;
use super::store::Store;
use crate::services::sqlite::Whole;
use crate::values::hash::StableHasher;

impl D1 {
    /// Databases that are created from now on remember what is written to them, to be written down.
    pub(crate) fn keep_changes(&mut self) {
        self.lasting = true;
    }

    /// What was written since this was last asked: the database, and each commit as JSON.
    pub(crate) fn take_kept(&mut self) -> Vec<(Arc<str>, String)> {
        let databases = self.databases.iter_mut();
        let commits = databases.flat_map(|(name, store)| {
            store.take_unwritten().into_iter().map(|commit| (name.clone(), commit))
        });
        let json = |commit| serde_json::to_string(&commit).expect("a commit is JSON");
        commits.map(|(name, commit)| (name, json(commit))).collect()
    }

    /// Forgets what was written, which is what the migrations wrote if nothing else has run. Returns a hash of it: a
    /// database to which other migrations were applied cannot be read with these.
    pub(crate) fn forget_migrations(&mut self) -> u64 {
        StableHasher::of(&self.take_kept())
    }

    /// A database as a whole: what there is beside its pages, as JSON, and the pages, unless they are in a new file.
    pub(crate) fn image(&mut self, database: &str, to: Option<&Path>) -> Option<(String, Vec<u8>)> {
        let (beside, pages) = self.databases.get_mut(database)?.image(to).ok()?;
        Some((serde_json::to_string(&beside).expect("numbers are JSON"), pages))
    }

    /// How many bytes an image of a database has.
    pub(crate) fn bytes(&mut self, database: &str) -> Option<u64> {
        self.databases.get_mut(database).map(Store::bytes)
    }

    /// Replaces a database, its migrations included. Returns whether there is such a database.
    #[inline]
    pub(crate) fn load_image(
        &mut self,
        database: &str,
        beside: &str,
        whole: Whole<'_>,
    ) -> Result<bool, String> {
        let Some(store) = self.databases.get_mut(database) else { return Ok(false) };
        let beside = serde_json::from_str(beside).map_err(|error| error.to_string())?;
        store.load_image(beside, whole).map_err(|error| error.to_string())?;
        Ok(true)
    }

    /// Writes again what was written down. Returns whether there is such a database.
    #[inline]
    pub(crate) fn restore_commit(
        &mut self,
        database: &str,
        commit: &str,
    ) -> Result<bool, serde_json::Error> {
        let Some(store) = self.databases.get_mut(database) else { return Ok(false) };
        store.restore(&serde_json::from_str(commit)?);
        Ok(true)
    }
}
