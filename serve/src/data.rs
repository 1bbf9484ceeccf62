//! The data directory: a lock, and a database with everything that the cloud keeps.
//!
//! ```text
//! DATA/LOCK       held by the process that serves
//! DATA/cloud.db   SQLite: meta, row, body, file, ended, later, image, turn, history
//! DATA/bodies/    the bytes of the largest objects
//! DATA/arriving/  bodies that are not whole yet, or of which nobody knows yet what becomes of them
//! DATA/images/    large databases as a whole
//! ```

use std::collections::BTreeSet;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rusqlite::{Connection, OpenFlags, OptionalExtension};
use thunderhead_sim::{BackingStore, Body, JsonlReader, Machine, Time, Trace, hex};

use crate::backing_store::Disk;
use crate::files::{Files, Written};
use crate::request_bodies;

mod error;

pub use error::DataError;

/// The form in which everything is written. A directory of another form is refused.
const FORMAT: i64 = 5;
/// How many statements are kept prepared.
const STATEMENTS: usize = 32;
/// Marks the database as one of ours.
const APPLICATION: i64 = 0x5448_4d44;

/// A body has a place of its own, so that another with another number can take over its pages.
const TABLES: &str = "
    create table meta(key text primary key, value text not null) without rowid;
    create table row(kind text not null, key text not null, value text not null, body blob, file integer,
                     unique (kind, key));
    create table body(place integer primary key, number integer not null unique, bytes blob not null);
    create table file(number integer primary key, length integer not null, hash blob not null);
    create table ended(key text not null unique, value text not null, kept_until integer not null);
    create index ended_in_order on ended(kept_until);
    create table later(queue text not null, due integer not null, key text not null unique, bytes integer not null,
                       value text not null, primary key (queue, due, key)) without rowid;
    create table image(log text primary key, beside text not null, pages blob not null, file integer,
                       length integer, hash blob);
    create table turn(seq integer primary key, log text not null, did text not null);
    create index turn_of_log on turn(log);
    create table history(seq integer primary key, lines text not null);";

/// Which system a directory is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its name.
    pub system: String,
    /// The name of its variant.
    pub variant: String,
}

/// An open data directory.
#[derive(Debug)]
pub struct Data {
    pub(crate) db: Connection,
    pub(crate) files: Files,
    path: PathBuf,
    secret: String,
    sign_in: String,
    /// What SQL's `random()` derives from.
    pub(crate) salt: u64,
    /// Held for as long as the directory is open.
    _lock: File,
}

/// What is in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Which system it is of.
    pub identity: Identity,
    /// How many rows there are.
    pub rows: u64,
    /// How many instances of workflows have ended and are kept.
    pub ended: u64,
    /// How many messages are due much later.
    pub later: u64,
    /// How many objects have their bytes in a file.
    pub files: u64,
    /// How many databases are written down as a whole.
    pub images: u64,
    /// How many turns of databases have to be done again at a start.
    pub turns: u64,
    /// How many pieces of history there are.
    pub history: u64,
}

impl Data {
    /// Opens a directory, or makes one for `identity`. It stays locked until this is dropped.
    pub fn open(path: &Path, identity: &Identity) -> Result<Data, DataError> {
        let unwritable = |error: io::Error| DataError::Unwritable(path.into(), error);
        make(path).map_err(unwritable)?;
        let lock = lock(path)?;
        let mut db = Connection::open(path.join("cloud.db"))?;
        // In memory pages are smaller (`.cargo/config.toml`). A body has many, and each is written with a header.
        db.execute_batch(
            "pragma page_size = 4096; pragma journal_mode = wal; pragma synchronous = full;",
        )?;
        // The journal has more statements than are usually kept prepared.
        db.set_prepared_statement_cache_capacity(STATEMENTS);
        if is_empty(&db)? {
            create(&mut db, identity)?;
        }
        check(&db, path)?;
        let found = read_identity(&db)?;
        if found != *identity {
            return Err(DataError::OtherSystem {
                path: path.into(),
                found,
                wanted: identity.clone(),
            });
        }
        db.execute("delete from meta where key = 'rest'", [])?;
        let files = Files::of(path);
        files.make_images().map_err(unwritable)?;
        files.sweep(&numbers(&db, "select number from file")?).map_err(unwritable)?;
        let images = numbers(&db, "select file from image where file is not null")?;
        files.sweep_images(&images).map_err(unwritable)?;
        request_bodies::sweep(path).map_err(unwritable)?;
        let salt = meta(&db, "salt")?
            .parse()
            .map_err(|_| DataError::Damaged("the salt is no number".into()))?;
        let (secret, sign_in) = (meta(&db, "secret")?, meta(&db, "sign_in")?);
        Ok(Data { db, files, path: path.into(), secret, sign_in, salt, _lock: lock })
    }

