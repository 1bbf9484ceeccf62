//! What writes, on a thread of its own: one transaction for what has come in meanwhile, and then the answers may leave.

use std::fmt;
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension};
use thunderhead_sim::{Body, Changes, Error, Heard, Later, Response, Row, Time};
use tokio::sync::mpsc::Receiver;
use tokio::sync::{oneshot, watch};

use crate::files::{Files, LARGE, Written};
use crate::metrics::Metrics;
use crate::socket::Caller;
use crate::{Commits, Halt, When};

/// What a request is answered.
pub type Answer = Result<Response, Error>;

/// What one tick leaves: changes that belong together, and what depends on them.
pub struct Batch {
    pub changes: Changes,
    pub leaving: Vec<Leaving>,
}

/// What leaves the process when the changes that it depends on are on disk.
pub enum Leaving {
    /// The answer to a request.
    Answer(oneshot::Sender<Answer>, Answer),
    /// What the client of a WebSocket hears.
    Heard(Caller, Heard),
}

/// How it is written.
pub struct Journal<'a> {
    pub db: &'a mut Connection,
    pub files: &'a Files,
    /// The number of the last changes that are on disk.
    pub written: &'a AtomicU64,
    pub commits: Commits,
    pub metrics: &'a Metrics,
    /// Where a test wants it to stand still.
    pub halt: Option<Halt>,
    /// Counts the commits, for those who wait for a change.
    pub changed: &'a watch::Sender<u64>,
    /// How long a simulated disk takes, before and after.
    pub disk: fn() -> [Duration; 2],
}

impl Journal<'_> {
    /// Writes batches until there are no more.
    pub async fn run(mut self, mut batches: Receiver<Batch>) -> Result<(), WriteError> {
        self.begin()?;
        while let Some(first) = batches.recv().await {
            let mut group = vec![first];
            while self.commits == Commits::Together
                && let Ok(next) = batches.try_recv()
            {
                group.push(next);
            }
            self.halt(When::Before, &group);
            if group.iter().any(|batch| !batch.changes.is_empty()) {
                let [before, after] = (self.disk)();
                wait(before).await;
                self.write(&group)?;
                wait(after).await;
            }
            self.halt(When::After, &group);
            group.iter_mut().for_each(Batch::release);
            if self.db.is_autocommit() {
                self.begin()?;
            }
        }
        Ok(self.db.execute_batch("rollback")?)
    }

    /// Begins a transaction before there is anything to write, so that nobody waits for its locks.
    fn begin(&mut self) -> rusqlite::Result<()> {
        self.db.prepare_cached("begin immediate")?.execute([]).map(drop)
    }

    /// Stands still for good if this is the place.
    fn halt(&self, when: When, group: &[Batch]) {
        let Some(halt) = self.halt.filter(|halt| halt.when == when) else { return };
        let mut rows = group.iter().flat_map(|batch| &batch.changes.rows);
        if rows.any(|row| row.kind == halt.kind) {
            (halt.told)();
            loop {
                std::thread::park();
            }
        }
    }

    fn write(&mut self, group: &[Batch]) -> Result<(), WriteError> {
        let started = Instant::now();
        let files = self.files.write(&bodies(group).collect::<Vec<_>>())?;
        let images = group.iter().flat_map(|batch| &batch.changes.images);
        let images = images.filter_map(|image| image.file);
        let images: Vec<Written> =
            images.map(|file| self.files.sync_image(file)).collect::<io::Result<_>>()?;
        self.halt(When::Between, group);
        let db = &*self.db;
        let (mut rows, mut dead) = (0, Dead::default());
        for file in &files {
            put_file(db, file)?;
        }
        for batch in group {
            rows += put(db, &batch.changes, &mut dead)?;
            dead.images.extend(put_images(db, &batch.changes, &images)?);
            put_turns(db, &batch.changes)?;
        }
        db.prepare_cached("commit")?.execute([])?;
        let last = group.iter().map(|batch| batch.changes.number).max().unwrap_or(0);
        self.written.fetch_max(last, Release);
        self.files.remove(&dead.bodies);
        self.files.remove_images(&dead.images);
        self.metrics.commits.fetch_add(1, Relaxed);
        self.metrics.rows.fetch_add(rows, Relaxed);
        let took = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.metrics.commit_microseconds.fetch_add(took, Relaxed);
        self.changed.send_modify(|commits| *commits += 1);
        Ok(())
    }
}

