//! The mistakes that the references can be told to make. Each is caught by the promise that it is said to break, every
//! promise catches one, and `docs/mistakes.md` lists them all.

use std::path::Path;

use thunderhead::systems;
use thunderhead_props::search::{self, Sampling};
use thunderhead_props::{
    Check, Expected, FREE, Name, PLATFORM, Promise, System, Variant, judge, quietly,
};
use thunderhead_sim::{ClientRequest, Enumerate, Fault, Run, Scenario, Source, Tape, Time};

use crate::kinds;
use crate::search::{enumerate, mixed, order_only};

/// Within how many runs a mistake has to be caught. Most are caught by one of the first fifty.
const RUNS: u64 = 5_000;
/// How many runs a mistake that nobody notices is watched for.
const RUNS_OF_SURVIVORS: u64 = 100;

/// The promise that a mistake breaks.
fn broken(mistake: &Variant) -> Option<&Name> {
    match &mistake.expected {
        Expected::Refuted(promises) => promises.first(),
        Expected::Holds => None,
    }
}

/// Whether the run of a seed breaks this promise.
fn breaks(
    system: &System,
    mistake: &Variant,
    promise: &Promise,
    (seed, how): (u64, Sampling),
) -> bool {
    let (scenario, source) = search::of_seed(system, seed, how, 3);
    let run = quietly(|| search::play(mistake, &scenario, &source)).unwrap();
    let found = match promise.check {
        Check::Converges => system.judge(mistake, &scenario, &run),
        _ => judge(std::iter::once(promise), &run),
    };
    found.iter().any(|violation| violation.promise == promise.name)
}

fn every_mistake_is_caught(name: &str) {
    let system = systems::find(name).unwrap();
    for mistake in system.mistakes() {
        let Some(name) = broken(mistake) else { continue };
        if kinds::takes_other_weather(&system.name, &mistake.name) {
            continue;
        }
        let promise = system.promise(name).unwrap();
        let found = mixed(RUNS).position(|seed| breaks(system, mistake, promise, seed));
        let run = found.unwrap_or_else(|| panic!("{} keeps `{name}`", mistake.name)) + 1;
        println!("{} {}: run {run} breaks `{name}`", system.name, mistake.name);
    }
}

#[test]
fn every_mistake_in_the_relay_is_caught_by_the_promise_it_is_said_to_break() {
    every_mistake_is_caught("relay");
}

#[test]
fn every_mistake_in_uploads_is_caught_by_the_promise_it_is_said_to_break() {
    every_mistake_is_caught("uploads");
}

#[test]
fn every_mistake_in_generations_is_caught_by_the_promise_it_is_said_to_break() {
    every_mistake_is_caught("generations");
}

#[test]
fn every_mistake_in_comparisons_is_caught_by_the_promise_it_is_said_to_break() {
    every_mistake_is_caught("comparisons");
}

#[test]
fn every_mistake_in_commands_is_caught_by_the_promise_it_is_said_to_break() {
    every_mistake_is_caught("commands");
}

/// R2's first answer arrives after the second, with two uploads of one name.
#[test]
fn a_look_that_is_believed_too_late_is_caught_by_an_enumeration_of_late_replies() {
    let system = systems::find("uploads").unwrap();
    let mistake = system.variant("believes-every-look").unwrap();
    let upload = |at, bytes: &str| {
        ClientRequest::new(Time::from_ms(at), "PUT", "/acme/cat.jpg?as=ann@acme", bytes)
    };
    let scenario = Scenario {
        drawn_faults: [Fault::LateReply].into_iter().collect(),
        ..order_only(vec![upload(0, "one"), upload(1_005, "two")])
    };
    let mut caught = false;
    let tapes = Enumerate::new(2);
    let runs = enumerate(system, mistake, &scenario, tapes, |_, found| {
        caught |= found.iter().any(|violation| Some(&violation.promise) == broken(mistake));
    });
    assert!(caught, "not in {runs} runs");
    assert!(runs < RUNS, "{runs} runs");
}

