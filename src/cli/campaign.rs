//! Campaign files: a search of seeds that can be stopped and taken up, and whose shards can be merged.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thunderhead_props::explore::{Checkpoint, CheckpointError, Search, Shard};
use thunderhead_sim::{Fault, FaultSet};

use super::stopwatch::Stopwatch;
use super::worker::Named;
use super::{CliError, Given, explore, input};
use crate::VERSION;
use crate::failure;
use crate::model::Choice;

/// How often a search writes down how far it has come. What is lost with a process is played again.
const EVERY: Duration = Duration::from_secs(1);

/// A campaign file: which search it is, which part of it, and what was found so far.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Campaign {
    thunderhead: String,
    search: Asked,
    shard: String,
    found: Checkpoint,
}

/// What a search was asked for, without how many threads it uses, which changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Asked {
    /// The system, as it was named on the command line.
    pub system: String,
    /// For the folder of a Worker, the environment.
    pub env: Option<String>,
    pub variant: String,
    pub model: String,
    strategy: String,
    seed: u64,
    runs: u64,
    max_crashes: u32,
    faults: Vec<String>,
}

impl Asked {
    /// What a command asks for.
    pub fn of(search: &Search, named: &str, env: Option<&str>, model: Choice) -> Asked {
        let faults = search.faults.iter().map(|fault| fault.kind().name.to_string());
        Asked {
            system: named.into(),
            env: env.map(Into::into),
            variant: search.variant.name.to_string(),
            model: model.to_string(),
            strategy: search.strategy.name().into(),
            seed: search.seed,
            runs: search.runs,
            max_crashes: search.max_crashes,
            faults: faults.collect(),
        }
    }

    /// The Worker that it may be.
    pub fn named(&self) -> Named {
        Named { environment: self.env.clone(), ..Named::new(&self.system) }
    }

    /// The search as a whole.
    fn search<'a>(&self, given: Given<'a>) -> Result<Search<'a>, CliError> {
        let system = input::system(given, &self.system)?;
        let variant = input::variant(system, Some(&self.variant))?;
        let strategy = explore::strategy(&self.strategy).map_err(CliError::Input)?;
        let faults = self.faults.iter().map(|name| name.parse::<Fault>());
        Ok(Search {
            seed: self.seed,
            runs: self.runs,
            max_crashes: self.max_crashes,
            faults: faults.collect::<Result<FaultSet, _>>().map_err(CliError::Input)?,
            ..Search::new(system, variant, strategy)
        })
    }
}

/// The file of a search that is going on.
#[derive(Debug)]
pub struct Log<'a> {
    path: &'a Path,
    campaign: Campaign,
    written: Option<Stopwatch>,
    /// Why it could not be written.
    pub wrong: Option<String>,
}

impl<'a> Log<'a> {
    /// The file at `path`, which must be of the same search; if there is none, it begins.
    pub fn open(path: &'a Path, search: Asked, shard: Shard) -> Result<Log<'a>, CliError> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        failure::writable(folder.unwrap_or(Path::new(".")))?;
        let (shard, found) = (shard.to_string(), Checkpoint::default());
        let new = Campaign { thunderhead: VERSION.into(), search, shard, found };
        let campaign = match path.symlink_metadata() {
            Err(_) => new,
            Ok(_) => {
                let old = read(path)?;
                if old.search != new.search || old.shard != new.shard {
                    let why = format!(
                        "{}: it is of another search; {}",
                        input::shown(path),
                        differs(&old, &new)
                    );
                    return Err(CliError::Mismatch(why));
                }
                old
            }
        };
        Ok(Log { path, campaign, written: None, wrong: None })
    }

    /// What was found before.
    pub fn saved(&self) -> Option<Checkpoint> {
        (self.campaign.found.runs > 0).then(|| self.campaign.found.clone())
    }

    /// Writes down how far the search has come, unless that was done a moment ago. Returns whether it could.
    pub fn note(&mut self, saved: &dyn Fn() -> Checkpoint) -> bool {
        if self.written.is_none_or(|written| written.elapsed() >= EVERY) {
            self.write(saved());
        } else {
            // The last of them is written at the end.
            self.campaign.found = saved();
        }
        self.wrong.is_none()
    }

    /// Writes down where the search has ended.
    pub fn finish(&mut self) {
        self.write(self.campaign.found.clone());
    }