/// The files that nothing refers to any more after a commit.
#[derive(Default)]
struct Dead {
    bodies: Vec<u64>,
    images: Vec<u64>,
}

/// Writes the bytes of an object, unless they are in its row or in a file, and forgets those that they replace. Returns the
/// file of those, if they have one.
fn put_bytes(db: &Connection, row: &Row) -> rusqlite::Result<Option<u64>> {
    let mut find = db.prepare_cached("select file from row where kind = 'object' and key = ?")?;
    let found: Option<Option<i64>> = find.query_row([&row.key], |row| row.get(0)).optional()?;
    let number = row.file.map(u64::cast_signed);
    let before = found.flatten().filter(|before| Some(*before) != number);
    let body = row.body.as_ref().filter(|body| body.len() < LARGE);
    if let Some((number, body)) = number.zip(body) {
        let bytes = &*body.look();
        if let Some(before) = before {
            // They take over the place of the others: giving that back and taking another touches more pages.
            let mut take_over =
                db.prepare_cached("update body set number = ?, bytes = ? where number = ?")?;
            if take_over.execute((number, bytes, before))? == 1 {
                return Ok(None);
            }
        }
        let mut insert = db.prepare_cached("insert into body(number, bytes) values (?, ?)")?;
        insert.execute((number, bytes))?;
    }
    let Some(before) = before else { return Ok(None) };
    if db.prepare_cached("delete from body where number = ?")?.execute([before])? == 1 {
        return Ok(None);
    }
    db.prepare_cached("delete from file where number = ?")?.execute([before])?;
    Ok(Some(before.cast_unsigned()))
}

