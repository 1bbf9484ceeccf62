//! `thunderhead list`: systems, variants, promises, faults and scenarios.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use thunderhead_props::{Expected, PLATFORM, System};
use thunderhead_sim::{Script, fault, printable};

use super::{Answer, CliError, Given, input};

/// The arguments of `list`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder of the scenario scripts.
    #[arg(long, default_value = "scenarios")]
    scenarios: PathBuf,
}

pub fn list(given: Given, args: &Args) -> Result<Answer, CliError> {
    let (scenarios, unreadable) = scenarios(&args.scenarios);
    let mut text = String::from("Systems\n");
    for system in given.systems.iter() {
        describe(&mut text, system);
    }
    text += "\nPromises of the platform, judged in every system\n";
    for promise in PLATFORM {
        let _ = writeln!(text, "  {promise}\n      {}", promise.about);
    }
    text += "\nFaults\n";
    for kind in fault::ALL {
        let asked = if kind.explored { "" } else { "; only when a script asks for it" };
        let _ = writeln!(text, "  {:<14} {}{asked}", kind.name, kind.help);
    }
    text += "\nScenarios\n";
    for (path, script) in &scenarios {
        let _ = writeln!(text, "  {}\n      {}", input::shown(path), printable(&script.story));
    }
    if scenarios.is_empty() {
        let _ = writeln!(text, "  none in {}", input::shown(&args.scenarios));
    }
    for (path, _) in &unreadable {
        let _ = writeln!(text, "  {}\n      not readable: see the message", input::shown(path));
    }
    let json = json!({
        "systems": given.systems.iter().map(document).collect::<Vec<_>>(),
        "faults": fault::ALL.iter().map(|kind| json!({
            "name": kind.name, "help": kind.help, "explored": kind.explored,
        })).collect::<Vec<_>>(),
        "scenarios": scenarios.iter().map(|(path, script)| json!({
            "file": path.display().to_string(),
            "story": script.story,
            "system": script.system,
            "variant": script.variant,
        })).collect::<Vec<_>>(),
        "unreadable": unreadable.iter().map(|(path, error)| json!({
            "file": path.display().to_string(),
            "error": error.to_string(),
        })).collect::<Vec<_>>(),
    });
    let notes: Vec<String> =
        unreadable.iter().map(|(_, error)| format!("error: {error}")).collect();
    let code = unreadable.first().map_or(0, |(_, error)| error.code());
    Ok(Answer { text, json, code, notes })
}

fn describe(text: &mut String, system: &System) {
    let _ = writeln!(text, "  {}: {}", system.name, system.about);
    for variant in system.variants() {
        let expected = expected(&variant.expected);
        let _ = writeln!(text, "    {:<14} {}: {}", variant.name, expected, variant.about);
    }
    for promise in &system.promises {
        let _ = writeln!(text, "    {promise}\n        {}", promise.about);
    }
}

fn document(system: &System) -> Value {
    let promises = system.promises().map(|promise| {
        json!({
            "name": promise.name,
            "about": promise.about,
            "property": promise.check.word(),
        })
    });
    let promises: Vec<Value> = promises.collect();
    json!({
        "name": system.name,
        "about": system.about,
        "variants": system.variants().iter().map(|variant| json!({
            "name": variant.name,
            "about": variant.about,
            "expected": expected(&variant.expected),
        })).collect::<Vec<_>>(),
        "promises": promises,
        // The contract of the command line names promises so, and tools depend on it.
        "invariants": promises,
    })
}

/// The word for what is expected of a variant.
pub fn expected(expected: &Expected) -> &'static str {
    match expected {
        Expected::Holds => "holds",
        Expected::Refuted(_) => "refuted",
    }
}

/// The scripts in a folder, and the files that are none, sorted by name; empty when there is no such folder.
#[expect(clippy::type_complexity, reason = "two lists of files, each with what came of it")]
fn scenarios(folder: &Path) -> (Vec<(PathBuf, Script)>, Vec<(PathBuf, CliError)>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return (Vec::new(), Vec::new()) };
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    paths.sort();
    let (mut scripts, mut unreadable) = (Vec::new(), Vec::new());
    for path in paths {
        match input::script(&path) {
            Ok(file) => scripts.push((path, file.script)),
            Err(error) => unreadable.push((path, error)),
        }
    }
    (scripts, unreadable)
}
