//! `thunderhead list`: systems, variants, promises, faults and scenarios, all or some of them.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use thunderhead_props::{Expected, FREE, PLATFORM, Promise, System};
use thunderhead_sim::{Script, closest, fault, printable};

use super::{Answer, CliError, Given, input};

/// The arguments of `list`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A system, or one of systems, promises, faults, scenarios [default: everything].
    what: Option<String>,
    /// The folder of the scenario scripts.
    #[arg(long, default_value = "scenarios")]
    scenarios: PathBuf,
    /// For the folder of a Worker: the environment [default: CLOUDFLARE_ENV, or none].
    #[arg(long)]
    pub env: Option<String>,
}

impl Args {
    /// The system that is asked for, if no part is.
    pub(super) fn system(&self) -> Option<&str> {
        self.what.as_deref().filter(|what| !PARTS.contains(what))
    }
}

/// What can be listed by itself.
const PARTS: [&str; 4] = ["systems", "promises", "faults", "scenarios"];

pub fn list(given: Given, args: &Args) -> Result<Answer, CliError> {
    let part = match args.what.as_deref() {
        None => None,
        Some(what) => match PARTS.into_iter().find(|part| *part == what) {
            Some(part) => Some(part),
            None => return one(given, what),
        },
    };
    let wanted = |name: &str| part.is_none_or(|part| part == name);
    let mut sections = Vec::new();
    let mut json = json!({});
    let (mut code, mut notes) = (0, Vec::new());
    if wanted("systems") {
        sections.push(systems(given));
        json["systems"] = given.systems.iter().map(document).collect();
    }
    if wanted("promises") {
        // With everything else, the systems have told their own promises already.
        sections.push(promises(given, part.is_some()));
        json["promises"] = PLATFORM.iter().chain(FREE).map(|promise| promised(promise)).collect();
        if part.is_some() {
            json["systems"] = given.systems.iter().map(document).collect();
        }
    }
    if wanted("faults") {
        sections.push(faults());
        json["faults"] = fault::ALL
            .iter()
            .map(|kind| json!({ "name": kind.name, "help": kind.help, "explored": kind.explored }))
            .collect();
    }
    if wanted("scenarios") {
        let found = Scenarios::of(&args.scenarios);
        sections.push(stories(&args.scenarios, &found));
        json["scenarios"] = found
            .scripts
            .iter()
            .map(|(path, script)| {
                json!({
                    "file": path.display().to_string(),
                    "story": script.story,
                    "system": script.system,
                    "variant": script.variant,
                })
            })
            .collect();
        json["unreadable"] = found
            .unreadable
            .iter()
            .map(|(path, error)| {
                json!({ "file": path.display().to_string(), "error": error.to_string() })
            })
            .collect();
        notes = found.unreadable.iter().map(|(_, error)| format!("error: {error}")).collect();
        code = found.unreadable.first().map_or(0, |(_, error)| error.code());
    }
    Ok(Answer { text: sections.join("\n"), json, code, notes })
}

/// One system alone.
fn one(given: Given, name: &str) -> Result<Answer, CliError> {
    let names = given.systems.iter().map(|system| &*system.name);
    let known = closest(name, names.chain(PARTS));
    let unknown = |_| CliError::Input(format!("there is nothing called `{name}` to list; {known}"));
    let system = given.systems.find(name).map_err(unknown)?;
    let mut text = String::new();
    let notes = match given.worker(system) {
        // Nothing is known of it: it has no variants, and no promises but those that everybody makes.
        Some(loaded) => {
            let _ = writeln!(
                text,
                "{}: {}. It is judged by these promises:",
                system.name, system.about
            );
            tell(&mut text, system.promises());
            exceptions(&mut text, system);
            loaded.notes()
        }
        None => {
            describe(&mut text, system);
            mistakes(&mut text, system);
            Vec::new()
        }
    };
    let json = json!({ "systems": [document(system)] });
    Ok(Answer { text, json, code: 0, notes })
}

fn systems(given: Given) -> String {
    let mut text = String::from("Systems\n");
    given.systems.iter().for_each(|system| describe(&mut text, system));
    text
}

