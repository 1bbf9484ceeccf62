//! Reads what the command line names: files, systems and variants.

use std::path::{Path, PathBuf};

use thunderhead_props::{System, Variant};
use thunderhead_sim::{Script, ScriptFile, closest};

use super::{CliError, Given};
use crate::playable::Playable;

/// The text of a file.
pub fn text(path: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(path)
        .map_err(|error| CliError::Input(format!("{}: {error}", path.display())))
}

/// The script in a file.
pub fn script(path: &Path) -> Result<ScriptFile, CliError> {
    Ok(Script::parse(&path.display().to_string(), &text(path)?)?)
}

/// A script and, if another than its own, the variant to play it on.
#[derive(Debug, clap::Args)]
pub struct Scenario {
    /// A scenario script, or a failure file.
    file: PathBuf,
    /// Play its requests and its faults on this variant, of which all that is expected is that it holds.
    #[arg(long)]
    variant: Option<String>,
}

impl Scenario {
    /// The script, with every name looked up.
    pub fn playable<'a>(&self, given: Given<'a>) -> Result<Playable<'a>, CliError> {
        let own = Playable::new(script(&self.file)?, given.systems)?;
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
