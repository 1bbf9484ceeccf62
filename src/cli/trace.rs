//! `thunderhead trace FILE`: the history of a scenario or a failure.

use serde_json::json;

use super::{Answer, CliError, Given, input};
use crate::history::History;
use crate::page::page;

/// The arguments of `trace`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub scenario: input::Scenario,
    /// `text` to read, `jsonl` for tools, `mermaid` for a sequence diagram, `html` for a page, `chrome` for
    /// Perfetto.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The text with nothing abbreviated and one line for every event.
    #[arg(long)]
    wide: bool,
    /// Of the text, only what led to the failure.
    #[arg(long, conflicts_with = "wide")]
    story: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    Text,
    Jsonl,
    Mermaid,
    Html,
    Chrome,
}

pub fn trace(given: Given, args: &Args) -> Result<Answer, CliError> {
    let playable = args.scenario.playable(given)?;
    let played = playable.play()?;
    let (run, history) = (&played.run, History::new(&playable, &played));
    // A long history takes much memory in either form.
    if given.json {
        let json = json!({
            "ok": true,
            "file": playable.file.name(),
            "traceHash": run.trace.hash(),
            "events": run.trace.to_json(),
        });
        return Ok(Answer { text: String::new(), json, code: 0, notes: Vec::new() });
    }
    let text = match args.format {
        Format::Text if args.wide => history.wide(),
        Format::Text if args.story => history.story(),
        Format::Text => history.short(),
        Format::Jsonl => run.trace.to_jsonl(),
        Format::Mermaid => run.trace.to_mermaid(),
        Format::Chrome => run.trace.to_chrome(),
        Format::Html => page(&playable, &played, given.program, None),
    };
    Ok(Answer { text, json: json!(null), code: 0, notes: Vec::new() })
}
