//! The searches that the tests of all systems make.

use thunderhead::testing::{self, Refutation};
use thunderhead_props::scripted::{self, Unscripted};
use thunderhead_props::search::{self, Sampling};
use thunderhead_props::{Expected, System, Variant, Violation, quietly};
use thunderhead_sim::{ClientRequest, Enumerate, FaultSet, Scenario, Source, Tape, Time, Timing};

use crate::bounds::Bounds;

/// Every variant that must be refuted is, by both kinds of seeds within so many runs each, and
/// shrinks to at most so many deviations.
pub fn refuted_and_made_small(system: &System, bounds: &Bounds) {
    let (runs, most) = (bounds.refuted_within, bounds.deviations_max);
    let mut untold = Vec::new();
    for variant in system.variants().iter().filter(|variant| variant.expected != Expected::Holds) {
        for sampling in [Sampling::Random, Sampling::Pct] {
            let found = testing::refuted(system, variant, sampling, runs);
            let (name, tape) = (&variant.name, &found.case.tape);
            assert!(tape.len() <= most, "{name}: {tape:?}");
            is_told_shortly(&format!("{} {name}", system.name), &found, bounds.faults_max);
            untold.extend(
                untold_as_a_script(system, variant, &found).map(|why| {
                    format!("{name} ({sampling:?}), {}: {why:?}", found.violation.promise)
                }),
            );
        }
    }
    let untold_max = bounds.untold_max;
    assert!(untold.len() <= untold_max, "{}: more than {untold_max}: {untold:#?}", system.name);
}

/// Why a failure cannot be told as a script without a tape; nothing when it can, and the script breaks the promise.
fn untold_as_a_script(
    system: &System,
    variant: &Variant,
    found: &Refutation,
) -> Option<Unscripted> {
    let promise = &found.violation.promise;
    match quietly(|| scripted::told(system, variant, &found.case, promise)) {
        Err(why) => Some(why),
        Ok(scenario) => {
            let source = Source::Tape(Tape::benign());
            let (_, broken) = search::check(system, variant, &scenario, &source).unwrap();
            let names: Vec<_> = broken.iter().map(|violation| &violation.promise).collect();
            assert!(names.contains(&promise), "{}: {promise}: {names:?}", variant.name);
            assert_eq!(scenario.drawn_faults, FaultSet::NONE);
            None
        }
    }
}

/// A failure has a story of at most 25 lines with at most so many faults, in which something is pointed at.
fn is_told_shortly(name: &str, found: &Refutation, most: usize) {
    let story = found.violation.story(&found.run.trace);
    let (lines, faults) = (story.text.lines().count(), story.faults.len());
    assert!(lines <= 25, "{name}: {lines} lines\n{}", story.text);
    assert!(faults <= most, "{name}: {faults} faults\n{}", story.text);
    assert!(story.text.contains("\n>") || story.text.starts_with('>'), "{name}\n{}", story.text);
}

/// Every variant that must hold shows within so many runs everything that sometimes happens.
pub fn meets_everything(system: &System, runs: u64) {
    for variant in system.variants().iter().filter(|variant| variant.expected == Expected::Holds) {
        testing::sees_everything(system, variant, runs);
    }
}

/// The promises among `known` that a variant keeps in the storms of all these seeds.
pub fn kept<'n>(
    system: &System,
    variant: &Variant,
    known: &[&'n str],
    seeds: impl Iterator<Item = (u64, Sampling)>,
) -> Vec<&'n str> {
    let mut kept = known.to_vec();
    for (seed, sampling) in seeds {
        if kept.is_empty() {
            break;
        }
        for violation in violations(system, variant, seed, sampling) {
            kept.retain(|name| *name != violation.promise);
        }
    }
    kept
}

/// What a variant breaks in the storm of a seed.
pub fn violations(
    system: &System,
    variant: &Variant,
    seed: u64,
    sampling: Sampling,
) -> Vec<Violation> {
    let (scenario, source) = search::of_seed(system, seed, sampling, 3);
    search::check_drawn(system, variant, &scenario, &source).unwrap().1
}

/// So many seeds, all of them random.
pub fn random(seeds: u64) -> impl Iterator<Item = (u64, Sampling)> {
    (0..seeds).map(|seed| (seed, Sampling::Random))
}

/// So many seeds, of which every fourth orders deliveries by priorities.
pub fn mixed(seeds: u64) -> impl Iterator<Item = (u64, Sampling)> {
    (0..seeds)
        .map(|seed| (seed, if seed.is_multiple_of(4) { Sampling::Pct } else { Sampling::Random }))
}

/// A scenario for enumeration: order instead of latency, and at most two crashes.
pub fn order_only(requests: Vec<ClientRequest>) -> Scenario {
    Scenario { requests, timing: Timing::Order, max_crashes: 2, ..Scenario::default() }
}

/// Like [`order_only`], with a storm that ends earlier than usual.
pub fn order_only_until(ends_at: Time, requests: Vec<ClientRequest>) -> Scenario {
    Scenario { storm_ends_at: ends_at, ..order_only(requests) }
}

/// Plays every run within each of the bounds; all keep every promise, and there are more than `least` of them.
pub fn survives(
    system: &System,
    variant: &Variant,
    scenario: &Scenario,
    bounds: &[(FaultSet, usize)],
    least: u64,
) {
    let name = format!("{} {}", system.name, variant.name);
    for (faults, deviations) in bounds {
        let scenario = Scenario { drawn_faults: *faults, ..scenario.clone() };
        let runs = testing::enumerate(system, variant, &scenario, *deviations);
        println!("{name}: {runs} runs, at most {deviations} deviations");
        assert!(runs > least, "{name}: only {runs} runs");
    }
}

/// Plays every run of an enumeration and shows what each broke; how many runs there were.
pub fn enumerate(
    system: &System,
    variant: &Variant,
    scenario: &Scenario,
    mut tapes: Enumerate,
    mut show: impl FnMut(&Tape, &[Violation]),
) -> u64 {
    while let Some(tape) = tapes.next_tape() {
        let source = Source::Tape(tape.clone());
        let (run, broken) = search::check_drawn(system, variant, scenario, &source).unwrap();
        show(&tape, &broken);
        tapes.tell(&run);
    }
    tapes.visited()
}
