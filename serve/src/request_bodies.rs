//! Bodies as they arrive. A small one is collected in memory, a large one is written to a file from its first piece on,
//! which later becomes the file of the object that it is.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::Bytes;
use md5::Md5;
use serde_json::json;
use sha2::{Digest, Sha256};
use thunderhead_sim::{Body, BodyFile, Digests};

use crate::Environment;
use crate::files::LARGE;
use crate::request_checks::{BODY_MOST, Refused, TOO_LARGE};

/// The folder `arriving` of a data directory: bodies of which nobody knows yet what becomes of them.
#[derive(Debug)]
pub struct RequestBodies {
    folder: PathBuf,
    /// How many bodies there were; a file has the number of its body.
    files: AtomicU64,
    environment: Environment,
}

impl RequestBodies {
    pub fn of(data: &Path, environment: Environment) -> RequestBodies {
        RequestBodies { folder: folder(data), files: AtomicU64::new(0), environment }
    }

    /// Collects a whole body. Of one that breaks off or is refused nothing is left, and of none more than a piece of it
    /// is in memory.
    pub async fn collect<B>(&self, body: B) -> Result<Body, Refused>
    where
        B: hyper::body::Body<Data = Bytes> + Unpin,
    {
        let (mut body, mut piece, mut length) = (body, Vec::new(), 0);
        let (mut file, number) = (None, self.files.fetch_add(1, Relaxed));
        while !body.is_end_stream()
            && let Some(frame) = body.frame().await
        {
            let frame = frame.map_err(|_| (StatusCode::BAD_REQUEST, "the body ended early"))?;
            let Ok(bytes) = frame.into_data() else { continue };
            length += bytes.len() as u64;
            if length > BODY_MOST {
                return Err((StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE));
            }
            piece.extend_from_slice(&bytes);
            if piece.len() >= LARGE {
                file = Some(self.write(number, file.take(), std::mem::take(&mut piece)).await?);
            }
        }
        let Some(file) = file else { return Ok(Body::from(piece)) };
        let file = self.write(number, Some(file), piece).await?;
        self.beside(move || file.finish()).await
    }

    /// Writes a piece to a file, which is new if there is none.
    async fn write(
        &self,
        number: u64,
        file: Option<Arriving>,
        piece: Vec<u8>,
    ) -> Result<Arriving, Refused> {
        let path = self.folder.join(format!("{number:x}"));
        let write = move || {
            let mut file = file.map_or_else(|| Arriving::create(path), Ok)?;
            file.write(&piece)?;
            Ok(file)
        };
        self.beside(write).await
    }

    async fn beside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<T, Refused> {
        self.environment.beside(work).await.map_err(|error| {
            (self.environment.say)("error", "no room", &json!({ "why": error.to_string() }));
            (StatusCode::INSUFFICIENT_STORAGE, "the disk has no room for the body")
        })
    }
}

/// Makes the folder, unless it is there, and removes what an earlier process has left in it.
pub fn sweep(data: &Path) -> io::Result<()> {
    let folder = folder(data);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    for file in std::fs::read_dir(folder)? {
        std::fs::remove_file(file?.path())?;
    }
    Ok(())
}

fn folder(data: &Path) -> PathBuf {
    data.join("arriving")
}

/// A file with the beginning of a body.
struct Arriving {
    file: File,
    path: Passing,
    length: u64,
    md5: Md5,
    sha256: Sha256,
}

/// The path of a file that is removed with this.
struct Passing(Option<PathBuf>);

impl Drop for Passing {
    fn drop(&mut self) {
        // One that stays is swept at the next start.
        drop(self.0.take().map(std::fs::remove_file));
    }
}

impl Arriving {
    fn create(path: PathBuf) -> io::Result<Arriving> {
        let mut options = OpenOptions::new();
        let file = options.create_new(true).read(true).write(true).mode(0o600).open(&path)?;
        let (md5, sha256) = (Md5::new(), Sha256::new());
        Ok(Arriving { file, path: Passing(Some(path)), length: 0, md5, sha256 })
    }

    fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        self.file.write_all(piece)?;
        self.length += piece.len() as u64;
        self.md5.update(piece);
        self.sha256.update(piece);
        Ok(())
    }

    /// The body. It is on disk by now, so that the journal, for which everybody waits, need not write all of it.
    fn finish(mut self) -> io::Result<Body> {
        self.file.sync_data()?;
        let digests =
            Digests { md5: self.md5.finalize().into(), sha256: self.sha256.finalize().into() };
        let path = self.path.0.take().expect("it is taken here alone");
        Ok(Body::filed(BodyFile::passing(self.file, path, self.length, digests)))
    }
}
