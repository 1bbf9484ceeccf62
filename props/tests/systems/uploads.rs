//! The image pipeline under every kind of search: what must hold holds, what follows a plan to the
//! letter is refuted, and what the searches prove is not vacuous.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[allow(dead_code, reason = "the plans are refuted promise by promise here")]
mod campaign;

use proptest::prelude::*;
use thunderhead::systems;
use thunderhead_props::search::{self, Strategy};
use thunderhead_props::{Expected, System, cases, storm};
use thunderhead_sim::{ClientRequest, Scenario, Source, Tape, Time};

fn uploads() -> &'static System {
    systems::find("uploads").expect("the uploads are registered")
}

proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn the_reference_keeps_every_promise_in_every_storm(storm in storm(uploads(), "reference")) {
        prop_assert_eq!(storm.violations(), vec![], "{}", storm);
    }

    #[test]
    fn the_history_keeps_every_promise_in_every_storm(
        storm in storm(uploads(), "reference-history"),
    ) {
        prop_assert_eq!(storm.violations(), vec![], "{}", storm);
    }
}

proptest! {
    #![proptest_config(cases(4_000))]

    #[test]
    fn every_promise_is_kept_while_tables_migrate(storm in storm(uploads(), "reference-migrating")) {
        prop_assert_eq!(storm.violations(), vec![], "{}", storm);
    }
}

#[test]
fn every_plan_breaks_each_promise_it_is_known_to_break() {
    for variant in uploads().variants {
        let Expected::Refuted(promises) = variant.expected else { continue };
        let mut kept: Vec<_> = promises.to_vec();
        for seed in 0..4_000 {
            let strategy = if seed % 4 == 0 { Strategy::Pct } else { Strategy::Random };
            let (scenario, source) = search::of_seed(uploads(), seed, strategy, 3);
            let (_, broken) = search::check(uploads(), variant.name, &scenario, &source).unwrap();
            kept.retain(|name| !broken.iter().any(|violation| violation.promise == *name));
            if kept.is_empty() {
                break;
            }
        }
        assert_eq!(kept, Vec::<&str>::new(), "{} keeps these", variant.name);
    }
}

#[test]
fn a_campaign_meets_everything_that_sometimes_happens() {
    campaign::meets_everything(uploads(), 1_000);
}

/// The result of a step may have 1 MiB, and this picture has more when it is written as numbers.
#[test]
fn a_large_picture_is_classified_only_by_those_who_keep_it_out_of_the_results_of_steps() {
    let path = "/acme/cat.jpg?as=ann@acme";
    let requests = vec![ClientRequest::new(Time::ZERO, "PUT", path, vec![200; 400_000])];
    let scenario = Scenario { requests, ..Scenario::default() };
    let benign = Source::Tape(Tape::benign());
    for (variant, ends) in [("reference", "-> 'classified'"), ("row-first", "-> 'failed'")] {
        let run = search::play(uploads(), variant, &scenario, &benign).unwrap();
        assert!(run.trace.to_string().contains(ends), "{variant}: {}", run.trace);
    }
}
