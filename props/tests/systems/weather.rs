//! The references survive storms of days.

use thunderhead::systems;
use thunderhead_props::search::{self, Sampling};
use thunderhead_props::{Expected, System, Variant, quietly};
use thunderhead_sim::FaultSet;

/// How many seeds are tried of every variant that must hold.
const SEEDS: u64 = 150;

/// The weather in which references broke that were mended, beyond the seeds that are tried anyway.
const MENDED: [(&str, u64); 8] = [
    ("uploads", 367),
    ("uploads", 472),
    ("uploads", 2180),
    ("generations", 464),
    ("generations", 1526),
    ("comparisons", 562),
    ("commands", 213),
    ("commands", 830),
];

/// The promises that a variant breaks in the weather of `seed`.
fn broken(system: &System, variant: &Variant, seed: u64) -> Vec<String> {
    let faults = FaultSet::survivable();
    let (scenario, source) = search::of_seed_among(system, seed, Sampling::Weather, 3, faults);
    let (_, violations) =
        quietly(|| search::check_drawn(system, variant, &scenario, &source)).unwrap();
    violations.into_iter().map(|violation| violation.promise.to_string()).collect()
}

#[test]
fn whatever_must_hold_survives_storms_of_days() {
    for system in systems::all() {
        assert!(system.outlasts_days(), "{}", system.name);
        let holding = system.variants().iter().filter(|it| it.expected == Expected::Holds);
        for variant in holding {
            for seed in 0..SEEDS {
                let name = format!("{} {}, seed {seed}", system.name, variant.name);
                assert_eq!(broken(system, variant, seed), [""; 0], "{name}");
            }
        }
    }
}

#[test]
fn what_broke_in_long_weather_once_and_was_mended_holds() {
    for (name, seed) in MENDED {
        let system = systems::find(name).unwrap();
        assert_eq!(broken(system, system.reference(), seed), [""; 0], "{name}, seed {seed}");
    }
}
