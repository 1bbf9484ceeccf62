//! What the engine reads back of what the journal has written.

use serde_json::json;
use thunderhead_sim::Shelf;

use crate::files::Files;
use crate::log;

/// The data directory, seen from the engine.
#[derive(Debug)]
pub struct Disk {
    pub files: Files,
}

impl Shelf for Disk {
    fn body(&self, file: u64) -> Option<Vec<u8>> {
        let read = self.files.read(file);
        if let Err(error) = &read {
            let path = self.files.path(file);
            let fields = json!({ "path": path.display().to_string(), "why": error.to_string() });
            log::say("error", "a body cannot be read", &fields);
        }
        read.ok()
    }
}
