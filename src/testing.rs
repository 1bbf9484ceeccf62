//! What a test of a system of your own says in one line.
//!
//! Every function here panics like an assertion, with what a reader needs to go on: a run that breaks a promise is
//! written to `failures/`, and its history is in the message with the offending line marked. They are in this crate and
//! not beside [`storm`](thunderhead_props::storm) in `thunderhead-props` because they read scripts and write failure
//! files, which is done here; a crate that has a `main` by [`thunderhead::main`](crate::main) needs no other dependency
//! for them.
//!
//! ```
//! use thunderhead::props::{System, Variant, search};
//! use thunderhead::sim::r2::BucketConfig;
//! use thunderhead::sim::{ClientRequest, FaultSet, Response, Time};
//! use thunderhead::testing;
//!
//! let keeps = Variant::holds("reference", "keeps what it is sent", |cloud| {
//!     cloud.bucket("notes", BucketConfig::default());
//!     cloud.worker("web").fetch(|env, request| async move {
//!         env.bucket("notes").put("latest", request.body).execute().await?;
//!         Ok(Response::new(201, ""))
//!     });
//! });
//! let system = System::new("notes", "a worker that keeps a note", keeps).with_workload(|rng| {
//!     let ask = |turn| ClientRequest::new(Time::from_ms(10 * u64::from(turn)), "POST", "/", "hello");
//!     (0..1 + rng.below(3)).map(ask).collect()
//! });
//! // Played twice, each of 20 storms has the same history.
//! testing::deterministic(&system, system.reference(), 20);
//! // Within 1,000 storms, everything is seen that must sometimes happen: here, that a host dies during a call.
//! testing::sees_everything(&system, system.reference(), 1_000);
//! // Every run of one request with at most one deviation keeps every promise.
//! let scenario = search::to_enumerate(&system, FaultSet::explored(), 1);
//! assert!(testing::enumerate(&system, system.reference(), &scenario, 1) > 5);
//! ```

use std::path::Path;

use thunderhead_props::proptest::test_runner::TestCaseError;
use thunderhead_props::search::{self, Sampling};
use thunderhead_props::{Expected, Name, Storm, System, Variant, Violation, quietly};
use thunderhead_sim::{Case, Enumerate, Run, Scenario, Script, Source};

use crate::bodies;
use crate::catalogue::Catalogue;
use crate::failure::Found;
use crate::history::History;
use crate::playable::Playable;
use crate::report;

/// Where failures are written, below the folder of the package, in which `cargo test` runs tests.
const FAILURES: &str = "failures";
/// How a program by [`thunderhead::main`](crate::main) is run in such a folder.
const PROGRAM: &str = "cargo run --";
/// How many crashes a run of a seed may draw.
const MAX_CRASHES: u32 = 3;

