//! When a database is written down as a whole, so that a start does not have to do again all that was ever done to it.
//!
//! A log is what was done to one database since its last image. When it outweighs the image, another image takes the
//! place of both. So a start takes as long as the state is large, and each write pays for its share of an image.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::engine::changes::{Changes, Image, json};
use crate::engine::redo_logs::Place;
use crate::engine::restore::RestoreError;
use crate::engine::world::State;
use crate::services::sqlite::Whole;
use crate::services::storage::Beside;
use crate::values::sorted_map::SortedMap;
use crate::values::sorted_set::SortedSet;

/// From this size on the pages of a database have a file of their own.
const LARGE: u64 = 64 * 1024;

/// What there is beside the pages of an object's database.
#[derive(Serialize, Deserialize)]
struct ObjectImage {
    name: Option<Arc<str>>,
    beside: Beside,
}

impl State {
    /// Takes an image of each database whose log is heavy. Its turns are among the changes already, and left out again.
    pub fn take_images(&mut self, heavy: SortedMap<String, Place>, changes: &mut Changes) {
        for (log, place) in heavy {
            // An object in the middle of a turn has to wait for its next one.
            let Some(bytes) = self.bytes_of(&place) else { continue };
            let file = (bytes >= LARGE).then(|| self.services.r2.another_file()).flatten();
            let to = file.as_ref().map(|(_, path)| &**path);
            // What cannot be written now is tried again with the next turn.
            let Some((beside, pages)) = self.image_of(&place, to) else { continue };
            if let Some(live) = &mut self.live {
                live.logs.replaced(&log, beside.len() as u64 + bytes);
            }
            let file = file.map(|(number, _)| number);
            changes.images.push(Image { log, beside, pages, file });
        }
        let replaced: SortedSet<&str> = changes.images.iter().map(|image| &*image.log).collect();
        if !replaced.is_empty() {
            changes.turns.retain(|turn| !replaced.contains(&*turn.log));
        }
    }

    fn bytes_of(&mut self, place: &Place) -> Option<u64> {
        match place {
            Place::D1(database) => self.services.d1.bytes(database),
            Place::Object(host) => self.hosts.object(*host).storage.bytes(),
        }
    }

    /// What there is beside the pages, and the pages unless they are in a file.
    fn image_of(&mut self, place: &Place, to: Option<&Path>) -> Option<(String, Vec<u8>)> {
        match place {
            Place::D1(database) => self.services.d1.image(database, to),
            Place::Object(host) => {
                let object = self.hosts.object(*host);
                let name = object.id.name().map(Arc::from);
                let (beside, pages) = object.storage.image(to)?;
                Some((json(&ObjectImage { name, beside }), pages))
            }
        }
    }

    /// Puts back an image whose pages are in a file.
    #[inline]
    pub fn restore_filed_image(
        &mut self,
        log: &str,
        beside: &str,
        file: u64,
    ) -> Result<(), RestoreError> {
        let path = self.services.r2.place(file);
        let path = path.ok_or_else(|| RestoreError::Unreadable(format!("file {file:x}")))?;
        self.restore_image(log, beside, Whole::File(&path))
    }

    #[inline]
    pub fn restore_image(
        &mut self,
        log: &str,
        beside: &str,
        whole: Whole<'_>,
    ) -> Result<(), RestoreError> {
        let unreadable = || RestoreError::Unreadable(format!("the image of `{log}`"));
        let place = match log.split_once('/').ok_or_else(unreadable)? {
            ("d1", database) => {
                let loaded = self.services.d1.load_image(database, beside, whole);
                if !loaded.map_err(RestoreError::Unreadable)? {
                    return Err(RestoreError::Homeless(format!("database `{database}`")));
                }
                Place::D1(database.into())
            }
            ("object", object) => {
                let (namespace, hex) = object.rsplit_once('/').ok_or_else(unreadable)?;
                let image: ObjectImage = serde_json::from_str(beside)?;
                let host = self.restored_object(namespace, hex, image.name.as_deref())?;
                let loaded = self.hosts.object(host).storage.load_image(image.beside, whole);
                loaded.map_err(|error| RestoreError::Unreadable(error.to_string()))?;
                Place::Object(host)
            }
            _ => return Err(unreadable()),
        };
        let bytes = self.bytes_of(&place).unwrap_or(0);
        if let Some(live) = &mut self.live {
            live.logs.replaced(log, beside.len() as u64 + bytes);
        }
        Ok(())
    }
}
