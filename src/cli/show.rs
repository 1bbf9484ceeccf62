//! `thunderhead show DIR`: the failures of a directory as one page with a list, for a browser on this machine.
//!
//! Files are read, and runs are played, when a page is asked for: what a search has just written is there, and what a
//! page shows of a Worker is what its folder has now.

mod entry;
mod http;
mod list;

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use serde_json::json;
use thunderhead_sim::SortedMap;

use super::{Answer, CliError, Given, input, output};
use entry::{Entry, Told};
use http::Reply;

/// The arguments of `show`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The directory with failure files, which `explore --out` and `check --out` write.
    dir: PathBuf,
    /// The port on 127.0.0.1 to listen on; 0 is any that is free.
    #[arg(long, default_value_t = 7878)]
    port: u16,
}

/// A list has at most so many files.
const FILES_MAX: usize = 1000;

pub fn show(given: Given, args: &Args) -> Result<Answer, CliError> {
    let folder = Folder { given, dir: &args.dir };
    if folder.files()?.is_empty() {
        return Err(CliError::Input(format!(
            "{}: there are no failures in it\n  `{} explore SYSTEM --out {0}` writes those that it finds",
            input::shown(&args.dir),
            given.program
        )));
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(|error| {
        let port = args.port;
        CliError::Input(format!(
            "cannot listen on 127.0.0.1:{port}: {error}\n  choose another with --port, or any that is free with --port 0"
        ))
    })?;
    let unheard = |error| CliError::Input(format!("cannot listen: {error}"));
    let address = listener.local_addr().map_err(unheard)?;
    let visits = http::visits(listener, address.port()).map_err(unheard)?;
    // Printed at once: the answer of the command comes at its end, which is when it is interrupted.
    output::print(&format!("listening on http://{address}\n"), 0);
    let mut known = SortedMap::new();
    for visit in visits {
        let reply = folder.reply(visit.path(), &mut known);
        visit.answer(reply);
    }
    Ok(Answer { text: String::new(), json: json!({ "ok": true }), code: 0, notes: Vec::new() })
}

/// What was told of files that have not changed.
type Known = SortedMap<PathBuf, (String, Entry)>;

/// A directory of failures.
#[derive(Clone, Copy)]
struct Folder<'a> {
    given: Given<'a>,
    dir: &'a Path,
}

impl Folder<'_> {
    /// The page of that address.
    fn reply(self, path: &str, known: &mut Known) -> Reply {
        let files = match self.files() {
            Ok(files) => files,
            Err(error) => return Reply::wrong(404, &error.to_string()),
        };
        if path == "/" {
            return Reply::page(list::page(self.dir, &self.entries(&files, known), files.len()));
        }
        // A path is compared with those of the files that are there, and never made into one.
        let asked = files.iter().find(|file| list::address(file) == path);
        match asked.map(|file| entry::page_of(self.given, file)) {
            None => {
                Reply::wrong(404, "There is no such failure. It may have been renamed or deleted.")
            }
            Some(Ok(page)) => Reply::page(page),
            Some(Err(why)) => Reply::wrong(422, &why),
        }
    }

    /// Everything in the directory, in the order of names; without hidden files, which drafts are.
    fn files(self) -> Result<Vec<PathBuf>, CliError> {
        let wrong = |why: &dyn std::fmt::Display| {
            let (dir, program) = (input::shown(self.dir), self.given.program);
            CliError::Input(format!(
                "{dir}: {why}\n  name the directory that `{program} explore --out` or `check --out` wrote failures into"
            ))
        };
        let entries = std::fs::read_dir(self.dir).map_err(|error| match self.dir.is_file() {
            true => wrong(&"it is a file and no directory"),
            false => wrong(&error),
        })?;
        let paths = entries.flatten().map(|entry| entry.path());
        let hidden = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
        };
        let mut files: Vec<PathBuf> = paths.filter(|path| !hidden(path)).collect();
        files.sort();
        Ok(files)
    }

    fn entries(self, files: &[PathBuf], known: &mut Known) -> Vec<(PathBuf, Entry)> {
        known.retain(|path, _| files.contains(path));
        let told = files.iter().take(FILES_MAX).map(|path| {
            let text = input::text(path).unwrap_or_default();
            if let Some((before, entry)) = known.get(path)
                && *before == text
            {
                return (path.clone(), entry.clone());
            }
            let Told { entry, lasts } = entry::tell(self.given, path);
            if lasts {
                known.insert(path.clone(), (text, entry.clone()));
            }
            (path.clone(), entry)
        });
        told.collect()
    }
}