/// Instances that have ended have a table of their own, which a start does not have to read. So have messages that are
/// due much later. Returns whether the row is one of these.
fn put_away(db: &Connection, row: &Row) -> rusqlite::Result<bool> {
    let milliseconds = |time: Time| i64::try_from(time.as_ms()).unwrap_or(i64::MAX);
    match (&row.value, row.kept_until, row.later) {
        (Some(value), Some(until), _) => {
            let mut replace = db.prepare_cached("insert or replace into ended values (?, ?, ?)")?;
            replace.execute((&row.key, value, milliseconds(until)))?;
        }
        (Some(value), None, Some(Later { due, bytes })) => {
            let queue = row.key.rsplit_once('/').map_or("", |(queue, _)| queue);
            let mut replace =
                db.prepare_cached("insert or replace into later values (?, ?, ?, ?, ?)")?;
            replace.execute((queue, milliseconds(due), &row.key, bytes.cast_signed(), value))?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Removes what was put away, if it was.
fn take_back(db: &Connection, row: &Row) -> rusqlite::Result<()> {
    let sql = match row.kind {
        "instance" => "delete from ended where key = ?",
        "message" => "delete from later where key = ?",
        _ => return Ok(()),
    };
    db.prepare_cached(sql)?.execute([&row.key]).map(drop)
}

/// Removes some of the instances that are kept no longer.
fn forget_ended(db: &Connection, now: Time) -> rusqlite::Result<()> {
    let mut forget = db.prepare_cached(
        "delete from ended where rowid in (select rowid from ended where kept_until <= ?1 limit 256)",
    )?;
    forget.execute([i64::try_from(now.as_ms()).unwrap_or(i64::MAX)]).map(drop)
}

/// Why something could not be written.
#[derive(Debug)]
pub enum WriteError {
    Sqlite(rusqlite::Error),
    File(io::Error),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Sqlite(error) => error.fmt(f),
            WriteError::File(error) => write!(f, "the body of an object: {error}"),
        }
    }
}

impl std::error::Error for WriteError {}

impl From<rusqlite::Error> for WriteError {
    fn from(error: rusqlite::Error) -> WriteError {
        WriteError::Sqlite(error)
    }
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> WriteError {
        WriteError::File(error)
    }
}

/// A real disk is not waited for here, and its thread has no timers.
async fn wait(duration: Duration) {
    if !duration.is_zero() {
        tokio::time::sleep(duration).await;
    }
}

impl Batch {
    /// Lets everything leave that waits for it. A client that has gone away is not there to hear it.
    pub fn release(&mut self) {
        for leaving in self.leaving.drain(..) {
            match leaving {
                Leaving::Answer(client, answer) => drop(client.send(answer)),
                Leaving::Heard(caller, heard) => caller.tell(heard),
            }
        }
    }
}

/// The bytes that are new and go to a file, by number.
fn bodies(group: &[Batch]) -> impl Iterator<Item = (u64, &Body)> {
    let rows = group.iter().flat_map(|batch| &batch.changes.rows);
    let bodies = rows.filter_map(|row| Some((row.file?, row.body.as_ref()?)));
    bodies.filter(|(_, body)| body.len() >= LARGE)
}

fn put_file(db: &Connection, file: &Written) -> rusqlite::Result<()> {
    let mut insert = db.prepare_cached("insert into file values (?, ?, ?)")?;
    insert.execute((file.number.cast_signed(), file.length.cast_signed(), file.hash))?;
    Ok(())
}

/// Writes the rows and the history of one tick. Returns how many changes the tick has. Files that nothing refers to any
/// more are added to `dead`.
fn put(db: &Connection, changes: &Changes, dead: &mut Dead) -> rusqlite::Result<u64> {
    let mut update = db.prepare_cached(
        "update row set value = ?3, body = ?4, file = ?5 where kind = ?1 and key = ?2",
    )?;
    let mut insert = db.prepare_cached(
        "insert into row(kind, key, value, body, file) values (?1, ?2, ?3, ?4, ?5)",
    )?;
    let mut delete = db.prepare_cached("delete from row where kind = ?1 and key = ?2")?;
    for row in &changes.rows {
        if row.kind == "object" {
            dead.bodies.extend(put_bytes(db, row)?);
        }
        if let Some(value) = &row.value
            && !put_away(db, row)?
        {
            let body = row.body.as_ref().filter(|_| row.file.is_none());
            let bytes = body.map(Body::look);
            let file = row.file.map(u64::cast_signed);
            let values = (row.kind, &row.key, value, bytes.as_deref(), file);
            // A row that is here is not put away as well. As ever more is put away, it is looked for only if it can be.
            if update.execute(values)? == 0 {
                insert.execute(values)?;
                take_back(db, row)?;
            }
        } else if delete.execute((row.kind, &row.key))? == 0 && row.value.is_none() {
            take_back(db, row)?;
        }
    }
    forget_ended(db, changes.now)?;
    if !changes.history.is_empty() {
        let mut tell = db.prepare_cached("insert into history(lines) values (?)")?;
        tell.execute([&changes.history])?;
    }
    Ok((changes.rows.len() + changes.images.len() + changes.turns.len()) as u64)
}

/// Writes databases as a whole. Returns the files of the images that they replace.
fn put_images(
    db: &Connection,
    changes: &Changes,
    written: &[Written],
) -> rusqlite::Result<Vec<u64>> {
    let mut dead = Vec::new();
    for image in &changes.images {
        let mut forget = db.prepare_cached("delete from turn where log = ?")?;
        forget.execute([&image.log])?;
        let mut find = db.prepare_cached("select file from image where log = ?")?;
        let before: Option<Option<i64>> =
            find.query_row([&image.log], |row| row.get(0)).optional()?;
        dead.extend(before.flatten().map(i64::cast_unsigned));
        let file = image.file.and_then(|file| written.iter().find(|one| one.number == file));
        let mut replace =
            db.prepare_cached("insert or replace into image values (?, ?, ?, ?, ?, ?)")?;
        replace.execute((
            &image.log,
            &image.beside,
            &image.pages,
            file.map(|file| file.number.cast_signed()),
            file.map(|file| file.length.cast_signed()),
            file.map(|file| file.hash),
        ))?;
    }
    Ok(dead)
}

fn put_turns(db: &Connection, changes: &Changes) -> rusqlite::Result<()> {
    let mut append = db.prepare_cached("insert into turn(log, did) values (?, ?)")?;
    for turn in &changes.turns {
        append.execute((&turn.log, &turn.did))?;
    }
    Ok(())
}
