//! Bytes in a file: nobody holds more of them than is looked at.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::{Body, Bytes};

/// A file that has the bytes of a body, and does not change.
pub struct BodyFile {
    file: File,
    length: u64,
    digests: Option<Digests>,
    /// Where the file is, if it goes with its last body.
    path: Mutex<Option<PathBuf>>,
}

/// What is known of bytes that were written a moment ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digests {
    /// Their MD5.
    pub md5: [u8; 16],
    /// Their SHA-256.
    pub sha256: [u8; 32],
}

impl BodyFile {
    /// A file that somebody else keeps. It may lose its name while this is open.
    ///
    /// # Errors
    ///
    /// The operating system does not say how long it is.
    pub fn kept(file: File) -> io::Result<BodyFile> {
        let length = file.metadata()?.len();
        Ok(BodyFile { file, length, digests: None, path: Mutex::new(None) })
    }

    /// A file that goes with its last body, unless somebody [claims](BodyFile::claim) it.
    pub fn passing(file: File, path: PathBuf, length: u64, digests: Digests) -> BodyFile {
        BodyFile { file, length, digests: Some(digests), path: Mutex::new(Some(path)) }
    }

    /// Where the file is. It belongs to the caller now; the next one is told nothing.
    pub fn claim(&self) -> Option<PathBuf> {
        self.path.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The digests of the bytes, if they are known.
    pub fn digests(&self) -> Option<Digests> {
        self.digests
    }
}

impl Drop for BodyFile {
    fn drop(&mut self) {
        if let Some(path) = self.claim() {
            // One that stays is removed by whom the folder belongs to.
            drop(std::fs::remove_file(path));
        }
    }
}

impl fmt::Debug for BodyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BodyFile({} bytes)", self.length)
    }
}

/// A part of a file, or all of it.
pub(super) struct Filed {
    file: Arc<BodyFile>,
    from: u64,
    length: usize,
    /// The bytes, when somebody has asked for them as a whole.
    read: OnceLock<Box<[u8]>>,
}

impl Filed {
    fn of(file: Arc<BodyFile>, from: u64, length: usize) -> Body {
        Body(Bytes::Filed(Arc::new(Filed { file, from, length, read: OnceLock::new() })))
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// # Panics
    ///
    /// When they cannot be read: there is nothing else to go on with.
    #[cold]
    pub(super) fn bytes(&self) -> &[u8] {
        self.read
            .get_or_init(|| self.piece(0, self.length).expect("a file of ours can be read").into())
    }

    fn piece(&self, from: usize, most: usize) -> io::Result<Vec<u8>> {
        let mut piece = vec![0; self.length.saturating_sub(from).min(most)];
        self.file.file.read_exact_at(&mut piece, self.from + from as u64)?;
        Ok(piece)
    }

    fn part(&self, from: usize, length: usize) -> Body {
        Filed::of(self.file.clone(), self.from + from as u64, length)
    }
}

impl Body {
    /// All bytes of a file. They are read when somebody looks at them.
    ///
    /// ```
    /// use std::io::Write;
    /// use thunderhead_sim::{Body, BodyFile};
    ///
    /// let path = std::env::temp_dir().join(format!("body-{}", std::process::id()));
    /// std::fs::File::create(&path)?.write_all(b"a long text")?;
    /// let body = Body::filed(BodyFile::kept(std::fs::File::open(&path)?)?);
    /// std::fs::remove_file(&path)?;
    /// assert_eq!((body.len(), body.at_hand()), (11, None));
    /// assert_eq!(body.part(2, 4).text(), Some("long"));
    /// assert_eq!(body.piece(7, 100)?, b"text");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn filed(file: BodyFile) -> Body {
        // Lengths are counted in memory sizes everywhere else.
        let length = usize::try_from(file.length).unwrap_or(usize::MAX);
        Filed::of(Arc::new(file), 0, length)
    }

    /// The file that has exactly these bytes, if they are in one.
    pub fn file(&self) -> Option<&BodyFile> {
        match &self.0 {
            Bytes::Filed(filed) if filed.length as u64 == filed.file.length => Some(&filed.file),
            _ => None,
        }
    }

    /// The bytes, unless they are in a file.
    pub fn at_hand(&self) -> Option<&[u8]> {
        (!matches!(self.0, Bytes::Filed(_))).then(|| self.bytes())
    }

