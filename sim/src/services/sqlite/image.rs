//! A whole database as bytes, or as a file of SQLite.

use std::path::Path;
use std::time::Duration;

use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags};

/// A database as a whole.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Whole<'a> {
    /// The bytes of a file of SQLite; none when there is nothing in it.
    Pages(&'a [u8]),
    /// Such a file.
    File(&'a Path),
}

/// All that is in a database outside of any transaction. An empty one has no bytes, and neither has one that goes to a
/// new file. That is not synced.
pub(super) fn take(source: &Connection, to: Option<&Path>) -> rusqlite::Result<Vec<u8>> {
    if let Some(path) = to {
        let mut file = Connection::open(path)?;
        // A file that is not complete is not used, so that nothing has to be undone in it.
        file.execute_batch("pragma journal_mode = off; pragma synchronous = off;")?;
        return copy_all(source, &mut file).map(|()| Vec::new());
    }
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
pub(super) fn load(whole: Whole<'_>, target: &mut Connection) -> rusqlite::Result<()> {
    let source = match whole {
        Whole::Pages([]) => return Ok(()),
        Whole::Pages(pages) => {
            let mut copy = Connection::open_in_memory()?;
            copy.deserialize_read_exact("main", pages, pages.len(), true)?;
            copy
        }
        Whole::File(path) => Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?,
    };
    copy_all(&source, target)
}

fn copy_all(source: &Connection, target: &mut Connection) -> rusqlite::Result<()> {
    // All pages at once: nobody else uses either connection, so nothing is waited for.
    Backup::new(source, target)?.run_to_completion(i32::MAX, Duration::ZERO, None)
}
