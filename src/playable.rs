//! A script that can be played: its names are looked up, its run is played and judged.

use std::fmt;

use thunderhead_props::{Check, Name, Promise, System, Variant, Violation, quietly, search};
use thunderhead_sim::{
    Event, EventKind, Expectation, Fault, Filter, Kill, OpCode, Roster, Run, Script, ScriptChoices,
    ScriptError, ScriptFile, ScriptPlace, ScriptedFault, SetupError, Site, SortedMap, closest,
};

use crate::catalogue::Catalogue;

/// A script whose names all exist.
#[derive(Debug)]
pub struct Playable<'a> {
    /// The file it came from.
    pub file: ScriptFile,
    /// The system it is about.
    pub system: &'a System,
    /// The variant of it.
    pub variant: &'a Variant,
}

/// The result of playing a script.
#[derive(Debug)]
pub struct Played {
    /// The run that was played.
    pub run: Run,
    /// Every promise it broke.
    pub violations: Vec<Violation>,
    /// Where the run differs from what the script expects.
    pub unmet: Vec<Unmet>,
    /// Descriptions of the scripted faults that never struck.
    pub idle: Vec<String>,
}

/// A difference between what a script expects and what its run showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmet {
    /// This promise is broken, which the script does not expect.
    Broken(Name),
    /// The script expects to see this, and it did not happen.
    NotSeen(Name),
    /// The script expects this promise to be broken, and it holds.
    Held(Name),
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unmet::Broken(promise) => write!(f, "broken: {promise}"),
            Unmet::NotSeen(promise) => write!(f, "expected to see: {promise}; it did not happen"),
            Unmet::Held(promise) => write!(f, "expected to break: {promise}; it holds"),
        }
    }
}

