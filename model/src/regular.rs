//! Opens files that end. A pipe that nobody writes to, or a device, would be read for ever.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Opens a regular file for reading; anything else is an error, as if it could not be opened.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        let why = "it is not a regular file (but a directory, a pipe or a device)";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    File::open(path)
}
