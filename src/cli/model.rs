//! Which model a command wants, and who has it: this program, or `thunderhead-model`.

use std::path::{Path, PathBuf};

use thunderhead_sim::{BodySource, Script, ScriptPlace};

use super::{CliError, Command, Given, campaign, input};
use crate::bodies::Draw;
use crate::model::{Choice, Model};

/// What a program has that can look at pictures.
#[derive(Clone, Copy)]
pub struct Models<'a> {
    /// Loads a model, or says why that is not possible and what to do.
    pub load: &'a dyn Fn(Choice) -> Result<Model, String>,
    /// Draws the pictures that scripts name.
    pub draw: Draw<'a>,
}

impl std::fmt::Debug for Models<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Models")
    }
}

/// The argument of every command that plays runs.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Arg {
    /// What looks at pictures: stand-in, resnet50, or resnet50=bf16, =f32 or =stock [default: what the file says, or
    /// else the stand-in].
    #[arg(long, value_name = "MODEL")]
    model: Option<Choice>,
}

/// What a command needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The model.
    pub choice: Choice,
    /// Whether pictures are to be drawn.
    pub pictures: bool,
}

impl Wanted {
    /// Whether a program that has the stand-in alone cannot do it.
    pub fn is_more_than_the_stand_in(self) -> bool {
        self.choice != Choice::StandIn || self.pictures
    }
}

/// Refuses to search a system with a model that it never asks.
pub fn seen(command: &Command) -> Result<(), CliError> {
    let Command::Explore(args) = command else { return Ok(()) };
    if args.system == UPLOADS || args.model.model.is_none() {
        return Ok(());
    }
    let wrong = format!("`{}` shows no pictures to a model; leave `--model` out", args.system);
    Err(CliError::Input(format!("{wrong}, or explore {UPLOADS}")))
}

/// The system that asks the model.
const UPLOADS: &str = "uploads";

/// What a command needs, by its arguments and its script. A script that cannot be read is left to the command, which
/// says what is wrong with it.
pub fn wanted(command: &Command) -> Result<Wanted, CliError> {
    let (arg, file) = match command {
        Command::Check(args) => (args.model, None),
        Command::Explore(args) => (args.model, args.requests.as_deref()),
        Command::Run(args) => (args.scenario.model, Some(&*args.scenario.file)),
        Command::Trace(args) => (args.scenario.model, Some(&*args.scenario.file)),
        Command::Replay(args) => (args.model, Some(&*args.file)),
        Command::Serve(args) => (args.model, None),
        Command::Merge(args) => return of_campaign(&args.files),
        Command::List(_) | Command::Judge(_) | Command::Show(_) => return Ok(Wanted::default()),
    };
    let of_file = file.map(in_script).transpose()?.flatten().unwrap_or_default();
    let Some(asked) = arg.model else { return Ok(of_file) };
    if let Command::Replay(args) = command
        && !asked.includes(of_file.choice)
    {
        let (file, made) = (input::shown(&args.file), of_file.choice);
        return Err(CliError::Mismatch(format!(
            "{file}: made with the model `{made}`, and `{asked}` would give another run; leave `--model` out"
        )));
    }
    let choice = if matches!(command, Command::Replay(_)) { of_file.choice } else { asked };
    Ok(Wanted { choice, ..of_file })
}

/// The model that shards were searched with.
fn of_campaign(files: &[PathBuf]) -> Result<Wanted, CliError> {
    let Some(asked) = campaign::asked(files) else { return Ok(Wanted::default()) };
    let choice = asked.model.parse().map_err(CliError::Input)?;
    Ok(Wanted { choice, pictures: false })
}

/// Which model a command was given.
pub fn of(given: Given) -> Choice {
    Choice::of_identity(given.model.identity()).unwrap_or_default()
}

fn in_script(path: &Path) -> Result<Option<Wanted>, CliError> {
    let Ok(text) = input::text(path) else { return Ok(None) };
    let Ok(file) = Script::parse(&path.display().to_string(), &text) else { return Ok(None) };
    let choice = match file.script.model.as_deref().map(str::parse) {
        None => Choice::StandIn,
        Some(Ok(choice)) => choice,
        Some(Err(known)) => {
            let name = file.script.model.as_deref().unwrap_or_default();
            let wrong = format!("there is no model `{name}`");
            return Err(file.object(ScriptPlace::Model, wrong, known).into());
        }
    };
    let pictures = file.unread().any(|(_, source)| matches!(source, BodySource::Picture(_)));
    Ok(Some(Wanted { choice, pictures }))
}
