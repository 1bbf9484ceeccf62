//! What the references do not survive when storms last for hours: `docs/findings.md` lists it, and nothing else is on
//! that list.

use std::path::Path;

use thunderhead::systems;
use thunderhead_props::quietly;
use thunderhead_props::search::{self, Strategy};
use thunderhead_sim::FaultSet;

/// The weather in which references broke that were mended, beyond the seeds that are tried anyway.
const MENDED: [(&str, u64); 4] =
    [("uploads", 367), ("uploads", 472), ("generations", 464), ("comparisons", 562)];

/// The promises that the reference of `system` breaks in the weather of `seed`.
fn broken(system: &str, seed: u64) -> Vec<String> {
    let system = systems::find(system).unwrap();
    let faults = FaultSet::survivable();
    let (scenario, source) = search::of_seed_among(system, seed, Strategy::Weather, 3, faults);
    let (_, violations) =
        quietly(|| search::check(system, system.reference(), &scenario, &source)).unwrap();
    violations.into_iter().map(|violation| violation.promise.to_string()).collect()
}

/// The rows of the page's table of long weather: system, promise, seed.
fn table() -> Vec<(String, String, u64)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/findings.md");
    let text = std::fs::read_to_string(page).unwrap();
    let (_, part) = text.split_once("| System | Promise | Seed |").expect("its part of the page");
    let rows = part.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.map(|row| row.split(" | ").map(|cell| cell.trim_matches(['|', ' ', '`'])));
    cells
        .map(|mut cells| {
            let mut cell = || cells.next().expect("system, promise, seed").to_string();
            (cell(), cell(), cell().parse().expect("a seed"))
        })
        .collect()
}

#[test]
fn what_long_weather_breaks_is_what_the_page_says() {
    let rows = table();
    assert!(rows.len() >= 5);
    for (system, promise, seed) in rows {
        let broken = broken(&system, seed);
        assert!(broken.contains(&promise), "{system} in the weather of {seed} breaks {broken:?}");
    }
}

#[test]
fn what_the_page_does_not_list_survives_storms_of_days() {
    let listed = table();
    let systems = ["relay", "uploads", "comparisons"].into_iter();
    let first = systems.flat_map(|system| (0..300).map(move |seed| (system, seed)));
    for (system, seed) in first.chain(MENDED) {
        let mut broken = broken(system, seed);
        // In the weather of its own row a promise is broken.
        broken.retain(|promise| !listed.contains(&(system.into(), promise.clone(), seed)));
        assert_eq!(broken, [""; 0], "{system}, seed {seed}");
    }
}
