//! Keeps what a search finds: each failure as soon as it is found, so that a search that is stopped leaves it, and
//! the smallest of each promise at the end.

use std::path::PathBuf;

use thunderhead_props::explore::{Broken, Search};

use super::CliError;
use super::worker::Loaded;
use crate::failure::{self, Found};

/// The failure files of a command.
#[derive(Debug, Default)]
pub struct Keeping<'a> {
    folder: Option<PathBuf>,
    /// The Worker that is searched, which its failures name by its folder.
    worker: Option<&'a Loaded>,
    /// What was written while the search went on, before anything was shrunk.
    early: Vec<PathBuf>,
    /// Why something could not be written.
    wrong: Option<String>,
}

impl<'a> Keeping<'a> {
    /// Files go to the folder `asked` for, which must be one that can be written, or else to the `usual` one, if
    /// there is any.
    pub fn new(asked: Option<&PathBuf>, usual: Option<&str>) -> Result<Keeping<'a>, CliError> {
        if let Some(folder) = asked {
            failure::writable(folder)?;
        }
        let folder = asked.cloned().or(usual.map(PathBuf::from));
        Ok(Keeping { folder, ..Keeping::default() })
    }

    /// Keeps what a search of that Worker finds.
    pub fn of(self, worker: Option<&'a Loaded>) -> Keeping<'a> {
        Keeping { worker, ..self }
    }

    /// A promise is broken for the first time, in a run that has not been shrunk.
    pub fn early(&mut self, search: &Search, broken: &Broken) {
        let written = self.write(&Found::by(search, broken), "");
        self.early.extend(written);
    }

    /// The smallest failure of a promise; the path of its file.
    pub fn last(&mut self, search: &Search, broken: &Broken) -> Option<PathBuf> {
        let found = Found::by(search, broken);
        let written = match self.folder {
            Some(_) => self.write(&found, &found.story()),
            None => None,
        };
        if let Some(path) = &written {
            self.early.retain(|early| early != path);
        }
        written
    }

    /// Whether everything could be written so far.
    pub fn well(&self) -> bool {
        self.wrong.is_none()
    }

    /// Removes what was written early and has a smaller one now. Returns why something could not be written.
    pub fn finish(&mut self) -> Option<String> {
        if self.wrong.is_none() {
            self.early.drain(..).for_each(|path| drop(std::fs::remove_file(path)));
        }
        self.wrong.take()
    }

    fn write(&mut self, found: &Found, story: &str) -> Option<PathBuf> {
        let folder = self.folder.as_ref()?;
        let system = self.worker.map(|loaded| loaded.seen_from(folder));
        match found.write(folder, system, story) {
            Ok(path) => Some(path),
            Err(error) => {
                self.wrong.get_or_insert(error.to_string());
                None
            }
        }
    }
}
