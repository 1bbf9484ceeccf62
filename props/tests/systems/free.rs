//! The promises that come for nothing: what they catch is what `docs/free-promises.md` says, and no reference breaks
//! one of them.

use std::path::Path;

use thunderhead::systems;
use thunderhead_props::search::{self, Sampling};
use thunderhead_props::{Expected, System, Variant, quietly};

/// How many seeds a specimen is searched for, with either strategy. Most are caught by one of the first.
const SEEDS: u64 = 40;
/// How many seeds a reference is searched for: the searches of `every.rs` have many more, of which a share is compared.
const SEEDS_OF_REFERENCES: u64 = 20;

/// A system with the variants of this one, and without promises of its own.
fn bare(system: &System) -> System {
    let mut system = system.clone();
    system.promises.clear();
    system
}

/// The first promise that a run of a variant breaks, and what was found.
fn caught(system: &System, variant: &Variant, seeds: u64) -> Option<(String, String)> {
    let runs = (0..seeds).flat_map(|seed| [Sampling::Random, Sampling::Pct].map(|how| (seed, how)));
    runs.into_iter().find_map(|(seed, how)| {
        let (scenario, source) = search::of_seed(system, seed, how, 3);
        let (_, broken) = quietly(|| search::check(system, variant, &scenario, &source)).unwrap();
        let first = broken.into_iter().next()?;
        Some((first.promise.to_string(), first.finding.message))
    })
}

/// The rows of the page's table of specimens.
fn table() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/free-promises.md");
    let text = std::fs::read_to_string(page).unwrap();
    text.lines().filter(|line| line.starts_with("| `")).map(String::from).collect()
}

#[test]
fn promises_for_nothing_catch_what_the_table_says_which_is_most_of_what_is_wrong() {
    let (mut rows, mut found) = (Vec::new(), 0);
    for system in systems::all() {
        let bare = bare(system);
        for variant in system.variants().iter().filter(|one| one.expected != Expected::Holds) {
            let caught = caught(&bare, variant, SEEDS).map(|(promise, _)| promise);
            found += usize::from(caught.is_some());
            let by = caught.as_deref().unwrap_or("nothing");
            rows.push(format!("| `{}` | `{}` | {by} |", system.name, variant.name));
        }
    }
    assert_eq!(rows, table(), "the table is:\n{}", rows.join("\n"));
    assert!(found * 10 >= rows.len() * 6, "{found} of {}", rows.len());
}

#[test]
fn no_reference_breaks_a_promise_that_comes_for_nothing() {
    for system in systems::all() {
        let bare = bare(system);
        for variant in system.variants().iter().filter(|one| one.expected == Expected::Holds) {
            let name = format!("{} {}", system.name, variant.name);
            assert_eq!(caught(&bare, variant, SEEDS_OF_REFERENCES), None, "{name}");
        }
    }
}