    /// Checks a directory that nobody serves: whether the database is whole, and everything in it can be put back.
    pub fn verify(
        path: &Path,
        machine: impl FnOnce(&Identity) -> Option<Machine>,
    ) -> Result<Report, DataError> {
        let _lock = lock(path)?;
        let db = read_only(path)?;
        let whole: String = db.query_row("pragma integrity_check", [], |row| row.get(0))?;
        if whole != "ok" {
            return Err(DataError::Damaged(whole));
        }
        let identity = read_identity(&db)?;
        let mut machine = machine(&identity).ok_or_else(|| DataError::Unknown(identity.clone()))?;
        check_migrations(&db, &machine)?;
        check_images(&db, &Files::of(path))?;
        let reader = read_only(path)?;
        let disk: Rc<dyn BackingStore> = Rc::new(Disk { files: Files::of(path), db: reader });
        machine.read_with(&disk);
        restore(&db, &mut machine)?;
        check_put_away(&db, &mut machine)?;
        let files = check_files(&db, &Files::of(path))?;
        let count =
            |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned);
        Ok(Report {
            rows: count("select count(*) from row")?,
            ended: count("select count(*) from ended")?,
            later: count("select count(*) from later")?,
            files,
            images: count("select count(*) from image")?,
            turns: count("select count(*) from turn")?,
            history: count("select count(*) from history")?,
            identity,
        })
    }

    /// A connection for the engine, which only reads.
    pub(crate) fn reader(&self) -> Result<Connection, DataError> {
        read_only(&self.path)
    }

    /// Puts everything back into a machine.
    pub(crate) fn restore(&self, machine: &mut Machine) -> Result<(), DataError> {
        let migrations = machine.migrations().to_string();
        let sql = "insert or ignore into meta values ('migrations', ?)";
        self.db.execute(sql, [&migrations])?;
        check_migrations(&self.db, machine)?;
        restore(&self.db, machine)
    }

    /// What cookies are signed with.
    pub(crate) fn secret(&self) -> &[u8] {
        self.secret.as_bytes()
    }

    /// What one signs in with.
    pub(crate) fn sign_in_key(&self) -> &str {
        &self.sign_in
    }
}

/// Opens a directory to read its history, while it is served or not. Returns whether all work was done when it was last
/// closed.
pub fn history(path: &Path) -> Result<(Identity, Trace, bool), DataError> {
    let db = read_only(path)?;
    let mut reader = JsonlReader::default();
    let mut all = db.prepare("select lines from history order by seq")?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        let lines = row.get_ref(0)?.as_str();
        let lines = lines.map_err(|error| DataError::Damaged(error.to_string()))?;
        reader.read(lines).map_err(|error| DataError::Damaged(error.to_string()))?;
    }
    let rest: Option<String> = db
        .query_row("select value from meta where key = 'rest'", [], |row| row.get(0))
        .optional()?;
    Ok((read_identity(&db)?, reader.finish(), rest.is_some()))
}

