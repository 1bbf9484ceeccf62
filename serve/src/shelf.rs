//! What the engine reads back of what the journal has written.

use rusqlite::{Connection, OptionalExtension};
use serde_json::json;
use thunderhead_sim::Shelf;

use crate::files::Files;
use crate::log;

/// The data directory, seen from the engine.
#[derive(Debug)]
pub struct Disk {
    pub files: Files,
    /// A connection that only reads.
    pub db: Connection,
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

    fn instance(&self, workflow: &str, id: &str) -> Option<String> {
        let read = || -> rusqlite::Result<Option<String>> {
            let mut find = self.db.prepare_cached("select value from ended where key = ?")?;
            find.query_row([format!("{workflow}/{id}")], |row| row.get(0)).optional()
        };
        read().unwrap_or_else(|error| {
            let fields = json!({ "workflow": workflow, "id": id, "why": error.to_string() });
            log::say("error", "an instance cannot be read", &fields);
            None
        })
    }
}
