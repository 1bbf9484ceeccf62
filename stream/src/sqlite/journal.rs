//! The write-ahead log of a file.

use rusqlite::{Connection, ErrorCode};

/// How many times a connection waits for others that are writing before it gives up. Each of them leaves the file with
/// a write-ahead log, or failed; so one time is enough as a rule.
const ATTEMPTS: usize = 100;

/// Gives a file a write-ahead log, with which readers and the one writer do not wait for each other.
///
/// The change needs a lock for reading first and one for writing then. SQLite does not wait for the second while it
/// holds the first, because two that do so would wait for each other for ever: of two that open a new file at once, one
/// is told at once that the file is busy, however patient it is. It has let go of both by then, so it can wait for the
/// other here, as patiently as the connection is.
pub(super) fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    for _ in 0..ATTEMPTS {
        match connection.pragma_update(None, "journal_mode", "wal") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                connection.execute_batch("begin immediate; rollback")?;
            }
            changed => return changed,
        }
    }
    connection.pragma_update(None, "journal_mode", "wal")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::path::PathBuf;

    use super::*;

    thread_local! {
        static WRITER: RefCell<Option<Connection>> = const { RefCell::new(None) };
        static WAITED: Cell<bool> = const { Cell::new(false) };
    }

    /// Lets the writer end its transaction as soon as somebody waits for it.
    fn writer_commits(_: i32) -> bool {
        WAITED.set(true);
        WRITER.take().is_some_and(|writer| writer.execute_batch("commit").is_ok())
    }

    struct File(PathBuf);

    impl Drop for File {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(self.0.parent().unwrap());
        }
    }

    #[test]
    fn a_file_that_another_is_writing_is_waited_for() {
        let directory =
            std::env::temp_dir().join(format!("thunderhead-journal-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let file = File(directory.join("stream.sqlite"));
        let writer = Connection::open(&file.0).unwrap();
        writer.execute_batch("begin immediate; create table t (a)").unwrap();
        WRITER.set(Some(writer));
        let mut connection = Connection::open(&file.0).unwrap();
        connection.busy_handler(Some(writer_commits)).unwrap();
        write_ahead(&connection).unwrap();
        assert!(WAITED.get(), "the writer had the lock");
        let mode: String =
            connection.query_row("pragma journal_mode", [], |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");
        connection.execute_batch("insert into t values (1)").unwrap();
    }
}