/// Makes a directory, unless it is there. Its name is on disk when this returns, and so are those of new directories
/// above it.
fn make(path: &Path) -> io::Result<()> {
    let new = path.ancestors().take_while(|folder| !folder.exists()).count().max(1);
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    for folder in path.canonicalize()?.ancestors().skip(1).take(new) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

fn lock(path: &Path) -> Result<File, DataError> {
    let unwritable = |error| DataError::Unwritable(path.into(), error);
    let mut options = OpenOptions::new();
    let file = options.create(true).truncate(false).write(true).mode(0o600).open(path.join("LOCK"));
    let file = file.map_err(unwritable)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(DataError::Locked(path.into())),
        Err(TryLockError::Error(error)) => Err(unwritable(error)),
    }
}

fn read_only(path: &Path) -> Result<Connection, DataError> {
    let file: PathBuf = path.join("cloud.db");
    if !file.is_file() {
        return Err(DataError::NotOne(path.into()));
    }
    // Not `READ_ONLY`: a database that was not closed has a log beside it, and reading that takes an index of it.
    let db = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    db.execute_batch("pragma query_only = on")?;
    check(&db, path)?;
    Ok(db)
}

fn is_empty(db: &Connection) -> rusqlite::Result<bool> {
    db.query_row("select not exists (select 1 from sqlite_master)", [], |row| row.get(0))
}

fn create(db: &mut Connection, identity: &Identity) -> Result<(), DataError> {
    let mut random = [0; 56];
    getrandom::fill(&mut random).map_err(|error| DataError::Random(error.to_string()))?;
    let (secret, rest) = random.split_at(32);
    let (key, salt) = rest.split_at(16);
    // SQLite's numbers are signed.
    let salt = u64::from_le_bytes(salt.try_into().expect("there are eight left")) >> 1;
    let transaction = db.transaction()?;
    transaction.execute_batch(TABLES)?;
    let all = [
        ("system", identity.system.clone()),
        ("variant", identity.variant.clone()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("secret", hex(secret)),
        ("sign_in", hex(key)),
        ("salt", salt.to_string()),
    ];
    for (key, value) in all {
        transaction.execute("insert into meta values (?, ?)", (key, value))?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    Ok(transaction.commit()?)
}

/// Refuses what is not ours, or of another form.
fn check(db: &Connection, path: &Path) -> Result<(), DataError> {
    let pragma = |name: &str| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if pragma("application_id")? != APPLICATION {
        return Err(DataError::NotOurs(path.into()));
    }
    match pragma("user_version")? {
        FORMAT => Ok(()),
        found => Err(DataError::Format { path: path.into(), found, known: FORMAT }),
    }
}

fn meta(db: &Connection, key: &str) -> Result<String, DataError> {
    let found =
        db.query_row("select value from meta where key = ?", [key], |row| row.get(0)).optional()?;
    found.ok_or_else(|| DataError::Damaged(format!("it does not say its {key}")))
}

fn read_identity(db: &Connection) -> Result<Identity, DataError> {
    Ok(Identity { system: meta(db, "system")?, variant: meta(db, "variant")? })
}

fn check_migrations(db: &Connection, machine: &Machine) -> Result<(), DataError> {
    match meta(db, "migrations")? == machine.migrations().to_string() {
        true => Ok(()),
        false => Err(DataError::Migrations),
    }
}

/// Instances that have ended and messages that are due later are read when they are needed; here each is.
fn check_put_away(db: &Connection, machine: &mut Machine) -> Result<(), DataError> {
    let mut all = db.prepare(
        "select 'instance', key, value from ended union all select 'message', key, value from later",
    )?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        let (kind, key, value): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let restored = machine.restore_row(&kind, &key, &value, None);
        restored.map_err(|error| DataError::Damaged(format!("{kind} {key}: {error}")))?;
    }
    Ok(())
}

/// The numbers of files that something refers to.
fn numbers(db: &Connection, sql: &str) -> Result<BTreeSet<u64>, DataError> {
    let mut all = db.prepare(sql)?;
    let numbers = all.query_map([], |row| row.get::<_, i64>(0))?;
    Ok(numbers.map(|number| number.map(i64::cast_unsigned)).collect::<rusqlite::Result<_>>()?)
}

/// Reads every image that has a file, and compares what is known of it.
fn check_images(db: &Connection, files: &Files) -> Result<(), DataError> {
    let mut all =
        db.prepare("select file, length, hash from image where file is not null order by file")?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        let (number, length): (i64, i64) = (row.get(0)?, row.get(1)?);
        let (number, length) = (number.cast_unsigned(), length.cast_unsigned());
        let written = Written { number, length, hash: row.get(2)? };
        files.check_image(&written).map_err(DataError::Damaged)?;
    }
    Ok(())
}

