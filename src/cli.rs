//! The command line of a program that has systems to search: [`main`] for one of your own, [`project`] for ours.
//!
//! The commands are one file each. A command returns its whole answer; printing it, as text or as one JSON document,
//! happens here and nowhere else.

mod campaign;
mod check;
mod coverage;
mod explore;
mod help;
mod inference;
mod input;
mod interrupt;
mod keeping;
mod list;
mod merge;
mod model;
mod new;
mod output;
mod progress;
mod replay;
mod run;
mod serve;
mod show;
mod stopwatch;
mod trace;
mod types;
#[cfg(not(feature = "workers"))]
mod without_workers;
mod worker;

use std::fmt;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use serde_json::{Value, json};
use thunderhead_props::System;
use thunderhead_sim::{ScriptError, SetupError, printable};

use crate::VERSION;
use crate::catalogue::{Catalogue, CatalogueError};
use crate::failure::Unwritten;
use crate::model::{Choice, Model};
use crate::systems;

use campaign::Asked;
use worker::{Loaded, Named};

pub use model::Models;

/// Runs your code on a simulated cloud with every fault its platform permits, reproducibly.
#[derive(Debug, Parser)]
#[command(name = "thunderhead", version, arg_required_else_help = true)]
struct Cli<C: Subcommand> {
    /// Print one JSON document on standard output and nothing else there.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: C,
}

/// What every program can do.
#[derive(Debug, Subcommand)]
enum Command {
    /// Check every system in every variant with every strategy.
    Check(check::Args),
    /// Search one system for broken promises.
    Explore(explore::Args),
    /// Put together what the shards of a search have found.
    Merge(merge::Args),
    /// Play a scenario script and check what it expects.
    Run(run::Args),
    /// Play a failure file and compare the run with the recorded one.
    Replay(replay::Args),
    /// Show the history of a scenario or a failure.
    Trace(trace::Args),
    /// Show a directory of failures in a browser on this machine.
    Show(show::Args),
    /// List systems, variants, promises, faults and scenarios, or one of these.
    List(list::Args),
    /// Run a system for real, with a data directory, HTTP and a page.
    Serve(serve::Args),
    /// Hold the history that `serve --trace` wrote to the promises of its system.
    Judge(serve::JudgeArgs),
}

impl Command {
    /// The systems that the command is about, by its own word or by that of its script.
    fn named(&self) -> Vec<Named> {
        let (names, environment) = match self {
            Command::Check(args) => {
                (args.systems.iter().map(|name| Named::new(name)).collect(), &args.env)
            }
            Command::Explore(args) => (vec![Named::new(&args.system)], &args.env),
            // Each file says which environment it is about.
            Command::Merge(args) => {
                return campaign::asked(&args.files).iter().map(Asked::named).collect();
            }
            Command::List(args) => (args.system().map(Named::new).into_iter().collect(), &args.env),
            Command::Run(args) => {
                (input::named(&args.scenario.file).into_iter().collect(), &args.env)
            }
            Command::Trace(args) => {
                (input::named(&args.scenario.file).into_iter().collect(), &None)
            }
            // Each file of the directory says which system it is about, and is read when it is shown.
            Command::Judge(_) | Command::Show(_) => (Vec::new(), &None),
            Command::Serve(args) => {
                (args.system.iter().map(|name| Named::new(name)).collect(), &None)
            }
            Command::Replay(args) => (input::named(&args.file).into_iter().collect(), &None),
        };
        let names = names.into_iter();
        names.map(|named: Named| Named { environment: environment.clone(), ..named }).collect()
    }
}

/// What the program of this project can do.
#[derive(Debug, Subcommand)]
enum ProjectCommand {
    #[command(flatten)]
    Every(Command),
    /// Write a crate with a small system of your own to begin from.
    New(new::Args),
    /// Write the types for `storm.ts` into the folder of a Worker.
    Types(types::Args),
    /// Say what is in images (runs thunderhead-model).
    Classify(inference::Args),
    /// Get the weights of the classifier (fetch), or describe them (info); runs thunderhead-model.
    Model(inference::Args),
}

/// The answer of a command.
struct Answer {
    /// What is printed without `--json`.
    text: String,
    /// What is printed with `--json`.
    json: Value,
    /// The exit code: 0, or 1 when a promise or an expectation is broken, or 3 when a failure file does
    /// not fit the code, or 130 when a search was interrupted before anything was broken.
    code: u8,
    /// What is said on standard error besides.
    notes: Vec<String>,
}

