//! `thunderhead classify` and `thunderhead model`, which the program `thunderhead-model` carries out, and runs with a
//! model that only that program has.
//!
//! That program is built apart (package `thunderhead-model`), because the inference engine takes
//! far longer to compile than everything else together.

use std::env::{self, consts::EXE_SUFFIX};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{self, ExitCode};

use super::CliError;

/// The name of the program, without the `.exe` that it has on Windows.
const PROGRAM: &str = "thunderhead-model";

/// The arguments of both commands. They are passed on as they stand, `--help` and `--json` among them.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// Passed on to the program `thunderhead-model`; try `--help`.
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Args {
    /// Whether `--json` is among them, which clap leaves there.
    pub fn want_json(&self) -> bool {
        self.arguments.iter().any(|argument| argument == "--json")
    }
}

/// Runs the program with the arguments of this process, and its standard streams, and answers with its exit code.
pub fn run() -> Result<ExitCode, CliError> {
    start(arguments(env::args_os()))
}

/// Like [`run`], for a command that both programs have.
pub fn pass_on() -> Result<ExitCode, CliError> {
    start(env::args_os().skip(1).collect())
}

fn start(arguments: Vec<OsString>) -> Result<ExitCode, CliError> {
    let mut command = process::Command::new(program());
    command.args(arguments);
    in_place(command).map_err(|error| match error.kind() {
        ErrorKind::NotFound => CliError::Input(missing()),
        _ => CliError::Input(format!("cannot run {}: {error}", program().display())),
    })
}

/// Becomes the program, so that signals reach it: who ends a server by the number of this process ends that server.
#[cfg(unix)]
fn in_place(mut command: process::Command) -> std::io::Result<ExitCode> {
    Err(std::os::unix::process::CommandExt::exec(&mut command))
}

#[cfg(not(unix))]
fn in_place(mut command: process::Command) -> std::io::Result<ExitCode> {
    let code = command.status()?.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// The program beside this one, where cargo puts it, or else one that the system finds on the PATH.
fn program() -> PathBuf {
    let name = format!("{PROGRAM}{EXE_SUFFIX}");
    let beside = env::current_exe().ok().map(|me| me.with_file_name(&name));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| name.into())
}

/// `classify …` is the same for the program; `model fetch …` is `fetch …` there. Only `--json` can
/// come before the command, so its first mention is the command.
fn arguments(own: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = own.skip(1).collect();
    let command =
        arguments.iter().position(|argument| argument == "classify" || argument == "model");
    if let Some(at) = command.filter(|&at| arguments[at] == "model") {
        arguments.remove(at);
    }
    arguments
}

/// What to do when the program is nowhere.
fn missing() -> String {
    let folder = env::current_exe().ok().and_then(|me| Some(me.parent()?.to_owned()));
    let release =
        if folder.is_some_and(|folder| folder.ends_with("debug")) { "" } else { " --release" };
    format!(
        "the program `{PROGRAM}` is neither beside this program nor on the PATH.\n\
         Build it in the folder of the project with `cargo build{release} -p {PROGRAM}`."
    )
}
