//! `thunderhead merge FILES`: the report of a search whose shards were played apart.

use std::path::PathBuf;

use super::campaign::Shards;
use super::keeping::Keeping;
use super::{Answer, CliError, Given, explore};

/// The arguments of `merge`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The campaign files of all shards of one search, which `explore --shard I/N --resume FILE` writes.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// The whole history of each failure, not only what led to it.
    #[arg(long)]
    history: bool,
    /// The folder for failure files, created when there is a failure [default: failures].
    #[arg(long)]
    out: Option<PathBuf>,
}

pub fn merge(given: Given, args: &Args) -> Result<Answer, CliError> {
    let shards = Shards::read(given, &args.files)?;
    let search = &shards.search;
    let keeping =
        Keeping::new(args.out.as_ref(), Some("failures"))?.of(given.worker(search.system));
    let findings = search.merge(&shards.parts())?;
    let unfinished = shards.unfinished().map(|shard| {
        format!(
            "note: shard {shard} was stopped before its end; the same `explore` command takes it up"
        )
    });
    let notes = unfinished.collect();
    explore::told(given, args.history, search, &findings, keeping, None, notes)
}
