//! The commands, one file each. A command returns its whole answer; printing it, as text or as one
//! JSON document, happens here and nowhere else.

mod check;
mod explore;
mod failure;
mod inference;
mod input;
mod list;
mod progress;
mod replay;
mod report;
mod run;
mod stopwatch;
mod trace;

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use serde_json::{Value, json};
use thunderhead_sim::{ScriptError, SetupError};

/// Runs your code on a simulated cloud with every fault its platform permits, reproducibly.
#[derive(Debug, Parser)]
#[command(name = "thunderhead", version, arg_required_else_help = true)]
struct Cli {
    /// Print one JSON document on standard output and nothing else there.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check every system in every variant with every strategy.
    Check(check::Args),
    /// Search one system for broken promises.
    Explore(explore::Args),
    /// Play a scenario script and check what it expects.
    Run(run::Args),
    /// Play a failure file and compare the run with the recorded one.
    Replay(replay::Args),
    /// Show the history of a scenario or a failure.
    Trace(trace::Args),
    /// List systems, variants, promises, faults and scenarios.
    List(list::Args),
    /// Say what is in images (runs thunderhead-model).
    Classify(inference::Args),
    /// Get the weights of the classifier (fetch), or describe them (info); runs thunderhead-model.
    Model(inference::Args),
}

/// The answer of a command.
pub struct Answer {
    /// What is printed without `--json`.
    text: String,
    /// What is printed with `--json`.
    json: Value,
    /// The exit code: 0, or 1 when a promise or an expectation is broken, or 3 when a failure file does
    /// not fit the code.
    code: u8,
}

/// Why a command failed.
#[derive(Debug)]
pub enum CliError {
    /// The input is wrong; exit code 2.
    Input(String),
    /// The input does not fit this version or this code; exit code 3.
    Mismatch(String),
}

impl CliError {
    fn code(&self) -> u8 {
        match self {
            CliError::Input(_) => 2,
            CliError::Mismatch(_) => 3,
        }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (CliError::Input(why) | CliError::Mismatch(why)) = self;
        f.write_str(why)
    }
}

impl From<ScriptError> for CliError {
    fn from(error: ScriptError) -> CliError {
        CliError::Input(error.to_string())
    }
}

impl From<SetupError> for CliError {
    fn from(error: SetupError) -> CliError {
        CliError::Input(error.to_string())
    }
}

/// Reads the command line, does what it says and prints the answer.
pub fn main() -> ExitCode {
    let mut cli = Cli::parse();
    let answer = match &cli.command {
        Command::Check(args) => check::check(args),
        Command::Explore(args) => explore::explore(args),
        Command::Run(args) => run::run(args),
        Command::Replay(args) => replay::replay(args),
        Command::Trace(args) => trace::trace(args),
        Command::List(args) => list::list(args),
        Command::Classify(args) | Command::Model(args) => {
            cli.json |= args.want_json();
            match inference::run() {
                Ok(code) => return code,
                Err(error) => Err(error),
            }
        }
    };
    let answer = answer.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        let json = json!({ "ok": false, "error": error.to_string() });
        Answer { text: String::new(), json, code: error.code() }
    });
    let printed = if cli.json { format!("{:#}\n", answer.json) } else { answer.text };
    // A closed pipe means that the reader has seen enough, which is no failure.
    let _ = std::io::stdout().write_all(printed.as_bytes());
    ExitCode::from(answer.code)
}
