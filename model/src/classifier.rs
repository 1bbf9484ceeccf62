//! Image bytes in, labels with scores out.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thunderhead_pictures::{Limits, Picture, decode};

use crate::commands::lossy;
use crate::error::{Error, WeightsError};
use crate::kernel::Kernel;
use crate::labels;
use crate::network::Network;
use crate::preprocess::{Preprocessing, centre, normalise};
use crate::progress::OnProgress;
use crate::recognise;
use crate::weights::{MODEL_SHA256, WeightStore, sha256_of};

/// The variable that names an ONNX file to use in place of the fetched weights.
pub const MODEL_VARIABLE: &str = "THUNDERHEAD_MODEL";

/// How many labels Workers AI answers with, and so the default here.
pub const DEFAULT_TOP: usize = 5;

/// One of the answers for an image.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Label {
    /// The class, in capitals.
    pub label: String,
    /// Its probability, from 0 to 1.
    pub score: f32,
}

/// How numbers are kept inside the network; sums are f32 in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Precision {
    /// bf16 where the machine has kernels for it that are faster, f32 elsewhere.
    #[default]
    Auto,
    /// f32 throughout.
    F32,
    /// bf16, or an error on a machine without such kernels.
    Bf16,
}

/// What to load and how to run it.
///
/// ```
/// use thunderhead_model::{Precision, Settings};
/// let settings = Settings { precision: Precision::F32, threads: 2, ..Settings::default() };
/// assert_eq!(settings.top, 5);
/// ```
#[derive(Debug, Clone)]
pub struct Settings {
    /// An ONNX file; without it the variable `THUNDERHEAD_MODEL` and then the fetched weights.
    pub model: Option<PathBuf>,
    /// How the model wants its pixels; without it, recognised.
    pub preprocessing: Option<Preprocessing>,
    /// How numbers are kept.
    pub precision: Precision,
    /// A particular set of kernels; without it, the fastest that this machine has.
    pub kernel: Option<Kernel>,
    /// How many threads work on one image.
    pub threads: usize,
    /// How many labels each image gets.
    pub top: usize,
    /// How large an image may be.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            model: None,
            preprocessing: None,
            precision: Precision::Auto,
            kernel: None,
            threads: 1,
            top: DEFAULT_TOP,
            limits: Limits::default(),
        }
    }
}

/// Where the model in use has come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    /// A file named in the settings.
    Setting,
    /// A file named by `THUNDERHEAD_MODEL`.
    Variable,
    /// The user's cache, filled from npm.
    Cache,
}

/// What is loaded, from where, and which kernels run it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// The ONNX file.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// Who chose it.
    pub origin: Origin,
    /// Its SHA-256.
    pub sha256: String,
    /// Whether it is the model made from the npm package.
    pub is_standard: bool,
    /// How its pixels are prepared.
    pub preprocessing: Preprocessing,
    /// Whether the preprocessing was given, known or recognised.
    pub preprocessing_reason: String,
    /// The kernels that run it.
    pub kernel: Kernel,
    /// Why these kernels.
    pub kernel_reason: String,
    /// How many of its convolutions run on our operators.
    pub fused_convolutions: usize,
    /// How many threads work on one image.
    pub threads: usize,
}

/// A loaded ResNet-50; threads may share one.
///
/// ```no_run
/// use thunderhead_model::{Classifier, Settings};
/// let classifier = Classifier::load(Settings::default(), &mut |_| ())?;
/// for label in classifier.classify(&std::fs::read("cat.jpg").expect("a picture"))? {
///     println!("{} {:.3}", label.label, label.score);
/// }
/// # Ok::<(), thunderhead_model::Error>(())
/// ```
pub struct Classifier {
    network: Network,
    labels: Vec<&'static str>,
    limits: Limits,
    top: usize,
    info: ModelInfo,
}