/// The history of the script in a file, as `trace` prints it, for a snapshot. What the script expects has come, and
/// each of its faults has struck.
pub fn history(systems: &[&System], file: impl AsRef<Path>) -> String {
    let path = file.as_ref();
    let file = path.display().to_string();
    let systems = Catalogue::new(systems).unwrap_or_else(|error| panic!("{error}"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let script = Script::parse(&file, &text).and_then(|mut script| {
        bodies::fill(&mut script, path.parent().unwrap_or(Path::new("")), None)?;
        Playable::new(script, systems)
    });
    let playable = script.unwrap_or_else(|error| panic!("{error}"));
    let played = playable.play().unwrap_or_else(|error| panic!("{file}: {error}"));
    let history = History::new(&playable, &played).short();
    let unmet = played.unmet.iter().map(ToString::to_string).chain(played.idle.iter().cloned());
    let unmet: Vec<String> = unmet.collect();
    assert!(unmet.is_empty(), "{file}: {}\n{history}", unmet.join("; "));
    history
}

/// A storm of a property keeps every promise. The failure of a storm that does not says so in words.
///
/// ```
/// use thunderhead::props::proptest::prelude::*;
/// use thunderhead::props::{System, cases, storm};
/// use thunderhead::testing;
///
/// fn the_reference_holds(system: &System) {
///     proptest!(cases(100), |(storm in storm(system, system.reference()))| testing::holds(&storm)?);
/// }
/// ```
///
/// Proptest shrinks a failing storm by playing smaller ones. Each failure replaces the file of the one before, so the
/// file that is left has the smallest.
pub fn holds(storm: &Storm) -> Result<(), TestCaseError> {
    holds_or_writes(storm, Path::new(FAILURES))
}

fn holds_or_writes(storm: &Storm, folder: &Path) -> Result<(), TestCaseError> {
    let (system, variant) = (storm.system(), storm.variant());
    let run = quietly(|| storm.run()).map_err(|error| TestCaseError::fail(error.to_string()))?;
    let case = storm.case().unwrap_or_else(|| unreachable!("the storm has just been played"));
    let violations = storm.judge(&run);
    let Some(violation) = violations.first() else { return Ok(()) };
    let (case, run) = (&case, &run);
    let also = &others(&violations);
    let (strategy, seed) = ("proptest", None);
    let found = Found { system, variant, violation, also, case, run, strategy, seed };
    Err(TestCaseError::fail(told(&found, folder)))
}

/// Every run of `scenario` with at most so many deviations keeps every promise; how many runs there were.
///
/// [`search::to_enumerate`] makes such a scenario of a system's smallest workload. A run deviates where something does
/// not go as usual: a fault, a crash, another order.
pub fn enumerate(
    system: &System,
    variant: &Variant,
    scenario: &Scenario,
    deviations: usize,
) -> u64 {
    let mut tapes = Enumerate::new(deviations);
    while let Some(tape) = tapes.next_tape() {
        let source = Source::Tape(tape.clone());
        let (run, violations) = draw(system, variant, scenario, &source);
        if let Some(violation) = violations.first() {
            let (case, run) = (&Case { scenario: scenario.clone(), tape }, &run);
            let (strategy, seed, also) = ("enumerate", None, &others(&violations));
            let found = Found { system, variant, violation, also, case, run, strategy, seed };
            panic!("{}", told(&found, Path::new(FAILURES)));
        }
        tapes.tell(&run);
    }
    tapes.visited()
}

/// A refutation that was found and made small.
#[derive(Clone, Debug)]
pub struct Refutation {
    /// The promise that is broken, and how.
    pub violation: Violation,
    /// The smallest scenario that was found, and its choices.
    pub case: Case,
    /// The run of that case.
    pub run: Run,
}

/// Within so many seeds, a storm breaks one of the promises that `variant` is said to break; the smallest such run.
pub fn refuted(system: &System, variant: &Variant, sampling: Sampling, runs: u64) -> Refutation {
    let name = format!("{} {}", system.name, variant.name);
    let Expected::Refuted(promises) = &variant.expected else { panic!("{name} is to hold") };
    let found = (0..runs).find_map(|seed| {
        let (scenario, source) = search::of_seed(system, seed, sampling, MAX_CRASHES);
        let (run, broken) = draw(system, variant, &scenario, &source);
        let violation = broken.into_iter().find(|found| promises.contains(&found.promise))?;
        Some((Case { scenario, tape: run.tape() }, violation.promise))
    });
    let Some((case, promise)) = found else {
        panic!("{runs} storms ({sampling:?}) break none of the promises that {name} is to break")
    };
    let small = quietly(|| search::smallest(system, variant, case, &promise).best().clone());
    let source = Source::Tape(small.tape.clone());
    let (run, broken) = play(system, variant, &small.scenario, &source);
    let violation = broken.into_iter().find(|found| found.promise == promise);
    let violation = violation.unwrap_or_else(|| panic!("{name}: the smallest case does not fail"));
    let case = Case { tape: run.tape(), ..small };
    Refutation { violation, case, run }
}

/// Within so many seeds, everything is seen that `system` says to happen sometimes.
pub fn sees_everything(system: &System, variant: &Variant, runs: u64) {
    let mut unseen: Vec<_> = system.sometimes().collect();
    for seed in 0..runs {
        let (scenario, source) = search::of_seed(system, seed, Sampling::Random, MAX_CRASHES);
        let (run, _) = draw(system, variant, &scenario, &source);
        unseen.retain(|(_, seen)| !seen.of(&run.trace));
    }
    let unseen: Vec<String> = unseen.iter().map(|(promise, _)| promise.to_string()).collect();
    let name = format!("{} {}", system.name, variant.name);
    assert!(unseen.is_empty(), "{name}: never seen in {runs} storms: {}", unseen.join("; "));
}

/// Each of so many storms, played twice, has the same history.
///
/// The lints that keep this project's code deterministic are not yours. This finds what they would: a clock, the order
/// of a hash map, a static that remembers the last run.
pub fn deterministic(system: &System, variant: &Variant, runs: u64) {
    for seed in 0..runs {
        let sampling = if seed.is_multiple_of(4) { Sampling::Pct } else { Sampling::Random };
        let (scenario, source) = search::of_seed(system, seed, sampling, MAX_CRASHES);
        let (first, _) = draw(system, variant, &scenario, &source);
        let (second, _) = draw(system, variant, &scenario, &source);
        if let Some((first, second)) = parting(&first, &second) {
            let name = format!("{} {}", system.name, variant.name);
            panic!(
                "{name} is not deterministic: two runs of seed {seed} part here\n  first   {first}\n  second  {second}\n\
                 The code depends on something that no run decides: a clock, the order of a hash map, randomness of the \
                 system, a thread, or a static that remembers.",
            );
        }
    }
}

/// The first lines in which two runs differ. Nothing in them is abbreviated: the difference may be in what is cut.
fn parting(first: &Run, second: &Run) -> Option<(String, String)> {
    if first.trace.hash() == second.trace.hash() {
        return None;
    }
    let (first, second) = (first.trace.wide(), second.trace.wide());
    let (mut first, mut second) = (first.lines(), second.lines());
    loop {
        let or_over = |line: Option<&str>| line.unwrap_or("nothing: the run is over").to_string();
        match (first.next(), second.next()) {
            (None, None) => {
                let alike = "a history that reads alike, with other contents";
                return Some((alike.into(), alike.into()));
            }
            (one, other) if one != other => return Some((or_over(one), or_over(other))),
            _ => {}
        }
    }
}

fn play(
    system: &System,
    variant: &Variant,
    scenario: &Scenario,
    source: &Source,
) -> (Run, Vec<Violation>) {
    let played = quietly(|| search::check(system, variant, scenario, source));
    played.unwrap_or_else(|error| panic!("{} {}: {error}", system.name, variant.name))
}

/// Like [`play`], for one of many runs.
fn draw(
    system: &System,
    variant: &Variant,
    scenario: &Scenario,
    source: &Source,
) -> (Run, Vec<Violation>) {
    let played = quietly(|| search::check_drawn(system, variant, scenario, source));
    played.unwrap_or_else(|error| panic!("{} {}: {error}", system.name, variant.name))
}

/// The promises that are broken besides the first.
fn others(violations: &[Violation]) -> Vec<Name> {
    violations.iter().skip(1).map(|violation| violation.promise.clone()).collect()
}

/// The failure in words, with where it was written.
fn told(found: &Found, folder: &Path) -> String {
    let story = found.story();
    let tell = |file: &str| report::failure(found, &story, PROGRAM, file, found.strategy, false);
    match found.write(folder, None, &story) {
        Ok(file) => format!("\n{}", tell(&file.display().to_string())),
        Err(unwritten) => format!("\n{}{unwritten}\n", tell("FILE")),
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU32, Ordering};

    use thunderhead_props::proptest::test_runner::{Config, TestError, TestRng, TestRunner};
    use thunderhead_props::storm;
    use thunderhead_sim::{ClientRequest, Cloud, FaultSet, Request, Response, Time};

    use super::*;
    use crate::systems;

    // By name it would be looked for among all systems, and the tests of this crate would compile them all again.
    fn relay() -> &'static System {
        &systems::relay::SYSTEM
    }

    fn message(work: impl FnOnce()) -> String {
        let panic = catch_unwind(AssertUnwindSafe(|| quietly(work))).expect_err("it panics");
        *panic.downcast::<String>().expect("with a text")
    }

    #[test]
    fn a_failing_property_leaves_a_file_and_tells_the_history_with_its_offending_line() {
        let folder =
            std::env::temp_dir().join(format!("thunderhead-testing-{}", std::process::id()));
        let config = Config { failure_persistence: None, ..Config::with_cases(1_000) };
        let rng = TestRng::deterministic_rng(Default::default());
        let bug = storm(relay(), relay().variant("writes-twice").expect("it is planted"));
        let outcome = TestRunner::new_with_rng(config, rng)
            .run(&bug, |storm| holds_or_writes(&storm, &folder));
        let Err(TestError::Fail(reason, storm)) = outcome else { panic!("found nothing") };
        let said = reason.message();
        assert!(said.contains("BROKEN   always "), "{said}");
        assert!(said.contains("  replay cargo run -- replay "), "{said}");
        assert!(said.lines().any(|line| line.trim_start().starts_with('>')), "{said}");
        let files: Vec<_> = std::fs::read_dir(&folder).expect("it was written").collect();
        let texts: Vec<String> = files
            .into_iter()
            .map(|file| std::fs::read_to_string(file.expect("readable").path()).expect("text"))
            .collect();
        std::fs::remove_dir_all(&folder).expect("it is ours");
        storm.run().expect("it fits");
        let smallest = storm.case().expect("it was played").tape;
        let left = texts.iter().any(|text| {
            let file = Script::parse("left.toml", text).expect("a script");
            file.script.choices == thunderhead_sim::ScriptChoices::Tape(smallest.clone())
        });
        assert!(left, "the smallest storm is the one that is left: {texts:?}");
    }

    /// A worker that answers in the order of a standard hash map, which differs each time one is made.
    #[expect(clippy::disallowed_types, reason = "the planted mistake that must be caught")]
    fn leaky(cloud: &mut Cloud) {
        cloud.worker("web").fetch(|env, _: Request| async move {
            let names: std::collections::HashMap<u32, u32> = (0..32).map(|n| (n, n)).collect();
            for name in names.keys() {
                env.log(format!("{name}"));
            }
            Ok(Response::new(200, ""))
        });
    }

    #[test]
    fn a_planted_hash_map_is_caught_with_the_first_event_that_differs() {
        let ask = || vec![ClientRequest::new(Time::ZERO, "GET", "/", "")];
        let system = System::new("leaky", "", Variant::holds("reference", "", leaky))
            .with_workload(move |_| ask());
        let said = message(|| deterministic(&system, system.reference(), 9));
        assert!(said.contains("leaky reference is not deterministic"), "{said}");
        assert!(said.contains("\n  first   ") && said.contains("\n  second  "), "{said}");
    }

    /// A worker that counts its runs, and tells the number where a line of a history is cut.
    fn remembering(cloud: &mut Cloud) {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        cloud.worker("web").fetch(|env, _: Request| async move {
            env.log(format!("{}{}", "x".repeat(300), RUNS.fetch_add(1, Ordering::Relaxed)));
            Ok(Response::new(200, ""))
        });
    }

    #[test]
    fn a_difference_in_what_a_line_leaves_out_is_shown() {
        let ask = || vec![ClientRequest::new(Time::ZERO, "GET", "/", "")];
        let system = System::new("counting", "", Variant::holds("reference", "", remembering))
            .with_workload(move |_| ask());
        let said = message(|| deterministic(&system, system.reference(), 1));
        let line = |of: &str| said.lines().find_map(|line| line.strip_prefix(of));
        assert!(line("  first   ").is_some_and(|line| line.contains("log")), "{said}");
        assert_ne!(line("  first   "), line("  second  "), "{said}");
    }

    #[test]
    fn what_is_not_seen_and_what_is_not_refuted_is_said() {
        let said = message(|| sees_everything(relay(), relay().reference(), 0));
        assert!(said.contains("never seen in 0 storms: sometimes "), "{said}");
        let early = relay().variant("acks-early").expect("it is planted");
        let said = message(|| drop(refuted(relay(), early, Sampling::Random, 0)));
        assert!(said.contains("break none of the promises that relay acks-early"), "{said}");
        let found = refuted(relay(), early, Sampling::Random, 400);
        assert_eq!(found.violation.promise, "every upload has its receipt");
        let scenario = search::to_enumerate(relay(), FaultSet::crashes(), 1);
        assert!(enumerate(relay(), relay().reference(), &scenario, 1) > 10);
    }
}
