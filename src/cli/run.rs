//! `thunderhead run FILE`: plays a scenario and checks what it expects. With a folder, plays the requests of a Worker.

use std::fmt::Write;

use serde_json::{Value, json};
use thunderhead_props::Violation;
use thunderhead_sim::{ScriptChoices, Swarm, printable};

use super::{Answer, CliError, Given, input, worker};
use crate::history::History;
use crate::playable::{Playable, Played, Unmet};
use crate::report::{self, Failing};

/// The arguments of `run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub scenario: input::Scenario,
    /// The history with nothing abbreviated, whatever comes of the scenario.
    #[arg(long)]
    wide: bool,
    /// For the folder of a Worker: the environment [default: CLOUDFLARE_ENV, or none].
    #[arg(long)]
    pub env: Option<String>,
}

pub fn run(given: Given, args: &Args) -> Result<Answer, CliError> {
    if worker::is_named_by(&args.scenario.file) {
        let loaded = given.workers.first();
        let loaded =
            loaded.ok_or_else(|| CliError::Input("the folder has no readable name".into()))?;
        return worker::run(given.program, loaded, args.wide);
    }
    let playable = args.scenario.playable(given)?;
    let played = playable.play()?;
    let file = printable(playable.file.name());
    // A script that does nothing to its own variant tests nothing. Another variant may have no such call.
    let other = args.scenario.other_variant();
    let ok = played.unmet.is_empty() && (other.is_some() || played.idle.is_empty());
    let mut notes: Vec<String> = other
        .map(|variant| {
            format!("note: {file}: all that is expected of `{variant}` is that it holds")
        })
        .into_iter()
        .collect();
    let mut text = String::new();
    for idle in played.idle.iter().map(|idle| printable(idle)) {
        match other {
            Some(_) => notes.push(format!("note: {file}: {idle}")),
            None => drop(writeln!(text, "{}    {idle}", report::bad("UNMET"))),
        }
    }
    for violation in &played.violations {
        if played.unmet.contains(&Unmet::Broken(violation.promise.clone())) {
            text += &report::explain(&Failing {
                system: playable.system,
                run: &played.run,
                violation,
                scenario: &playable.script().story,
                origin: &origin(&playable),
                replay: &format!("{} run {file}", given.program),
            });
        }
    }
    let others = played.unmet.iter().filter(|unmet| !matches!(unmet, Unmet::Broken(_)));
    for unmet in others {
        let _ = writeln!(text, "{}    {unmet}", report::bad("UNMET"));
    }
    if ok {
        let lines = played.run.trace.events().len();
        let (good, story) = (report::good("ok"), printable(&playable.script().story));
        let _ = writeln!(text, "{good}  {story}");
        let _ = writeln!(text, "    {lines} events, trace {}", played.run.trace.hash());
    }
    let history = History::new(&playable, &played);
    if args.wide {
        let _ = write!(text, "\n{}", history.wide());
    } else if !ok {
        let see = format!("{} trace {file}", given.program);
        let surprise = |it: &&Violation| played.unmet.contains(&Unmet::Broken(it.promise.clone()));
        let broken = played.violations.iter().find(surprise);
        let told = broken.map(|violation| history.story_of(violation));
        let _ = write!(text, "\n{}", told.unwrap_or_default());
        text += &report::all(&played.run, &see);
    }
    Ok(Answer { text, json: document(&playable, &played, ok), code: u8::from(!ok), notes })
}

/// The JSON document of `run` and `replay`.
pub fn document(playable: &Playable, played: &Played, ok: bool) -> Value {
    let violations = played.violations.iter();
    json!({
        "ok": ok,
        "file": playable.file.name(),
        "story": playable.script().story,
        "system": playable.system.name,
        "variant": playable.variant.name,
        "traceHash": played.run.trace.hash(),
        "lines": played.run.trace.events().len(),
        "violations": violations.map(|v| report::violation(&played.run, v)).collect::<Vec<_>>(),
        "unmet": played.unmet.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "idle": played.idle,
    })
}

/// Describes where the choices of a script come from.
pub fn origin(playable: &Playable) -> String {
    let script = playable.script();
    match &script.choices {
        ScriptChoices::Benign => "the script alone; nothing was left to chance".into(),
        ScriptChoices::Seed(seed) => {
            format!("seed {seed}: {}", Swarm::of_seed(*seed, script.scenario.drawn_faults))
        }
        ScriptChoices::Tape(tape) => {
            let lines = tape.in_words(script.scenario.drawn_faults);
            format!("a tape of {}: {}", lines.len(), lines.join("; "))
        }
    }
}