impl Classifier {
    /// Loads the model, and fetches it first if it is the standard one and not there yet.
    pub fn load(settings: Settings, on_progress: OnProgress) -> Result<Classifier, Error> {
        let (kernel, kernel_reason) = choose_kernel(&settings)?;
        let (path, origin) = locate(settings.model.as_deref(), on_progress)?;
        let sha256 = sha256_of(&path, on_progress)?;
        let is_standard = sha256 == MODEL_SHA256;
        if origin == Origin::Cache && !is_standard {
            let expected = MODEL_SHA256.to_owned();
            return Err(WeightsError::HashMismatch { path, expected, found: sha256 }.into());
        }
        let network = Network::load(&path, kernel, settings.threads).map_err(|error| {
            let reason = error.to_string();
            WeightsError::NotAModel { path: path.clone(), reason }
        })?;
        let (preprocessing, preprocessing_reason) = match settings.preprocessing {
            Some(given) => (given, "given by a setting"),
            None if is_standard => (Preprocessing::Caffe, "known for these weights"),
            None => (recognise::preprocessing(&network)?, "recognised by drawn pictures"),
        };
        let info = ModelInfo {
            path,
            origin,
            sha256,
            is_standard,
            preprocessing,
            preprocessing_reason: preprocessing_reason.to_owned(),
            kernel,
            kernel_reason,
            fused_convolutions: network.convolutions(),
            threads: settings.threads,
        };
        let labels = labels::all();
        Ok(Classifier { network, labels, limits: settings.limits, top: settings.top, info })
    }

    /// The most probable labels of an image, best first.
    pub fn classify(&self, content: &[u8]) -> Result<Vec<Label>, Error> {
        Ok(self.rank(&self.probabilities(content)?))
    }

    /// The labels of several images, one after the other: a batch is no faster per image.
    pub fn classify_all<'a>(
        &self,
        images: impl IntoIterator<Item = &'a [u8]>,
    ) -> Vec<Result<Vec<Label>, Error>> {
        images.into_iter().map(|content| self.classify(content)).collect()
    }

    /// The probability of every class, in the order of ImageNet-1k.
    pub fn probabilities(&self, content: &[u8]) -> Result<Vec<f32>, Error> {
        self.infer(&self.prepare(content)?)
    }

    /// The first half of a classification: decoding and preprocessing.
    pub fn prepare(&self, content: &[u8]) -> Result<Vec<f32>, Error> {
        self.preprocess(&decode(content, self.limits)?)
    }

    /// The second step alone: from decoded pixels to the network's input.
    pub fn preprocess(&self, picture: &Picture) -> Result<Vec<f32>, Error> {
        Ok(normalise(&centre(picture)?, self.info.preprocessing))
    }

    /// The second half of a classification: three planes of 224 by 224 values through the network.
    pub fn infer(&self, input: &[f32]) -> Result<Vec<f32>, Error> {
        self.network.run(input)
    }

    /// What is loaded.
    pub fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn rank(&self, probabilities: &[f32]) -> Vec<Label> {
        let mut order: Vec<usize> = (0..probabilities.len()).collect();
        order.sort_by(|&a, &b| probabilities[b].total_cmp(&probabilities[a]));
        order
            .into_iter()
            .take(self.top)
            .map(|class| Label {
                label: self.labels[class].to_owned(),
                score: probabilities[class],
            })
            .collect()
    }
}

/// The file to load, fetched if need be.
fn locate(
    setting: Option<&Path>,
    on_progress: OnProgress,
) -> Result<(PathBuf, Origin), WeightsError> {
    if let Some(path) = setting {
        return Ok((path.to_path_buf(), Origin::Setting));
    }
    if let Some(path) = std::env::var_os(MODEL_VARIABLE).filter(|path| !path.is_empty()) {
        return Ok((PathBuf::from(path), Origin::Variable));
    }
    Ok((WeightStore::of_user()?.ensure(on_progress)?, Origin::Cache))
}

/// The kernels to run and the reason for them.
pub(crate) fn choose_kernel(settings: &Settings) -> Result<(Kernel, String), Error> {
    let precision = settings.precision;
    let fits = |kernel: Kernel| match precision {
        // On Intel a bf16 dot product has half the rate of an f32 one: only tiles are faster.
        Precision::Auto => kernel != Kernel::Avx512Bf16,
        Precision::F32 => !kernel.is_bf16(),
        Precision::Bf16 => kernel.is_bf16(),
    };
    if let Some(kernel) = settings.kernel {
        if !kernel.is_available() {
            let message = format!("this processor cannot run the {} kernels", kernel.name());
            return Err(Error::Settings(message));
        }
        if precision != Precision::Auto && !fits(kernel) {
            let message = format!("the {} kernels do not work in {precision:?}", kernel.name());
            return Err(Error::Settings(message));
        }
        return Ok((kernel, "chosen by a setting".to_owned()));
    }
    let kernel = Kernel::ALL
        .into_iter()
        .find(|&kernel| fits(kernel) && kernel.is_available())
        .ok_or_else(|| Error::Settings("this processor has no bf16 kernels".to_owned()))?;
    let precision = match precision {
        Precision::Auto => "any precision",
        Precision::F32 => "f32",
        Precision::Bf16 => "bf16",
    };
    Ok((kernel, format!("the fastest that this processor has for {precision}")))
}