fn is_sometimes(promise: &&Promise) -> bool {
    matches!(promise.check, Check::Sometimes(_))
}

#[test]
fn no_promise_is_without_a_mistake_that_it_catches() {
    let all = systems::all();
    let catches = |system: &System, promise: &Promise| {
        system.mistakes().iter().any(|mistake| broken(mistake) == Some(&promise.name))
    };
    let mut without = Vec::new();
    for system in all {
        let own = system.promises.iter().filter(|promise| !is_sometimes(promise));
        let idle = own.filter(|promise| !catches(system, promise));
        without.extend(idle.map(|promise| format!("{}: {}", system.name, promise.name)));
    }
    // What every system is judged by is one promise, and a mistake in one of them will do.
    let shared = PLATFORM.iter().chain(FREE).copied().filter(|promise| !is_sometimes(promise));
    let idle = shared.filter(|promise| !all.iter().any(|system| catches(system, promise)));
    without.extend(idle.map(|promise| promise.name.to_string()));
    assert_eq!(without, Vec::<String>::new());
}

/// The smallest workload in the calm.
fn calm(system: &System, variant: &Variant) -> Run {
    let scenario = Scenario { requests: system.smallest(), ..Scenario::default() };
    quietly(|| search::play(variant, &scenario, &Source::Tape(Tape::benign()))).unwrap()
}

/// A `sometimes` is a promise about a search. It has to notice one that is too small: a calm run of the smallest
/// workload, of the reference or of a mistake that keeps the thing from happening.
#[test]
fn nothing_that_sometimes_happens_is_seen_by_a_search_that_is_too_small() {
    for system in systems::all() {
        let mut unseen: Vec<&Promise> = system.sometimes().map(|(promise, _)| promise).collect();
        for variant in std::iter::once(system.reference()).chain(system.mistakes()) {
            if unseen.is_empty() {
                break;
            }
            let run = calm(system, variant);
            unseen.retain(|promise| match &promise.check {
                Check::Sometimes(seen) => seen.of(&run.trace),
                _ => false,
            });
        }
        let names: Vec<&Name> = unseen.iter().map(|promise| &promise.name).collect();
        assert_eq!(names, Vec::<&Name>::new(), "{}: seen whatever happens", system.name);
    }
}

#[test]
fn a_mistake_that_nobody_notices_is_still_unnoticed() {
    for system in systems::all() {
        for mistake in system.mistakes().iter().filter(|mistake| broken(mistake).is_none()) {
            for (seed, how) in mixed(RUNS_OF_SURVIVORS) {
                let found = crate::search::violations(system, mistake, seed, how);
                assert_eq!(found, [], "{} {}, seed {seed}", system.name, mistake.name);
            }
        }
    }
}

/// The rows of the page's table, and the names under `## Survivors`.
fn read(text: &str) -> (Vec<String>, Vec<String>) {
    let rows = text.lines().filter(|line| line.starts_with("| `")).map(String::from).collect();
    let survivors = text.split("## Survivors").nth(1).unwrap_or_default();
    let named = survivors.lines().filter_map(|line| line.strip_prefix("- `")?.split('`').next());
    (rows, named.map(String::from).collect())
}

#[test]
fn the_page_lists_every_mistake_and_explains_those_that_nobody_notices() {
    let (mut rows, mut survivors) = (Vec::new(), Vec::new());
    for system in systems::all() {
        for mistake in system.mistakes() {
            let by = broken(mistake).map_or("nothing", |name| &**name);
            let (name, about) = (&mistake.name, &mistake.about);
            rows.push(format!("| `{}` | `{name}` | {about} | {by} |", system.name));
            if by == "nothing" {
                survivors.push(format!("{} {name}", system.name));
            }
        }
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/mistakes.md");
    let text = std::fs::read_to_string(page).unwrap();
    let (listed, explained) = read(&text);
    assert_eq!(rows, listed, "the table is:\n{}", rows.join("\n"));
    assert_eq!(survivors, explained);
    assert!(text.contains(&format!("There are {} of them.", rows.len())));
}