    fn write(&mut self, found: Checkpoint) {
        self.campaign.found = found;
        let text = serde_json::to_string_pretty(&self.campaign)
            .expect("it has nothing but text and numbers");
        if let Err(error) = failure::write_whole(self.path, &(text + "\n")) {
            let path = input::shown(self.path);
            self.wrong.get_or_insert(format!("cannot write {path}: {error}"));
        }
        self.written = Some(Stopwatch::start());
    }
}

/// A sentence with what two searches do not share.
fn differs(old: &Campaign, new: &Campaign) -> String {
    let fields = |campaign: &Campaign| {
        let value = serde_json::to_value(&campaign.search).unwrap_or_default();
        let mut fields = value.as_object().cloned().unwrap_or_default();
        fields.insert("shard".into(), campaign.shard.clone().into());
        fields
    };
    let (old, new) = (fields(old), fields(new));
    let parts =
        old.iter().filter(|(name, value)| new.get(*name) != Some(*value)).map(|(name, value)| {
            let now = new.get(name).map(ToString::to_string).unwrap_or_default();
            format!("its {name} is {value}, and {now} is asked for")
        });
    let parts: Vec<String> = parts.collect();
    parts.join("; ") + ". Give another file, or remove this one"
}

/// The campaign in a file.
pub fn read(path: &Path) -> Result<Campaign, CliError> {
    let text = input::text(path)?;
    serde_json::from_str(&text).map_err(|error| {
        CliError::Input(format!(
            "{}: it is no campaign file, which `explore --resume FILE` writes: {error}",
            input::shown(path)
        ))
    })
}

/// What the first of the files asks for, if it can be read.
pub fn asked(files: &[PathBuf]) -> Option<Asked> {
    read(files.first()?).ok().map(|campaign| campaign.search)
}

/// The shards of one search, all of them there, each with its file.
pub struct Shards<'a> {
    pub search: Search<'a>,
    parts: Vec<(Shard, Checkpoint)>,
}

impl<'a> Shards<'a> {
    /// Reads the files of the shards, in any order.
    pub fn read(given: Given<'a>, files: &[PathBuf]) -> Result<Shards<'a>, CliError> {
        let mut parts: Vec<(Shard, Checkpoint)> = Vec::new();
        let mut first: Option<Campaign> = None;
        for path in files {
            let campaign = read(path)?;
            let wrong = |why: String| CliError::Mismatch(format!("{}: {why}", input::shown(path)));
            let shard: Shard = campaign.shard.parse().map_err(wrong)?;
            if campaign.thunderhead != VERSION {
                return Err(wrong(format!(
                    "written by version {}, and this is {VERSION}",
                    campaign.thunderhead
                )));
            }
            let beside = first.get_or_insert_with(|| campaign.clone());
            let expected = Campaign { shard: campaign.shard.clone(), ..beside.clone() };
            if campaign.search != expected.search {
                return Err(wrong(format!(
                    "it is of another search than the first file; {}",
                    differs(&campaign, &expected)
                )));
            }
            if parts.iter().any(|(other, _)| *other == shard || other.of() != shard.of()) {
                return Err(wrong(format!(
                    "shard {shard} does not fit beside the others; each shard is given once"
                )));
            }
            parts.push((shard, campaign.found));
        }
        parts.sort_by_key(|(shard, _)| *shard);
        let Some(((last, _), campaign)) = parts.last().zip(first) else {
            return Err(CliError::Input("there is no file to merge".into()));
        };
        // One is named and not all of them: a file can claim that there are billions.
        let is_there = |number: u32| parts.iter().any(|(shard, _)| shard.number() == number);
        if let Some(missing) = (1..=last.of()).find(|number| !is_there(*number)) {
            let wrong = format!("there is no file of shard {missing}/{}", last.of());
            return Err(CliError::Input(wrong));
        }
        let search = campaign.search.search(given)?;
        Ok(Shards { search, parts })
    }

    /// What each shard has found, in their order.
    pub fn parts(&self) -> Vec<(Shard, &Checkpoint)> {
        self.parts.iter().map(|(shard, saved)| (*shard, saved)).collect()
    }

    /// The shards that were stopped before their end.
    pub fn unfinished(&self) -> impl Iterator<Item = Shard> {
        let parts = self.parts.iter();
        parts
            .filter(|(shard, saved)| saved.runs < self.search.runs_of(*shard))
            .map(|(shard, _)| *shard)
    }
}

impl From<CheckpointError> for CliError {
    fn from(error: CheckpointError) -> CliError {
        match error {
            CheckpointError::Setup(error) => error.into(),
            CheckpointError::Other(why) => {
                CliError::Mismatch(format!("what was saved cannot be used: {why}"))
            }
        }
    }
}