fn promises(given: Given, of_systems: bool) -> String {
    let mut text = String::new();
    for system in given.systems.iter().filter(|_| of_systems) {
        let _ = writeln!(text, "Promises of {}", system.name);
        tell(&mut text, system.promises.iter());
    }
    text += "Promises of the platform, judged in every system\n";
    tell(&mut text, PLATFORM.iter().copied());
    text += "\nPromises for nothing, judged in every system that does not say why not\n";
    tell(&mut text, FREE.iter().copied());
    text
}

fn tell<'a>(text: &mut String, promises: impl Iterator<Item = &'a Promise>) {
    for promise in promises {
        let _ = writeln!(text, "  {promise}\n      {}", promise.about);
    }
}

fn faults() -> String {
    let mut text = String::from("Faults\n");
    for kind in fault::ALL {
        let asked = if kind.explored { "" } else { "; only when it is asked for" };
        let _ = writeln!(text, "  {:<14} {}{asked}", kind.name, kind.help);
    }
    text
}

fn stories(folder: &Path, found: &Scenarios) -> String {
    let mut text = String::from("Scenarios\n");
    for (path, script) in &found.scripts {
        let _ = writeln!(text, "  {}\n      {}", input::shown(path), printable(&script.story));
    }
    if found.scripts.is_empty() {
        let _ = writeln!(text, "  none in {}", input::shown(folder));
    }
    for (path, _) in &found.unreadable {
        let _ = writeln!(text, "  {}\n      not readable: see the message", input::shown(path));
    }
    text
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
    exceptions(text, system);
}

/// What the reference does wrong when it is told to.
fn mistakes(text: &mut String, system: &System) {
    for mistake in system.mistakes() {
        let caught = match &mistake.expected {
            Expected::Refuted(promises) => promises.join(", "),
            Expected::Holds => "nothing".into(),
        };
        let (name, about) = (&mistake.name, &mistake.about);
        let _ = writeln!(text, "    mistake {name}: {about}\n        caught by: {caught}");
    }
}

/// What is not judged and not compared, with the reasons.
fn exceptions(text: &mut String, system: &System) {
    for (promise, reason) in system.left_out() {
        let _ = writeln!(text, "    not judged: {promise}\n        {reason}");
    }
    for (column, reason) in system.ignored() {
        let _ = writeln!(text, "    not compared: {column}\n        {reason}");
    }
}

fn document(system: &System) -> Value {
    let promises: Vec<Value> = system.promises().map(promised).collect();
    json!({
        "name": system.name,
        "about": system.about,
        "variants": system.variants().iter().map(|variant| json!({
            "name": variant.name,
            "about": variant.about,
            "expected": expected(&variant.expected),
        })).collect::<Vec<_>>(),
        "mistakes": system.mistakes().iter().map(|mistake| json!({
            "name": mistake.name,
            "about": mistake.about,
            "expected": expected(&mistake.expected),
        })).collect::<Vec<_>>(),
        "promises": promises,
        "leftOut": system.left_out().iter().map(|(promise, reason)| json!({
            "promise": promise, "reason": reason,
        })).collect::<Vec<_>>(),
        "notCompared": system.ignored().iter().map(|(column, reason)| json!({
            "column": column, "reason": reason,
        })).collect::<Vec<_>>(),
        // The contract of the command line names promises so, and tools depend on it.
        "invariants": promises,
    })
}

fn promised(promise: &Promise) -> Value {
    json!({ "name": promise.name, "about": promise.about, "property": promise.check.word() })
}

/// The word for what is expected of a variant.
pub fn expected(expected: &Expected) -> &'static str {
    match expected {
        Expected::Holds => "holds",
        Expected::Refuted(_) => "refuted",
    }
}

/// The scripts in a folder, and the files that are none, sorted by name.
#[derive(Default)]
struct Scenarios {
    scripts: Vec<(PathBuf, Script)>,
    unreadable: Vec<(PathBuf, CliError)>,
}

impl Scenarios {
    /// Empty when there is no such folder.
    fn of(folder: &Path) -> Scenarios {
        let mut found = Scenarios::default();
        let Ok(entries) = std::fs::read_dir(folder) else { return found };
        let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
        let mut paths: Vec<PathBuf> =
            paths.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
        paths.sort();
        for path in paths {
            match input::script(&path) {
                Ok(file) => found.scripts.push((path, file.script)),
                Err(error) => found.unreadable.push((path, error)),
            }
        }
        found
    }
}
