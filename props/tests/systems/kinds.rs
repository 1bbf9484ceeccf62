//! Every kind of weather finds a mistake that is not found without it.

use std::path::Path;

use thunderhead::systems;
use thunderhead_props::search::{self, Sampling};
use thunderhead_props::{Expected, Name, System, Variant, quietly};
use thunderhead_sim::{Fault, FaultSet};

/// How many hosts crash in a run at most, as `explore` has it.
const MAX_CRASHES: u32 = 3;

/// The lengths of storms and the faults that are drawn.
type Weather = (Sampling, FaultSet);

/// A kind of weather, and a mistake that takes it to be found.
struct Kind {
    name: &'static str,
    system: &'static str,
    mistake: &'static str,
    /// How many runs find it with this kind of weather, and do not without.
    runs: u64,
    with: Weather,
    without: Weather,
}

fn kinds() -> [Kind; 4] {
    use Sampling::{Random, Weather};
    let usual = FaultSet::explored();
    let and = |fault| usual.iter().chain([fault]).collect::<FaultSet>();
    let kind = |name, (system, mistake), runs, with, without| Kind {
        name,
        system,
        mistake,
        runs,
        with,
        without,
    };
    [
        kind(
            "late replies",
            ("uploads", "believes-every-look"),
            1_000,
            (Random, and(Fault::LateReply)),
            (Random, usual),
        ),
        // A service has to be in trouble for longer than a hundred tries last, which takes a storm of more than a
        // minute.
        kind(
            "outages",
            ("relay", "never-slows-down"),
            5_000,
            (Weather, and(Fault::Outage)),
            (Weather, usual),
        ),
        kind("length", ("commands", "goes-home"), 1_000, (Weather, usual), (Random, usual)),
        kind(
            "blackouts",
            ("relay", "keeps-copies"),
            5_000,
            (Random, and(Fault::Blackout)),
            (Random, usual),
        ),
    ]
}

/// Whether a mistake is one that the usual storms do not find.
pub fn takes_other_weather(system: &str, mistake: &str) -> bool {
    kinds().iter().any(|kind| (kind.system, kind.mistake) == (system, mistake))
}

impl Kind {
    fn variant(&self) -> (&'static System, &'static Variant) {
        let system = systems::find(self.system).unwrap();
        (system, system.variant(self.mistake).unwrap())
    }

    /// The promise that the mistake breaks.
    fn promise(&self) -> &'static Name {
        match &self.variant().1.expected {
            Expected::Refuted(promises) => promises.first().unwrap(),
            Expected::Holds => panic!("{} breaks nothing", self.mistake),
        }
    }

    /// The first run that breaks a promise in this weather, and the promises that it breaks.
    fn first(&self, (sampling, faults): Weather) -> Option<(u64, Vec<Name>)> {
        let (system, mistake) = self.variant();
        (0..self.runs).find_map(|seed| {
            let (scenario, source) =
                search::of_seed_among(system, seed, sampling, MAX_CRASHES, faults);
            let (_, violations) =
                quietly(|| search::check_drawn(system, mistake, &scenario, &source)).unwrap();
            let broken: Vec<Name> = violations.into_iter().map(|found| found.promise).collect();
            (!broken.is_empty()).then_some((seed + 1, broken))
        })
    }
}

#[test]
fn every_kind_of_weather_finds_a_mistake_that_is_not_found_without_it() {
    let mut wrong = Vec::new();
    for kind in kinds() {
        let (Kind { name, mistake, runs, .. }, promise) = (&kind, kind.promise());
        match kind.first(kind.with) {
            Some((run, broken)) if broken.contains(promise) => {
                println!("{name}: run {run} finds {mistake}");
            }
            Some((run, broken)) => wrong.push(format!("run {run} of {mistake}: {broken:?}")),
            None => wrong.push(format!("{runs} runs with {name} do not find {mistake}")),
        }
        if let Some((run, broken)) = kind.first(kind.without) {
            wrong.push(format!("{mistake} without {name}: run {run} breaks {broken:?}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn the_page_has_a_row_for_every_kind_of_weather() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/mistakes.md");
    let text = std::fs::read_to_string(page).unwrap();
    let rows: Vec<String> = kinds()
        .iter()
        .map(|kind| {
            let Kind { name, system, mistake, runs, .. } = kind;
            format!("| {name} | `{system}` | `{mistake}` | {} | {runs} |", kind.promise())
        })
        .collect();
    let listed = text.split("## Kinds of weather").nth(1).unwrap_or_default();
    let listed = listed.split("\n## ").next().unwrap_or_default().lines();
    let listed: Vec<&str> = listed.filter(|line| line.starts_with("| ")).skip(1).collect();
    assert_eq!(listed, rows, "the table is:\n{}", rows.join("\n"));
}
