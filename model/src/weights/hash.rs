//! SHA-256 of files, read or written.

use std::io::{self, Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::WeightsError;
use crate::progress::{OnProgress, Progress, Stage};
use crate::regular;

/// The SHA-256 of a file in hexadecimal.
pub(crate) fn sha256_of(path: &Path, on_progress: OnProgress) -> Result<String, WeightsError> {
    let mut file = regular::open(path).map_err(WeightsError::io(path))?;
    let total = file.metadata().map_err(WeightsError::io(path))?.len();
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut done = 0;
    loop {
        let count = file.read(&mut buffer).map_err(WeightsError::io(path))?;
        if count == 0 {
            return Ok(hex(&digest.finalize()));
        }
        digest.update(&buffer[..count]);
        done += count as u64;
        on_progress(Progress { stage: Stage::Verifying, done, total });
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A writer that hashes what passes through it.
pub(super) struct Hashed<W> {
    inner: W,
    digest: Sha256,
}

impl<W: Write> Hashed<W> {
    pub(super) fn new(inner: W) -> Hashed<W> {
        Hashed { inner, digest: Sha256::new() }
    }

    pub(super) fn finish(self) -> (W, Vec<u8>) {
        (self.inner, self.digest.finalize().to_vec())
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.digest.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
