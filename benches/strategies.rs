//! How soon a strategy finds each known mistake: the refuted variants of all systems, and the mistakes that their
//! references can be told to make. Prints the table of `docs/finding-bugs.md`.
//!
//! `cargo bench --bench strategies -- uploads pct` measures one system and one strategy; without names it is all systems
//! and the strategy that `explore` uses when none is said.

#[allow(dead_code, reason = "this bench needs the clock and the table alone")]
mod measure;

use std::cell::Cell;
use std::time::Duration;

use measure::Table;
use thunderhead::systems;
use thunderhead_props::explore::{Progress, Search, Strategy};
use thunderhead_props::search::{self, Sampling};
use thunderhead_props::{Expected, System, Variant, quietly};

/// How many times a search begins, each time at other seeds.
const STARTS: u64 = 20;
/// How much processor time a search has to find a mistake.
const MOST: Duration = Duration::from_secs(5);
/// How far apart the seeds of two searches are.
const APART: u64 = 1_000_000;
const MAX_CRASHES: u32 = 3;

/// How a search chooses its runs.
#[derive(Clone, Copy)]
enum Way {
    /// Every seed by the same sampling.
    Seeds(Sampling),
    /// Three random seeds, then one by priorities, and so on.
    Mixed,
    /// A search whose runs depend on each other; how many it took is known to the batch.
    Whole(Strategy),
}

/// The first is the one that `explore` uses when none is said.
const WAYS: [(&str, Way); 6] = [
    ("random", Way::Seeds(Sampling::Random)),
    ("pct", Way::Seeds(Sampling::Pct)),
    ("mixed", Way::Mixed),
    ("weather", Way::Seeds(Sampling::Weather)),
    ("guided", Way::Whole(Strategy::Guided)),
    ("enumerate", Way::Whole(Strategy::Enumerate)),
];

/// How many runs it took, and how long; no number when it was not found.
type Took = (Option<u64>, Duration);

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is_asked = |name: &str| asked.iter().any(|asked| asked == name);
    let mut ways: Vec<_> = WAYS.iter().filter(|(name, _)| is_asked(name)).collect();
    if ways.is_empty() {
        ways.push(&WAYS[0]);
    }
    let named_systems = systems::all().iter().any(|system| is_asked(&system.name));
    let mut found: Vec<Vec<(u64, Duration)>> = vec![Vec::new(); ways.len()];
    let mut table = Table::new(["system", "mistake", "strategy", "runs", "time"]);
    let mut mistakes = 0_usize;
    for system in systems::all() {
        if named_systems && !is_asked(&system.name) {
            continue;
        }
        let wrong = system.variants().iter().filter(|one| one.expected != Expected::Holds);
        for variant in wrong.chain(system.mistakes()) {
            mistakes += 1;
            for ((name, way), found) in ways.iter().zip(&mut found) {
                let (runs, took) = typical(system, variant, *way);
                let (system, mistake) =
                    (format!("`{}`", system.name), format!("`{}`", variant.name));
                let number = runs.map_or("–".into(), |runs| runs.to_string());
                let time = runs.map_or("–".into(), |_| seconds(took));
                let row = [system, mistake, format!("`{name}`"), number, time];
                eprintln!("{}", row.join(" "));
                table.row(row);
                found.extend(runs.map(|runs| (runs, took)));
            }
        }
    }
    println!("{table}");
    for ((name, _), mut found) in ways.iter().zip(found) {
        found.sort_unstable();
        let number = found.len();
        let middle = found.get(number / 2).map_or(0, |(runs, _)| *runs);
        println!("{name}: {number} of {mistakes} found, median {middle} runs");
    }
}

/// The clock of a thread moves in steps of a few milliseconds.
fn seconds(took: Duration) -> String {
    let hundredths = took.as_millis() / 10;
    format!("{}.{:02} s", hundredths / 100, hundredths % 100)
}

/// The median over all starts.
fn typical(system: &System, variant: &Variant, way: Way) -> Took {
    // An enumeration begins at the same run every time.
    let starts = if matches!(way, Way::Whole(Strategy::Enumerate)) { 1 } else { STARTS };
    let mut all: Vec<(u64, Duration)> = Vec::new();
    for start in 0..starts {
        let (runs, took) = first(system, variant, way, start * APART);
        all.push((runs.unwrap_or(u64::MAX), took));
        // When half have found nothing, so has the one in the middle, whatever the others find.
        let unfound = all.iter().filter(|(runs, _)| *runs == u64::MAX).count() as u64;
        if 2 * unfound >= starts {
            return (None, took);
        }
    }
    all.sort_unstable();
    let (runs, took) = all[all.len() / 2];
    ((runs < u64::MAX).then_some(runs), took)
}

/// How many runs from `seed` on it takes until a promise is broken.
fn first(system: &System, variant: &Variant, way: Way, seed: u64) -> Took {
    let start = measure::clock();
    let found = match way {
        Way::Seeds(sampling) => seeds(system, variant, seed, |_| sampling),
        Way::Mixed => seeds(system, variant, seed, |turn| {
            if turn % 4 == 3 { Sampling::Pct } else { Sampling::Random }
        }),
        Way::Whole(strategy) => return whole(system, variant, seed, strategy),
    };
    (found, measure::clock() - start)
}

fn seeds(
    system: &System,
    variant: &Variant,
    seed: u64,
    sampling: impl Fn(u64) -> Sampling,
) -> Option<u64> {
    let broken = |turn: &u64| {
        let (scenario, source) = search::of_seed(system, seed + turn, sampling(*turn), MAX_CRASHES);
        let checked = quietly(|| search::check_drawn(system, variant, &scenario, &source));
        !checked.expect("the workload is the system's own").1.is_empty()
    };
    let start = measure::clock();
    (0..APART).take_while(|_| measure::clock() - start < MOST).find(broken).map(|turn| turn + 1)
}

/// The time until the batch in which a promise was broken; what the search does then, in order to make the failure
/// small, does not count.
fn whole(system: &System, variant: &Variant, seed: u64, strategy: Strategy) -> Took {
    let search = Search { seed, runs: APART, ..Search::new(system, variant, strategy) };
    let (start, broken) = (measure::clock(), Cell::new(false));
    let mut took = (None, Duration::ZERO);
    let findings =
        search.run_and_tell(&mut |_| broken.set(true), &mut |Progress { runs, .. }| {
            took = (broken.get().then_some(runs), measure::clock() - start);
            !broken.get() && took.1 < MOST
        });
    findings.expect("the workload is the system's own");
    took
}
