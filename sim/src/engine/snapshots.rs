//! When a database is written down as a whole, so that a start does not have to do again all that was ever done to it.
//!
//! A log is what was done to one database since its last image. When it outweighs the image, another image takes the
//! place of both. So a start takes as long as the state is large, and each write pays for its share of an image.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::engine::kept::{Changes, Image, json};
use crate::engine::logs::Place;
use crate::engine::restore::RestoreError;
use crate::engine::world::State;
use crate::services::storage::Beside;

/// What there is beside the pages of an object's database.
#[derive(Serialize, Deserialize)]
struct ObjectImage {
    name: Option<Arc<str>>,
    beside: Beside,
}

impl State {
    /// Takes an image of each database whose log is heavy. Its turns are among the changes already, and left out again.
    pub fn take_images(&mut self, heavy: BTreeMap<String, Place>, changes: &mut Changes) {
        for (log, place) in heavy {
            let taken = match place {
                Place::D1(database) => self.services.d1.image(&database),
                Place::Object(host) => {
                    let object = self.hosts.object(host);
                    let name = object.id.name().map(Arc::from);
                    let image = object.storage.image();
                    image.map(|(beside, pages)| (json(&ObjectImage { name, beside }), pages))
                }
            };
            // An object in the middle of a turn has to wait for its next one.
            let Some((beside, pages)) = taken else { continue };
            if let Some(live) = &mut self.live {
                live.logs.replaced(&log, beside.len() + pages.len());
            }
            changes.images.push(Image { log, beside, pages });
        }
        let replaced: BTreeSet<&str> = changes.images.iter().map(|image| &*image.log).collect();
        if !replaced.is_empty() {
            changes.turns.retain(|turn| !replaced.contains(&*turn.log));
        }
    }

    pub fn restore_image(
        &mut self,
        log: &str,
        beside: &str,
        pages: &[u8],
    ) -> Result<(), RestoreError> {
        let unreadable = || RestoreError::Unreadable(format!("the image of `{log}`"));
        match log.split_once('/').ok_or_else(unreadable)? {
            ("d1", database) => {
                let loaded = self.services.d1.load_image(database, beside, pages);
                if !loaded.map_err(RestoreError::Unreadable)? {
                    return Err(RestoreError::Homeless(format!("database `{database}`")));
                }
            }
            ("object", object) => {
                let (namespace, hex) = object.rsplit_once('/').ok_or_else(unreadable)?;
                let image: ObjectImage = serde_json::from_str(beside)?;
                let host = self.restored_object(namespace, hex, image.name.as_deref())?;
                let loaded = self.hosts.object(host).storage.load_image(image.beside, pages);
                loaded.map_err(|error| RestoreError::Unreadable(error.to_string()))?;
            }
            _ => return Err(unreadable()),
        }
        if let Some(live) = &mut self.live {
            live.logs.replaced(log, beside.len() + pages.len());
        }
        Ok(())
    }
}
