//! A whole database as bytes: those of a file of SQLite.

use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::Backup;

/// All that is in a database outside of any transaction. An empty one has no bytes.
pub(super) fn take(source: &Connection) -> rusqlite::Result<Vec<u8>> {
    // SQLite only hands out the bytes of a connection that nothing borrows, and the prepared statements borrow ours.
    let mut copy = Connection::open_in_memory()?;
    copy_all(source, &mut copy)?;
    let pages: i64 = copy.query_row("pragma page_count", [], |row| row.get(0))?;
    match pages {
        0 => Ok(Vec::new()),
        _ => Ok(copy.serialize("main")?.to_vec()),
    }
}

/// Fills a new connection with what [`take`] has taken.
pub(super) fn load(image: &[u8], target: &mut Connection) -> rusqlite::Result<()> {
    if image.is_empty() {
        return Ok(());
    }
    let mut copy = Connection::open_in_memory()?;
    copy.deserialize_read_exact("main", image, image.len(), true)?;
    copy_all(&copy, target)
}

fn copy_all(source: &Connection, target: &mut Connection) -> rusqlite::Result<()> {
    // All pages at once: nobody else uses either connection, so nothing is waited for.
    Backup::new(source, target)?.run_to_completion(i32::MAX, Duration::ZERO, None)
}
