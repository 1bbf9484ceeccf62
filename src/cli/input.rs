//! Reads what the command line names: files, systems and variants.

use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use thunderhead_props::{System, Variant};
use thunderhead_sim::{
    Body, BodySource, ClientRequest, Script, ScriptError, ScriptFile, ScriptPlace, closest, limits,
    printable,
};

use super::worker::{self, Named};
use super::{CliError, Given, model};
use crate::bodies;
use crate::playable::{self, Playable};

/// The name of a file, for messages.
pub fn shown(path: &Path) -> String {
    printable(&path.display().to_string()).into_owned()
}

/// The text of a file. A pipe or a device is refused, because it might never end, and so is a large file.
pub fn text(path: &Path) -> Result<String, CliError> {
    let wrong = |why: &dyn Display| CliError::Input(format!("{}: {why}", shown(path)));
    let kind = std::fs::metadata(path).map_err(|error| wrong(&error))?;
    if kind.is_dir() {
        return Err(wrong(
            &"it is a folder and no script; `run DIR --wide` shows what the Worker in a folder does in the calm",
        ));
    }
    if !kind.is_file() {
        return Err(wrong(
            &"it is no regular file, but a pipe or a device; copy it to a file first",
        ));
    }
    let most = limits::BYTES.most;
    let mut text = String::new();
    let file = File::open(path).map_err(|error| wrong(&error))?;
    file.take(most + 1).read_to_string(&mut text).map_err(|error| wrong(&error))?;
    if !limits::BYTES.allows(text.len()) {
        return Err(wrong(&format!("it has more than {most} bytes, which are allowed")));
    }
    Ok(text)
}

/// The script in a file, as it is written.
pub fn script(path: &Path) -> Result<ScriptFile, CliError> {
    Ok(Script::parse(&path.display().to_string(), &text(path)?)?)
}

/// The script in a file with every name in it looked up and every body read.
fn playable<'a>(path: &Path, given: Given<'a>) -> Result<Playable<'a>, CliError> {
    Ok(ready(script(path)?, path, given)?)
}

/// Looks up every name in a script and reads its bodies.
pub fn ready<'a>(
    mut file: ScriptFile,
    path: &Path,
    given: Given<'a>,
) -> Result<Playable<'a>, ScriptError> {
    let draw = given.models.map(|models| models.draw);
    bodies::fill(&mut file, path.parent().unwrap_or(Path::new("")), draw)?;
    Playable::new(file, given.systems)
}

/// The system that a script names, or the folder itself; none if it cannot be read, which is told when it is played.
pub fn named(path: &Path) -> Option<Named> {
    if worker::is_named_by(path) {
        return path.to_str().map(Named::new);
    }
    let name = script(path).ok()?.script.system;
    Some(Named { home: path.parent().map(Path::to_path_buf), ..Named::new(&name) })
}

/// The requests of a script, which must be one of `system`.
pub fn requests(
    path: &Path,
    given: Given,
    system: &System,
    variant: &Variant,
) -> Result<Vec<ClientRequest>, CliError> {
    let playable = playable(path, given)?;
    if playable.system.name != system.name {
        let (own, asked) = (&playable.system.name, &system.name);
        let wrong = format!("its requests are for {own}, and {asked} is searched");
        let fix = format!("give a script of {asked}, or explore {own}");
        return Err(playable.file.object(ScriptPlace::System, wrong, fix).into());
    }
    playable::workers(&playable.file, system, variant)?;
    let mut requests = playable.file.script.scenario.requests;
    for sent in &mut requests {
        // A failure is kept in another folder, and for longer than the file is sure to be there.
        if let Some(BodySource::File(_)) = sent.request.body.source() {
            sent.request.body = Body::from(sent.request.body.bytes());
        }
    }
    Ok(requests)
}

/// A script and, if another than its own, the variant to play it on.
#[derive(Debug, clap::Args)]
pub struct Scenario {
    /// A scenario script, a failure file, or for `run` the folder of a Worker.
    pub file: PathBuf,
    /// Play its requests and its faults on this variant, of which all that is expected is that it holds.
    #[arg(long)]
    variant: Option<String>,
    #[command(flatten)]
    pub model: model::Arg,
}

impl Scenario {
    /// The variant that it is played on instead of its own.
    pub fn other_variant(&self) -> Option<&str> {
        self.variant.as_deref()
    }

    /// The script, with every name looked up.
    pub fn playable<'a>(&self, given: Given<'a>) -> Result<Playable<'a>, CliError> {
        let own = playable(&self.file, given)?;
        match &self.variant {
            None => Ok(own),
            Some(name) => {
                let variant = variant(own.system, Some(name))?;
                Ok(own.on(variant))
            }
        }
    }
}

/// The system of that name.
pub fn system<'a>(given: Given<'a>, name: &str) -> Result<&'a System, CliError> {
    let unknown = |advice| CliError::Input(format!("there is no system `{name}`; {advice}"));
    given.systems.find(name).map_err(unknown)
}

/// The variant of that name; the reference when none is named.
pub fn variant<'a>(system: &'a System, name: Option<&str>) -> Result<&'a Variant, CliError> {
    let Some(name) = name else { return Ok(system.reference()) };
    system.variant(name).ok_or_else(|| {
        let known = system.variants().iter().map(|variant| &*variant.name);
        let advice = closest(name, known);
        CliError::Input(format!("{} has no variant `{name}`; {advice}", system.name))
    })
}
