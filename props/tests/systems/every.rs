//! Every registered system: what must hold holds, what must be refuted is, and the search is not vacuous.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use thunderhead::{systems, testing};
use thunderhead_props::{Expected, System, Variant, cases, storm};

use crate::{bounds, search};

/// Every variant that must hold, with its system.
fn holding() -> impl Iterator<Item = (&'static System, &'static Variant)> {
    let all = systems::all()
        .into_iter()
        .flat_map(|system| system.variants().iter().map(move |it| (system, it)));
    all.filter(|(_, variant)| variant.expected == Expected::Holds)
}

/// Tries every variant that must hold in half of the storms that its system gets.
fn half_of_the_storms(half: u64) {
    for (system, variant) in holding() {
        let config = ProptestConfig {
            source_file: Some(file!()),
            ..cases(bounds::of(&system.name).storms.div_ceil(2))
        };
        // With one seed for all properties, the halves would be the same storms.
        let rng_seed = match config.rng_seed {
            RngSeed::Fixed(seed) => RngSeed::Fixed(seed.wrapping_add(half)),
            RngSeed::Random => RngSeed::Random,
        };
        let config = ProptestConfig { rng_seed, ..config };
        proptest!(config, |(storm in storm(system, variant))| {
            testing::holds(&storm)?;
        });
    }
}

// Two halves, so that two cores share them.
#[test]
fn every_promise_is_kept_in_every_storm() {
    half_of_the_storms(0);
}

#[test]
fn every_promise_is_kept_in_as_many_storms_again() {
    half_of_the_storms(1);
}

#[test]
fn what_must_be_refuted_is_refuted_and_shrinks_to_a_few_deviations() {
    for system in systems::all() {
        search::refuted_and_made_small(system, &bounds::of(&system.name));
    }
}

#[test]
fn a_search_meets_everything_that_sometimes_happens() {
    for system in systems::all() {
        search::meets_everything(system, bounds::of(&system.name).met_within);
    }
}

#[test]
fn the_smallest_workload_survives_everything_within_bounds() {
    for (system, variant) in holding() {
        let bounds = bounds::of(&system.name);
        let [all, crashes] = bounds.enumerated;
        let scenario = search::order_only(system.smallest());
        let within = bounds::enumerated(all, crashes);
        search::survives(system, variant, &scenario, &within, bounds.enumerated_least);
    }
}
