//! What holds for every system that is registered in `src/systems.rs`.

use thunderhead::catalogue::Catalogue;
use thunderhead::systems;
use thunderhead_props::Expected;
use thunderhead_props::search::{self, Sampling};
use thunderhead_sim::{Script, ScriptChoices};

#[test]
fn names_are_unique_and_every_refuted_variant_names_promises_that_its_system_makes() {
    Catalogue::new(&systems::all()).map(drop).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn the_first_variant_of_every_system_must_hold() {
    for system in systems::all() {
        assert_eq!(system.reference().expected, Expected::Holds, "{}", system.name);
    }
}

#[test]
fn a_name_finds_its_variant_and_an_unknown_name_finds_none() {
    for system in systems::all() {
        for variant in system.variants().iter().chain(system.mistakes()) {
            let found = system.variant(&variant.name).map(|found| &found.about);
            assert_eq!(found, Some(&variant.about), "{}", system.name);
        }
        for unknown in ["", "referense", "Reference", "reference "] {
            assert!(system.variant(unknown).is_none(), "{}: `{unknown}`", system.name);
        }
    }
}

/// Faults, crashes and evictions have words; no run of ours leaves one of them a number.
#[test]
fn the_tape_of_every_run_is_told_in_words_and_read_back_exactly() {
    for system in systems::all() {
        for seed in 0..60 {
            let sampling = if seed % 4 == 0 { Sampling::Pct } else { Sampling::Random };
            let (scenario, source) = search::of_seed(system, seed, sampling, 2);
            let run = search::play(system.reference(), &scenario, &source).expect("it fits");
            let script = Script {
                story: "A run.".into(),
                system: system.name.to_string(),
                variant: None,
                model: None,
                scenario,
                choices: ScriptChoices::Tape(run.tape()),
                expect: None,
                failure: None,
            };
            let text = script.to_toml();
            let read = Script::parse("run.toml", &text).unwrap_or_else(|error| panic!("{error}"));
            assert!(read.script == script, "{} {seed} is not read as it was written", system.name);
            let number = text.lines().find(|line| line.contains(" #") && line.contains(" = "));
            assert_eq!(
                number.filter(|line| line.starts_with("    \"")),
                None,
                "{} {seed}",
                system.name
            );
        }
    }
}