impl Answer {
    /// The answer of a search that was interrupted, with how far it came and how to go on.
    fn interrupted(mut self, note: String) -> Answer {
        if self.code == 0 {
            self.code = interrupt::INTERRUPTED;
        }
        self.json["ok"] = json!(false);
        self.json["interrupted"] = json!(true);
        self.notes.push(note);
        self
    }
}

/// Why a command failed.
#[derive(Debug)]
enum CliError {
    /// The input is wrong; exit code 2.
    Input(String),
    /// The input does not fit this version or this code; exit code 3.
    Mismatch(String),
    /// Something could not be written; exit code 4.
    Unwritten(String),
}

impl CliError {
    fn code(&self) -> u8 {
        match self {
            CliError::Input(_) => 2,
            CliError::Mismatch(_) => 3,
            CliError::Unwritten(_) => output::UNWRITTEN,
        }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (CliError::Input(why) | CliError::Mismatch(why) | CliError::Unwritten(why)) = self;
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

impl From<CatalogueError> for CliError {
    fn from(error: CatalogueError) -> CliError {
        CliError::Input(error.to_string())
    }
}

impl From<Unwritten> for CliError {
    fn from(error: Unwritten) -> CliError {
        CliError::Unwritten(error.to_string())
    }
}

/// What a command is given besides its arguments.
#[derive(Clone, Copy, Debug)]
struct Given<'a> {
    /// The systems that names are looked up in.
    systems: Catalogue<'a>,
    /// The model that looks at pictures.
    model: &'a Model,
    /// What else could, and who draws pictures.
    models: Option<Models<'a>>,
    /// The name of this program, for the commands that it recommends.
    program: &'a str,
    /// Whether the answer is printed as JSON. What is large is made in one form only.
    json: bool,
    /// The Workers among the systems.
    workers: &'a [Loaded],
}

impl<'a> Given<'a> {
    /// The Worker that a system is.
    fn worker(self, system: &System) -> Option<&'a Loaded> {
        self.workers.iter().find(|loaded| loaded.system.name == system.name)
    }
}

/// A whole program for systems of your own, with every command: `check`, `explore`, `merge`, `run`, `replay`, `trace`,
/// `show` and `list`.
///
/// ```no_run
/// use thunderhead::props::{System, Variant};
/// use thunderhead::sim::Response;
///
/// fn main() -> std::process::ExitCode {
///     let hello = Variant::holds("reference", "says hello", |cloud| {
///         cloud.worker("web").fetch(|_env, _request| async { Ok(Response::new(200, "hello")) });
///     });
///     thunderhead::main(&[&System::new("hello", "a worker that says hello", hello)])
/// }
/// ```
///
/// It reads the arguments of the process and answers with its exit code. A search is a fifth faster with an allocator
/// such as mimalloc. A library must not choose one, so that is up to your program (`src/main.rs` of this project).
pub fn main(systems: &[&System]) -> ExitCode {
    let program = program();
    let shown = program.clone();
    let cli = parse::<Command>(systems, |command| {
        let version = concat!("with thunderhead ", env!("CARGO_PKG_VERSION"));
        let command = help::without_models(command);
        command.version(version).display_name(shown.clone()).bin_name(shown)
    });
    let answer = model::wanted(&cli.command).and_then(|wanted| {
        if wanted.choice != Choice::StandIn {
            let choice = wanted.choice;
            return Err(CliError::Input(format!("`{choice}`: this program has no such model")));
        }
        let (systems, model) = (Catalogue::new(systems)?, &Model::stand_in());
        let program = &program;
        answer(
            Given { systems, model, models: None, program, json: cli.json, workers: &[] },
            &cli.command,
        )
    });
    print(answer, cli.json)
}

/// The program of this project: every command of [`main`], `new`, and those that run `thunderhead-model`. Without
/// `models` of its own it leaves to that program whatever needs one.
pub fn project(models: Option<Models>) -> ExitCode {
    let cli = parse::<ProjectCommand>(&systems::all(), |command| command.version(VERSION));
    let mut as_json = cli.json;
    let answer = match &cli.command {
        ProjectCommand::Every(command) => match model::wanted(command) {
            Ok(wanted) if wanted.is_more_than_the_stand_in() && models.is_none() => {
                match inference::pass_on() {
                    Ok(code) => return code,
                    Err(error) => Err(error),
                }
            }
            Ok(wanted) => with_model(wanted.choice, models, command, cli.json),
            Err(error) => Err(error),
        },
        ProjectCommand::New(args) => new::new(args),
        ProjectCommand::Types(args) => types::types(args),
        ProjectCommand::Classify(args) | ProjectCommand::Model(args) => {
            as_json |= args.want_json();
            match inference::run() {
                Ok(code) => return code,
                Err(error) => Err(error),
            }
        }
    };
    print(answer, as_json)
}

