//! `thunderhead run FILE`: plays a scenario and checks what it expects.

use std::fmt::Write;

use serde_json::{Value, json};
use thunderhead::playable::{Playable, Played};
use thunderhead_sim::{ScriptChoices, Swarm};

use super::report::{self, Failing};
use super::{Answer, CliError, input};

/// What `run` is told.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    scenario: input::Scenario,
}

pub fn run(args: &Args) -> Result<Answer, CliError> {
    let plan = args.scenario.plan()?;
    let played = plan.play()?;
    let ok = played.unmet.is_empty();
    for idle in &played.idle {
        eprintln!("note: {}: {idle}", plan.file.name());
    }
    let mut text = String::new();
    for violation in &played.violations {
        if played.unmet.contains(&format!("broken: {}", violation.promise)) {
            text += &report::explain(&Failing {
                system: plan.system,
                run: &played.run,
                violation,
                scenario: &plan.script().story,
                origin: &origin(&plan),
                replay: &format!("thunderhead run {}", plan.file.name()),
            });
        }
    }
    let unmet = played.unmet.iter().filter(|line| !line.starts_with("broken: "));
    for line in unmet {
        let _ = writeln!(text, "{}    {line}", report::bad("UNMET"));
    }
    if ok {
        let lines = played.run.trace.events().len();
        let (good, story) = (report::good("ok"), &plan.script().story);
        let _ = writeln!(text, "{good}  {story}");
        let _ = writeln!(text, "    {lines} events, trace {}", played.run.trace.hash());
    } else {
        let see = format!("thunderhead trace {}", plan.file.name());
        text += &report::history(&played.run, &see);
    }
    Ok(Answer { text, json: document(&plan, &played, ok), code: u8::from(!ok) })
}

/// What `run` and `replay` tell tools.
pub fn document(plan: &Playable, played: &Played, ok: bool) -> Value {
    let violations = played.violations.iter();
    json!({
        "ok": ok,
        "file": plan.file.name(),
        "story": plan.script().story,
        "system": plan.system.name,
        "variant": plan.variant.name,
        "traceHash": played.run.trace.hash(),
        "lines": played.run.trace.events().len(),
        "violations": violations.map(|v| report::violation(&played.run, v)).collect::<Vec<_>>(),
        "unmet": played.unmet,
        "idle": played.idle,
    })
}

/// Where the choices of a plan come from, for eyes.
pub fn origin(plan: &Playable) -> String {
    let script = plan.script();
    match &script.choices {
        ScriptChoices::Benign => "the script alone; nothing was left to chance".into(),
        ScriptChoices::Seed(seed) => {
            format!("seed {seed}: {}", Swarm::of_seed(*seed, script.scenario.drawn_faults))
        }
        ScriptChoices::Tape(tape) => {
            let lines: Vec<String> = tape.0.iter().map(ToString::to_string).collect();
            format!("a tape of {}: {}", lines.len(), lines.join("; "))
        }
    }
}
