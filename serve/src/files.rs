//! The bytes of large objects: a file for each, by number, in folders of a thousand or so.

use std::collections::BTreeSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// How many bits of a number tell files of one folder apart.
const IN_FOLDER: u32 = 10;
/// How many files are written at the same time: each waits for the disk, and the disk can do several at once.
const WRITERS: usize = 8;

/// The folder `bodies` of a data directory.
#[derive(Clone, Debug)]
pub struct Files {
    root: PathBuf,
}

/// A file that is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub number: u64,
    pub length: u64,
    /// The SHA-256 of the bytes.
    pub hash: [u8; 32],
}

impl Files {
    pub fn of(data: &Path) -> Files {
        Files { root: data.join("bodies") }
    }

    pub fn read(&self, number: u64) -> io::Result<Vec<u8>> {
        std::fs::read(self.path(number))
    }

    /// Writes files. They and their names are on disk when this returns.
    pub fn write(&self, all: &[(u64, &[u8])]) -> io::Result<Vec<Written>> {
        if all.is_empty() {
            return Ok(Vec::new());
        }
        let folders: BTreeSet<PathBuf> =
            all.iter().map(|(number, _)| self.folder(*number)).collect();
        for folder in &folders {
            if !folder.is_dir() {
                DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
                sync(&self.root)?;
                self.root.parent().map_or(Ok(()), sync)?;
            }
        }
        let written = std::thread::scope(|scope| {
            let share = all.len().div_ceil(WRITERS);
            let writers: Vec<_> = all
                .chunks(share)
                .map(|few| {
                    scope
                        .spawn(move || few.iter().map(|(at, bytes)| self.put(*at, bytes)).collect())
                })
                .collect();
            let joined = writers.into_iter().map(|writer| writer.join());
            let written: Vec<io::Result<Vec<Written>>> = joined
                .map(|written| {
                    written.unwrap_or_else(|_| Err(io::Error::other("a writer panicked")))
                })
                .collect();
            written.into_iter().collect::<io::Result<Vec<Vec<Written>>>>()
        })?;
        folders.iter().try_for_each(|folder| sync(folder))?;
        Ok(written.concat())
    }

    fn put(&self, number: u64, bytes: &[u8]) -> io::Result<Written> {
        let mut options = OpenOptions::new();
        // One that was written and not referred to before a crash is replaced.
        let mut file =
            options.create(true).truncate(true).write(true).mode(0o600).open(self.path(number))?;
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(Written { number, length: bytes.len() as u64, hash: Sha256::digest(bytes).into() })
    }

    /// Removes files that nothing refers to any more. What stays because of a crash or an error is swept at the next
    /// start.
    pub fn remove(&self, dead: &[u64]) {
        for number in dead {
            drop(std::fs::remove_file(self.path(*number)));
            // It is refused unless the folder is empty.
            drop(std::fs::remove_dir(self.folder(*number)));
        }
    }

    /// Removes every file but these.
    pub fn sweep(&self, kept: &BTreeSet<u64>) -> io::Result<()> {
        let folders = match std::fs::read_dir(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            folders => folders?,
        };
        for folder in folders {
            let folder = folder?.path();
            let mut left = 0;
            for file in std::fs::read_dir(&folder)? {
                let file = file?;
                let number =
                    file.file_name().to_str().and_then(|name| u64::from_str_radix(name, 16).ok());
                match number.filter(|number| kept.contains(number)) {
                    Some(_) => left += 1,
                    None => std::fs::remove_file(file.path())?,
                }
            }
            if left == 0 {
                std::fs::remove_dir(&folder)?;
            }
        }
        Ok(())
    }

    /// Reads a file as it was written; otherwise what is wrong with it.
    pub fn check(&self, written: &Written) -> Result<(), String> {
        let path = self.path(written.number);
        let bytes =
            self.read(written.number).map_err(|error| format!("{}: {error}", path.display()))?;
        if bytes.len() as u64 != written.length {
            let (found, length) = (bytes.len(), written.length);
            return Err(format!("{} has {found} bytes and had {length}", path.display()));
        }
        match <[u8; 32]>::from(Sha256::digest(&bytes)) == written.hash {
            true => Ok(()),
            false => Err(format!("{} has other bytes than were written", path.display())),
        }
    }

    pub fn path(&self, number: u64) -> PathBuf {
        self.folder(number).join(format!("{number:x}"))
    }

    fn folder(&self, number: u64) -> PathBuf {
        self.root.join(format!("{:x}", number >> IN_FOLDER))
    }
}

/// Makes the names in a folder durable.
fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
