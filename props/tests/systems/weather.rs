//! The references survive storms of days.

use thunderhead::systems;
use thunderhead_props::search::{self, Sampling};
use thunderhead_props::{Expected, System, Variant, quietly};
use thunderhead_sim::FaultSet;

/// How many seeds are tried of a reference, unless `WEATHER_SEEDS` asks for more.
const SEEDS: u64 = 2_000;
/// How many are tried of another variant that must hold.
const SEEDS_OF_OTHERS: u64 = 150;

/// The weather in which references broke that were mended, beyond the seeds that are tried anyway.
const MENDED: [(&str, u64); 4] = [
    ("relay", 207_720),
    ("generations", 151_611),
    ("comparisons", 316_334),
    ("comparisons", 718_611),
];

/// The promises that a variant breaks in the weather of `seed`.
fn broken(system: &System, variant: &Variant, seed: u64) -> Vec<String> {
    let faults = FaultSet::survivable();
    let (scenario, source) = search::of_seed_among(system, seed, Sampling::Weather, 3, faults);
    let (_, violations) =
        quietly(|| search::check_drawn(system, variant, &scenario, &source)).unwrap();
    violations.into_iter().map(|violation| violation.promise.to_string()).collect()
}

/// Every variant that must hold survives.
fn survives(name: &str) {
    let system = systems::find(name).unwrap();
    assert!(system.outlasts_days(), "{name}");
    let asked = std::env::var("WEATHER_SEEDS").ok().and_then(|text| text.parse().ok());
    let seeds = asked.unwrap_or(SEEDS);
    let holding = system.variants().iter().filter(|it| it.expected == Expected::Holds);
    for variant in holding {
        let reference = variant.name == system.reference().name;
        for seed in 0..if reference { seeds } else { SEEDS_OF_OTHERS } {
            let shown = format!(
                "thunderhead explore {name} --variant {} --strategy weather --seed {seed} --runs 1",
                variant.name
            );
            assert_eq!(broken(system, variant, seed), [""; 0], "`{shown}` shows it");
        }
    }
}

// A test for each, so that the cores share them.
macro_rules! survive {
    ($($test:ident: $system:literal;)*) => {
        $(#[test]
        fn $test() {
            survives($system);
        })*

        #[test]
        fn no_system_is_left_out_of_storms_of_days() {
            let tried = [$($system),*];
            let all = systems::all();
            let names: Vec<&str> = all.iter().map(|system| &*system.name).collect();
            assert_eq!(names, tried);
        }
    };
}

survive! {
    the_relay_survives_storms_of_days: "relay";
    uploads_survives_storms_of_days: "uploads";
    generations_survives_storms_of_days: "generations";
    comparisons_survives_storms_of_days: "comparisons";
    commands_survives_storms_of_days: "commands";
}

#[test]
fn what_broke_in_long_weather_once_and_was_mended_holds() {
    for (name, seed) in MENDED {
        let system = systems::find(name).unwrap();
        assert_eq!(broken(system, system.reference(), seed), [""; 0], "{name}, seed {seed}");
    }
}