    /// So many of the bytes.
    ///
    /// # Panics
    ///
    /// When there are not so many.
    pub fn part(&self, from: usize, length: usize) -> Body {
        let end = from.checked_add(length).filter(|end| *end <= self.len());
        let end = end.expect("a part lies within its body");
        match &self.0 {
            Bytes::Filed(filed) => filed.part(from, length),
            _ => Body::from(&self.bytes()[from..end]),
        }
    }

    /// At most so many of the bytes from there on, read from their file if they are in one.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn piece(&self, from: usize, most: usize) -> io::Result<Vec<u8>> {
        match &self.0 {
            Bytes::Filed(filed) => filed.piece(from, most),
            _ => Ok(self.bytes().iter().skip(from).take(most).copied().collect()),
        }
    }

    /// The bytes for one look at them: those of a file are read, and not held after it.
    ///
    /// # Panics
    ///
    /// As [`Body::bytes`] does.
    pub fn look(&self) -> Cow<'_, [u8]> {
        match &self.0 {
            Bytes::Filed(filed) if filed.read.get().is_none() => {
                filed.piece(0, filed.length).expect("a file of ours can be read").into()
            }
            _ => self.bytes().into(),
        }
    }

    /// The digests of the bytes, where they are known without a look at them.
    pub(crate) fn digests(&self) -> Option<Digests> {
        self.file()?.digests()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const BYTES: &[u8] = b"0123456789, and more than a few";

    /// A new file of this name in the folder for temporary files.
    fn file(name: &str) -> (File, PathBuf) {
        let path = std::env::temp_dir().join(format!("thunderhead-{}-{name}", std::process::id()));
        std::fs::write(&path, BYTES).unwrap();
        (File::open(&path).unwrap(), path)
    }

    fn passing(path: &Path) -> Body {
        let digests = Digests { md5: [1; 16], sha256: [2; 32] };
        let (file, length) = (File::open(path).unwrap(), BYTES.len() as u64);
        Body::filed(BodyFile::passing(file, path.into(), length, digests))
    }

    #[test]
    fn a_body_in_a_file_is_equal_to_its_bytes_and_holds_them_only_when_they_are_asked_for() {
        let (open, path) = file("equal");
        let body = Body::filed(BodyFile::kept(open).unwrap());
        std::fs::remove_file(path).unwrap();
        let held = || match &body.0 {
            Bytes::Filed(filed) => filed.read.get().is_some(),
            _ => panic!("it is in a file"),
        };
        assert_eq!((body.len(), body.is_empty(), body.to_string()), (31, false, "31 bytes".into()));
        assert_eq!((&*body.look(), body.piece(3, 2).unwrap()), (BYTES, b"34".to_vec()));
        assert_eq!(
            (body.piece(29, 9).unwrap(), body.piece(99, 9).unwrap()),
            (b"ew".to_vec(), vec![])
        );
        let json = serde_json::to_string(&body).unwrap();
        assert_eq!(serde_json::from_str::<Body>(&json).unwrap().bytes(), BYTES);
        assert!(!held(), "a look holds nothing");
        assert_eq!(body, Body::from(BYTES));
        assert!(held() && body.at_hand().is_none());
    }

    #[test]
    fn a_part_of_a_body_has_its_bytes_wherever_they_are() {
        let (open, path) = file("part");
        let filed = Body::filed(BodyFile::kept(open).unwrap());
        std::fs::remove_file(path).unwrap();
        for body in [filed, Body::from(BYTES)] {
            let part = body.part(10, 21).part(6, 4);
            assert_eq!((part.text(), part.file().is_none()), (Some("more"), true));
            assert!(body.part(31, 0).is_empty());
        }
    }

    #[test]
    fn a_file_goes_with_its_last_body_unless_it_is_claimed() {
        let (_, path) = file("passing");
        let (first, second) = (passing(&path), passing(&path).part(0, 3));
        assert_eq!(first.digests().map(|known| known.md5), Some([1; 16]));
        assert_eq!(second.digests(), None, "they are those of the whole");
        let claimed = first.file().unwrap().claim();
        assert_eq!((claimed.as_ref(), first.file().unwrap().claim()), (Some(&path), None));
        drop(first);
        assert!(path.exists());
        let whole = second.clone();
        drop(second);
        assert!(path.exists());
        drop(whole);
        assert!(!path.exists());
    }
}
