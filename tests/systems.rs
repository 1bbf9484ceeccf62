//! What holds for every system that is registered in `src/systems.rs`.

use std::collections::BTreeSet;

use thunderhead::systems;
use thunderhead_props::Expected;

#[test]
fn names_of_systems_and_of_the_variants_of_a_system_are_unique() {
    let names: BTreeSet<&str> = systems::ALL.iter().map(|system| system.name).collect();
    assert_eq!(names.len(), systems::ALL.len());
    for system in systems::ALL {
        let names: BTreeSet<&str> = system.variants.iter().map(|variant| variant.name).collect();
        assert_eq!(names.len(), system.variants.len(), "{}", system.name);
    }
}

#[test]
fn the_first_variant_of_every_system_must_hold() {
    for system in systems::ALL {
        assert_eq!(system.reference().expected, Expected::Holds, "{}", system.name);
    }
}

#[test]
fn every_refuted_variant_names_promises_that_its_system_makes() {
    for system in systems::ALL {
        for variant in system.variants {
            let Expected::Refuted(promises) = variant.expected else { continue };
            assert!(!promises.is_empty(), "{} {}", system.name, variant.name);
            for promise in promises {
                assert!(system.promise(promise).is_some(), "{}: {promise}", variant.name);
            }
        }
    }
}

#[test]
fn a_name_finds_its_variant_and_an_unknown_name_finds_none() {
    for system in systems::ALL {
        for variant in system.variants {
            let found = system.variant(variant.name).map(|found| found.about);
            assert_eq!(found, Some(variant.about), "{}", system.name);
        }
        for unknown in ["", "referense", "Reference", "reference "] {
            assert!(system.variant(unknown).is_none(), "{}: `{unknown}`", system.name);
        }
    }
}
