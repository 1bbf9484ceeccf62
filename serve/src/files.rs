//! The bytes of the largest objects: a file for each, by number, in folders of a thousand or so. Large databases as a
//! whole have files of the same numbering in a folder of their own.

use std::collections::BTreeSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use thunderhead_sim::{Body, BodyFile};

/// The bytes of so many have a file. A file costs two syncs of its own, before that of the commit.
pub const LARGE: usize = 64 * 1024;
/// How many bytes are copied at a time.
const PIECE: usize = 1 << 20;
/// How many bits of a number tell files of one folder apart.
const IN_FOLDER: u32 = 10;
/// How many files are written at the same time: each waits for the disk, and the disk can do several at once.
const WRITERS: usize = 8;

/// The folders `bodies` and `images` of a data directory.
#[derive(Clone, Debug)]
pub struct Files {
    root: PathBuf,
    images: PathBuf,
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
        Files { root: data.join("bodies"), images: data.join("images") }
    }

    /// Makes the folder of the images, unless it is there.
    pub fn make_images(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.images)?;
        self.images.parent().map_or(Ok(()), sync)
    }

    /// The bytes of a file, which are read when somebody looks at them.
    pub fn read(&self, number: u64) -> io::Result<Body> {
        Ok(Body::filed(BodyFile::kept(File::open(self.path(number))?)?))
    }

    /// Writes files. They and their names are on disk when this returns.
    pub fn write(&self, all: &[(u64, &Body)]) -> io::Result<Vec<Written>> {
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
                    scope.spawn(move || few.iter().map(|(at, body)| self.put(*at, body)).collect())
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

    fn put(&self, number: u64, body: &Body) -> io::Result<Written> {
        let arrived = body.file().and_then(|file| Some((file.digests()?, file.claim()?)));
        if let Some((digests, arrived)) = arrived {
            let path = self.path(number);
            std::fs::rename(arrived, &path)?;
            // Nearly all of it is on disk already.
            File::open(path)?.sync_all()?;
            return Ok(Written { number, length: body.len() as u64, hash: digests.sha256 });
        }
        let mut options = OpenOptions::new();
        // One that was written and not referred to before a crash is replaced.
        let mut file =
            options.create(true).truncate(true).write(true).mode(0o600).open(self.path(number))?;
        let (mut hash, mut at) = (Sha256::new(), 0);
        while at < body.len() {
            let piece = body.piece(at, PIECE)?;
            file.write_all(&piece)?;
            hash.update(&piece);
            at += piece.len();
        }
        file.sync_all()?;
        Ok(Written { number, length: at as u64, hash: hash.finalize().into() })
    }

    /// Syncs an image that the engine has written. It and its name are on disk when this returns.
    pub fn sync_image(&self, number: u64) -> io::Result<Written> {
        let path = self.image(number);
        File::open(&path)?.sync_all()?;
        sync(&self.images)?;
        hashed(number, &path)
    }

    /// Removes images that nothing refers to any more.
    pub fn remove_images(&self, dead: &[u64]) {
        for number in dead {
            drop(std::fs::remove_file(self.image(*number)));
        }
    }

    /// Removes every image but these.
    pub fn sweep_images(&self, kept: &BTreeSet<u64>) -> io::Result<()> {
        sweep(&self.images, kept).map(drop)
    }

    /// Reads an image as it was written; otherwise what is wrong with it.
    pub fn check_image(&self, written: &Written) -> Result<(), String> {
        compare(&self.image(written.number), written)
    }

    pub fn image(&self, number: u64) -> PathBuf {
        self.images.join(format!("{number:x}"))
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
            if sweep(&folder, kept)? == 0 {
                std::fs::remove_dir(&folder)?;
            }
        }
        Ok(())
    }

    /// Reads a file as it was written; otherwise what is wrong with it.
    pub fn check(&self, written: &Written) -> Result<(), String> {
        compare(&self.path(written.number), written)
    }

    pub fn path(&self, number: u64) -> PathBuf {
        self.folder(number).join(format!("{number:x}"))
    }

    fn folder(&self, number: u64) -> PathBuf {
        self.root.join(format!("{:x}", number >> IN_FOLDER))
    }
}

/// Removes the files of a folder but these. Returns how many are left.
fn sweep(folder: &Path, kept: &BTreeSet<u64>) -> io::Result<usize> {
    let mut left = 0;
    for file in std::fs::read_dir(folder)? {
        let file = file?;
        let number = file.file_name().to_str().and_then(|name| u64::from_str_radix(name, 16).ok());
        match number.filter(|number| kept.contains(number)) {
            Some(_) => left += 1,
            None => std::fs::remove_file(file.path())?,
        }
    }
    Ok(left)
}

/// What a file has, read piece by piece: an image may be larger than the memory.
fn hashed(number: u64, path: &Path) -> io::Result<Written> {
    let (mut file, mut piece) = (File::open(path)?, vec![0; 1 << 16]);
    let (mut hash, mut length) = (Sha256::new(), 0);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(Written { number, length, hash: hash.finalize().into() }),
            got => {
                hash.update(&piece[..got]);
                length += got as u64;
            }
        }
    }
}

fn compare(path: &Path, written: &Written) -> Result<(), String> {
    let found =
        hashed(written.number, path).map_err(|error| format!("{}: {error}", path.display()))?;
    if found.length != written.length {
        let (found, length) = (found.length, written.length);
        return Err(format!("{} has {found} bytes and had {length}", path.display()));
    }
    match found == *written {
        true => Ok(()),
        false => Err(format!("{} has other bytes than were written", path.display())),
    }
}

/// Makes the names in a folder durable.
fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
