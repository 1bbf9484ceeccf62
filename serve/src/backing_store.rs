//! What the engine reads back of what the journal has written.

use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension};
use serde_json::json;
use thunderhead_sim::{BackingStore, Body, Time, message_key};

use crate::files::Files;
use crate::log;

/// The data directory, seen from the engine.
#[derive(Debug)]
pub struct Disk {
    pub files: Files,
    /// A connection that only reads.
    pub db: Connection,
}

impl BackingStore for Disk {
    fn body(&self, file: u64) -> Option<Body> {
        let read = self.in_database(file).map_err(|error| error.to_string());
        let read = match read {
            Ok(None) => self.files.read(file).map_err(|error| {
                let path = self.files.path(file);
                format!("{}: {error}", path.display())
            }),
            read => read.map(|bytes| Body::from(bytes.unwrap_or_default())),
        };
        if let Err(why) = &read {
            log::say("error", "a body cannot be read", &json!({ "number": file, "why": why }));
        }
        read.ok()
    }

    fn place(&self, file: u64) -> Option<PathBuf> {
        Some(self.files.image(file))
    }

    fn messages(
        &self,
        queue: &str,
        behind: (Time, u64),
        most: usize,
    ) -> Option<Vec<(u64, String)>> {
        let read = || -> rusqlite::Result<Vec<(u64, String)>> {
            let sql = "select key, value from later where queue = ?1 and (due, key) > (?2, ?3) \
                       order by due, key limit ?4";
            let mut find = self.db.prepare_cached(sql)?;
            let (due, key) = position(queue, behind);
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let rows = find.query_map((queue, due, key, most), |row| {
                let key: String = row.get(0)?;
                let number = key.rsplit_once('/').and_then(|(_, number)| number.parse().ok());
                Ok((number.unwrap_or(0), row.get(1)?))
            })?;
            rows.collect()
        };
        let read = read();
        if let Err(error) = &read {
            let fields = json!({ "queue": queue, "why": error.to_string() });
            log::say("error", "messages cannot be read, which is tried again", &fields);
        }
        read.ok()
    }

    fn oldest_message(&self, queue: &str, behind: (Time, u64)) -> Option<String> {
        // Keys are ordered as numbers are.
        let sql = "select value from later where key > ?1 and (due, key) > (?2, ?3) and +queue = ?4 \
                   order by key limit 1";
        let (due, key) = position(queue, behind);
        let find = self.db.prepare_cached(sql);
        let first = message_key(queue, 0);
        find.and_then(|mut find| find.query_row((first, due, key, queue), |row| row.get(0))).ok()
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

impl Disk {
    fn in_database(&self, number: u64) -> rusqlite::Result<Option<Vec<u8>>> {
        let mut find = self.db.prepare_cached("select bytes from body where number = ?")?;
        find.query_row([number.cast_signed()], |row| row.get(0)).optional()
    }
}

/// Where a message is in the table of those that are due later.
fn position(queue: &str, (due, number): (Time, u64)) -> (i64, String) {
    (i64::try_from(due.as_ms()).unwrap_or(i64::MAX), message_key(queue, number))
}