/// Reads every file, and compares what is known of it. Returns how many there are.
fn check_files(db: &Connection, files: &Files) -> Result<u64, DataError> {
    let sql = "select key from row left join file on file.number = row.file left join body on body.number = row.file \
               where row.file is not null \
               and coalesce(length, octet_length(bytes)) is not json_extract(value, '$.size')";
    let odd: Option<String> = db.query_row(sql, [], |row| row.get(0)).optional()?;
    if let Some(key) = odd {
        return Err(DataError::Damaged(format!("the bytes of object {key} are not there")));
    }
    let mut all = db.prepare("select number, length, hash from file")?;
    let mut rows = all.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        let (number, length): (i64, i64) = (row.get(0)?, row.get(1)?);
        let (number, length) = (number.cast_unsigned(), length.cast_unsigned());
        files.check(&Written { number, length, hash: row.get(2)? }).map_err(DataError::Damaged)?;
        count += 1;
    }
    Ok(count)
}

/// Messages that are due much later are read when they are due; here they are counted.
fn restore_later(db: &Connection, machine: &mut Machine) -> Result<(), DataError> {
    let mut all =
        db.prepare("select queue, count(*), sum(bytes), min(due) from later group by queue")?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        let number = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
        let next = Time::from_ms(number(3)?);
        machine.restore_later(&row.get::<_, String>(0)?, number(1)?, number(2)?, next);
    }
    Ok(())
}

fn restore(db: &Connection, machine: &mut Machine) -> Result<(), DataError> {
    let damaged =
        |what: &str, error: &dyn std::fmt::Display| DataError::Damaged(format!("{what}: {error}"));
    let mut all = db.prepare("select kind, key, value, body, file from row order by kind, key")?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        let (kind, key): (String, String) = (row.get(0)?, row.get(1)?);
        let (value, body): (String, Option<Vec<u8>>) = (row.get(2)?, row.get(3)?);
        let restored = match row.get::<_, Option<i64>>(4)? {
            Some(file) => machine.restore_filed(&key, &value, file.cast_unsigned()),
            None => machine.restore_row(&kind, &key, &value, body.map(Body::from)),
        };
        restored.map_err(|error| damaged(&format!("{kind} {key}"), &error))?;
    }
    restore_later(db, machine)?;
    let mut all = db.prepare("select log, beside, pages, file from image")?;
    let mut images = all.query([])?;
    while let Some(image) = images.next()? {
        let (log, beside): (String, String) = (image.get(0)?, image.get(1)?);
        let restored = match image.get::<_, Option<i64>>(3)? {
            Some(file) => machine.restore_filed_image(&log, &beside, file.cast_unsigned()),
            None => {
                let pages = image.get_ref(2)?.as_blob().map_err(|error| damaged(&log, &error))?;
                machine.restore_image(&log, &beside, pages)
            }
        };
        restored.map_err(|error| damaged(&log, &error))?;
    }
    let mut all = db.prepare("select log, did from turn order by seq")?;
    let mut turns = all.query([])?;
    while let Some(turn) = turns.next()? {
        let (log, did): (String, String) = (turn.get(0)?, turn.get(1)?);
        machine.restore_turn(&log, &did).map_err(|error| damaged(&log, &error))?;
    }
    Ok(())
}
