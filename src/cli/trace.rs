//! `thunderhead trace FILE`: the history of a scenario or a failure.

use serde_json::{Value, json};

use super::{Answer, CliError, input};

/// What `trace` is told.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    scenario: input::Scenario,
    /// For eyes, for tools, for a page that draws sequence diagrams, or a page of its own.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    Text,
    Jsonl,
    Mermaid,
    Html,
}

pub fn trace(args: &Args) -> Result<Answer, CliError> {
    let plan = args.scenario.plan()?;
    let run = plan.play()?.run;
    let text = match args.format {
        Format::Text => run.trace.to_string(),
        Format::Jsonl => run.trace.to_jsonl(),
        Format::Mermaid => run.trace.to_mermaid(),
        Format::Html => run.trace.to_html(&plan.file.script.story),
    };
    let events = run.trace.to_jsonl();
    let events: Vec<Value> = events
        .lines()
        .map(|line| serde_json::from_str(line).expect("a trace is written as JSON"))
        .collect();
    let json = json!({
        "ok": true,
        "file": plan.file.name(),
        "traceHash": run.trace.hash(),
        "events": events,
    });
    Ok(Answer { text, json, code: 0 })
}