impl<'a> Playable<'a> {
    /// Looks up every name in the script among these systems.
    pub fn new(file: ScriptFile, systems: Catalogue<'a>) -> Result<Playable<'a>, ScriptError> {
        let script = &file.script;
        let system = systems.find(&script.system).map_err(|advice| {
            let wrong = format!("there is no system `{}`", script.system);
            file.object(ScriptPlace::System, wrong, advice)
        })?;
        let variant = match &script.variant {
            None => system.reference(),
            Some(name) => system.variant(name).ok_or_else(|| {
                let known = system.variants().iter().map(|variant| &*variant.name);
                let wrong = format!("{} has no variant `{name}`", system.name);
                file.object(ScriptPlace::Variant, wrong, closest(name, known))
            })?,
        };
        if let Some((place, source)) = file.unread().next() {
            let wrong = format!("the bytes of `{}` are not there", source.name());
            return Err(file.object(
                place,
                wrong,
                "fill them in first: `thunderhead::bodies::fill`",
            ));
        }
        workers(&file, system, variant)?;
        promises(&file, system)?;
        Ok(Playable { system, variant, file })
    }

    /// Plays the script's requests and faults on another variant, of which all that is expected is that
    /// its promises hold. Faults on what that variant does not have are left out.
    pub fn on(self, variant: &'a Variant) -> Playable<'a> {
        let mut file = self.file;
        file.script.variant = Some(variant.name.to_string());
        file.script.expect = None;
        let (roster, scenario) =
            (Roster::of(&|cloud| variant.mount(cloud)), &mut file.script.scenario);
        let clients: Vec<&str> = scenario.requests.iter().map(|sent| &*sent.from).collect();
        scenario
            .faults
            .retain(|rule| rule.fault.on_host() || roster.can_match(&rule.on, &clients).is_ok());
        Playable { file, variant, ..self }
    }

    /// The script as it was read.
    pub fn script(&self) -> &Script {
        &self.file.script
    }

    /// Plays it and judges what happened.
    pub fn play(&self) -> Result<Played, SetupError> {
        let script = self.script();
        let checked =
            || search::check(self.system, self.variant, &script.scenario, &script.source());
        let (run, violations) = quietly(checked)?;
        let unmet = self.unmet(&run, &violations);
        let idle = idle(script, &run);
        Ok(Played { run, violations, unmet, idle })
    }

    fn unmet(&self, run: &Run, violations: &[Violation]) -> Vec<Unmet> {
        let expected = self.script().expect.iter().flatten();
        let broken = |name: &str| violations.iter().any(|violation| violation.promise == name);
        let unmet = expected.clone().filter_map(|expect| {
            let promise = self.system.promise(&expect.promise)?;
            match (expect.word, &promise.check) {
                (Expectation::Sometimes, Check::Sometimes(seen)) => {
                    (!seen.of(&run.trace)).then(|| Unmet::NotSeen(promise.name.clone()))
                }
                (Expectation::Violates, _) => {
                    (!broken(&promise.name)).then(|| Unmet::Held(promise.name.clone()))
                }
                // A promise that must hold and does not is among the surprises below.
                _ => None,
            }
        });
        let surprises = violations.iter().filter(|violation| {
            !expected.clone().any(|expect| {
                expect.word == Expectation::Violates && expect.promise == violation.promise
            })
        });
        let surprises = surprises.map(|violation| Unmet::Broken(violation.promise.clone()));
        surprises.chain(unmet).collect()
    }
}

/// Refuses a script that names a worker that does not exist, or faults that can strike nothing.
pub(crate) fn workers(
    file: &ScriptFile,
    system: &System,
    variant: &Variant,
) -> Result<(), ScriptError> {
    let scenario = &file.script.scenario;
    let roster = Roster::of(&|cloud| variant.mount(cloud));
    for (index, send) in scenario.requests.iter().enumerate() {
        let Some(to) = &send.to else { continue };
        if !roster.serving().any(|name| *name == **to) {
            let wrong = format!("no worker `{to}` serves requests in {}", system.name);
            return Err(file.object(
                ScriptPlace::RequestTo(index),
                wrong,
                closest(to, roster.serving()),
            ));
        }
    }
    for (place, on) in file.faults_on() {
        // Names of calls were checked when the script was read; any other name is a host's.
        let name = Filter::parse(on).call().to_string();
        let is_call = OpCode::all().any(|call| Filter::parse(&name).fits(call.name()));
        if !is_call && !roster.may_crash(&name) {
            let wrong = format!("{} has no worker `{name}` to crash", system.name);
            let known: Vec<String> = roster.crashable().collect();
            let fix = closest(&name, known.iter().map(String::as_str));
            return Err(file.object(place, wrong, fix));
        }
        if is_call {
            let clients: Vec<&str> = scenario.requests.iter().map(|sent| &*sent.from).collect();
            roster.can_match(&Filter::parse(on), &clients).map_err(|unmatched| {
                file.object(place, format!("{}: {}", system.name, unmatched.wrong), unmatched.fix)
            })?;
        }
        let mut rules = scenario.faults.iter().filter(|rule| rule.on.call() == name);
        let of_object = |rule: &ScriptedFault| rule.fault == Fault::Evict || rule.code.is_some();
        if !is_call && rules.any(of_object) && !roster.is_object(&name) {
            let wrong = format!(
                "`{name}` is not a durable object, and only those have memory and turns to lose"
            );
            return Err(file.object(place, wrong, "name an object, as `CLASS:name`"));
        }
        let mut kills = scenario.kills.iter().filter(|kill| *kill.host == *name);
        if kills.any(|kill| kill.down.is_some()) && !roster.workers().any(|one| *one == *name) {
            let wrong = format!("`{name}` does not stay down: its next call brings it back");
            return Err(file.object(place, wrong, "leave `by` out"));
        }
    }
    Ok(())
}

/// Refuses a script that expects something of an unknown promise, or the wrong kind of thing.
fn promises(file: &ScriptFile, system: &System) -> Result<(), ScriptError> {
    let recorded = file.script.failure.iter().map(|failure| &failure.promise);
    if let Some(unknown) = recorded.into_iter().find(|name| system.promise(name).is_none()) {
        let known = system.promises().map(|promise| &*promise.name);
        let wrong = format!("{} promises no `{unknown}`", system.name);
        return Err(file.object(ScriptPlace::Failure, wrong, closest(unknown, known)));
    }
    for (index, expect) in file.script.expect.iter().flatten().enumerate() {
        let place = ScriptPlace::Expect(index);
        let Some(promise) = system.promise(&expect.promise) else {
            let known = system.promises().map(|promise| &*promise.name);
            let wrong = format!("{} promises no `{}`", system.name, expect.promise);
            return Err(file.object(place, wrong, closest(&expect.promise, known)));
        };
        if !suits(expect.word, promise) {
            let word = promise.check.word();
            let wrong = format!("`{}` is judged as `{word}`", promise.name);
            return Err(file.object(place, wrong, format!("write \"{promise}\"")));
        }
    }
    Ok(())
}

fn suits(word: Expectation, promise: &Promise) -> bool {
    match &promise.check {
        Check::Always(_) => matches!(word, Expectation::Always | Expectation::Violates),
        Check::Eventually(_) | Check::Converges => {
            matches!(word, Expectation::Eventually | Expectation::Violates)
        }
        Check::Sometimes(_) => word == Expectation::Sometimes,
    }
}

/// Scripted faults that do not appear in the trace, except those with a `chance`, which may stay away.
fn idle(script: &Script, run: &Run) -> Vec<String> {
    let faults =
        |event: &&Event| matches!(event.kind, EventKind::Fault { .. } | EventKind::Crash { .. });
    let faults: Vec<&Event> = run.trace.events().iter().filter(faults).collect();
    let struck = |rule: &ScriptedFault| {
        faults.iter().any(|event| match &event.kind {
            EventKind::Fault { fault, call, .. } | EventKind::Crash { fault, call } => {
                let fits = || match call {
                    Some(call) => rule.on.about(run.trace.op(*call)),
                    None => !rule.fault.on_host() || rule.on.fits(run.trace.actor(event)),
                };
                *fault == rule.fault && fits()
            }
            _ => false,
        })
    };
    let killed = |kill: &Kill| {
        faults.iter().any(|event| {
            let crashed =
                matches!(event.kind, EventKind::Crash { fault: Fault::Crash, call: None });
            crashed && event.at == kill.at && *run.trace.actor(event) == *kill.host
        })
    };
    let certain = script.scenario.faults.iter().filter(|rule| rule.chance.is_none());
    let idle = certain.filter(|rule| !struck(rule));
    let idle = idle.map(|rule| format!("the fault `{}` on `{}` never struck", rule.fault, rule.on));
    let alive = script.scenario.kills.iter().filter(|kill| !killed(kill));
    let alive = alive.map(|kill| format!("`{}` was not there to die at {}", kill.host, kill.at));
    idle.chain(alive).chain(unreached(script, run)).collect()
}

/// The lines of a tape whose turn never came.
fn unreached(script: &Script, run: &Run) -> Vec<String> {
    let ScriptChoices::Tape(tape) = &script.choices else { return Vec::new() };
    let told = tape.0.iter().zip(tape.in_words(script.scenario.drawn_faults));
    let asked = asked(run);
    let unreached = told.filter(|(line, _)| !asked.contains_key(&(line.site.clone(), line.nth)));
    unreached.map(|(_, said)| format!("`{said}`: this turn is never reached")).collect()
}

/// The number of options at each turn of each place where the run asked what happens next.
pub(crate) fn asked(run: &Run) -> SortedMap<(Site, u32), u32> {
    let actors = run.trace.actors();
    let draws = run.draws.iter().map(|draw| draw.deviation(actors, draw.value));
    draws.map(|draw| ((draw.site, draw.nth), draw.of)).collect()
}
