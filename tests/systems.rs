//! What holds for every system that is registered in `src/systems.rs`.

use thunderhead::catalogue::Catalogue;
use thunderhead::systems;
use thunderhead_props::Expected;

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
        for variant in system.variants() {
            let found = system.variant(&variant.name).map(|found| &found.about);
            assert_eq!(found, Some(&variant.about), "{}", system.name);
        }
        for unknown in ["", "referense", "Reference", "reference "] {
            assert!(system.variant(unknown).is_none(), "{}: `{unknown}`", system.name);
        }
    }
}