/// Answers a command that plays the systems of this project with a model of `models`.
fn with_model(
    choice: Choice,
    models: Option<Models>,
    command: &Command,
    json: bool,
) -> Result<Answer, CliError> {
    let model = match (choice, models) {
        (Choice::StandIn, _) | (_, None) => Model::stand_in(),
        (_, Some(models)) => {
            model::seen(command)?;
            (models.load)(choice).map_err(CliError::Input)?
        }
    };
    let uploads = systems::uploads_with(&model);
    let all = systems::all().map(|one| if one.name == uploads.name { &uploads } else { one });
    let systems = Catalogue::new(&all)?;
    // `thunderhead-model` is called by `thunderhead`, which is what users know.
    let program = if models.is_some() { "thunderhead".into() } else { program() };
    answer(Given { systems, model: &model, models, program: &program, json, workers: &[] }, command)
}

/// The name by which this program was called.
fn program() -> String {
    let called = std::env::args_os().next().map(std::path::PathBuf::from);
    let name = called.as_ref().and_then(|path| path.file_stem()?.to_str());
    name.unwrap_or("thunderhead").into()
}

/// Reads the command line. Bad usage, `--help` and `--version` end the program here.
fn parse<C: Subcommand>(
    systems: &[&System],
    adapt: impl FnOnce(clap::Command) -> clap::Command,
) -> Cli<C> {
    let matches = help::with_names(adapt(Cli::<C>::command()), systems).try_get_matches();
    matches.and_then(|matches| Cli::from_arg_matches(&matches)).unwrap_or_else(|error| {
        let code = u8::try_from(error.exit_code()).unwrap_or(2);
        let shown = error.render();
        // Help and version go to standard output, usage to standard error.
        let code = if error.use_stderr() {
            output::say(shown.to_string().trim_end());
            code
        } else {
            output::print(&shown.to_string(), code)
        };
        std::process::exit(code.into())
    })
}

/// Answers a command. If it names the folder of a Worker, that is one of the systems.
fn answer(given: Given, command: &Command) -> Result<Answer, CliError> {
    with_workers(given, &command.named(), |given| match command {
        Command::Check(args) => check::check(given, args),
        Command::Explore(args) => explore::explore(given, args),
        Command::Merge(args) => merge::merge(given, args),
        Command::Run(args) => run::run(given, args),
        Command::Replay(args) => replay::replay(given, args),
        Command::Trace(args) => trace::trace(given, args),
        Command::Show(args) => show::show(given, args),
        Command::List(args) => list::list(given, args),
        Command::Serve(args) => serve::serve(given, args),
        Command::Judge(args) => serve::judge(given, args),
    })
}

/// Does something with these systems too, of which those that are not known are folders of Workers.
fn with_workers<T>(
    given: Given,
    named: &[Named],
    then: impl FnOnce(Given) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let taken: Vec<&System> = given.systems.iter().collect();
    let mut workers = Vec::new();
    for named in named.iter().filter(|named| given.systems.find(&named.name).is_err()) {
        workers.extend(named.load(&taken)?);
    }
    let read = workers.iter().map(|loaded| &loaded.system);
    let systems: Vec<&System> = given.systems.iter().chain(read).collect();
    let given = Given { systems: Catalogue::new(&systems)?, workers: &workers, ..given };
    let done = then(given);
    match workers.iter().find_map(|loaded| loaded.worker.wrong()) {
        Some(why) => Err(CliError::Input(printable(why).into_owned())),
        None => done,
    }
}

fn print(answer: Result<Answer, CliError>, as_json: bool) -> ExitCode {
    let answer = answer.unwrap_or_else(|error| {
        let json = json!({ "ok": false, "error": error.to_string() });
        let notes = vec![format!("error: {error}")];
        Answer { text: String::new(), json, code: error.code(), notes }
    });
    answer.notes.iter().for_each(|note| output::say(note));
    let printed = if as_json { output::json(&answer.json) } else { output::text(&answer.text) };
    ExitCode::from(output::print(&printed, answer.code))
}
