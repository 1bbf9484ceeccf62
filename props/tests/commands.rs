//! Commands under every kind of search: the reference holds, every alternative of the plan is refuted in the
//! ways it is known to fail and in no other, and what the searches prove is not vacuous.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod campaign;

use proptest::prelude::*;
use thunderhead::systems;
use thunderhead_props::{System, cases, storm};

fn commands() -> &'static System {
    systems::find("commands").expect("the commands are registered")
}

// Two halves, so that two cores share them.
proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn the_reference_keeps_every_promise_in_every_storm(
        storm in storm(commands(), "reference"),
    ) {
        prop_assert_eq!(storm.violations(), vec![], "{}", storm);
    }

    #[test]
    fn the_reference_keeps_every_promise_in_as_many_storms_again(
        storm in storm(commands(), "reference"),
    ) {
        prop_assert_eq!(storm.violations(), vec![], "{}", storm);
    }
}

#[test]
fn a_campaign_meets_everything_that_sometimes_happens() {
    campaign::meets_everything(commands(), 1_000);
}

#[test]
fn scratch() {
    use thunderhead_props::hunt::{self, Strategy};
    use std::collections::BTreeMap;
    let system = commands();
    let n: u64 = std::env::var("N").ok().and_then(|t| t.parse().ok()).unwrap_or(2000);
    if std::env::var("BENIGN").is_ok() {
        let scenario = thunderhead_sim::Scenario { sends: (system.smallest)(), ..Default::default() };
        let run = hunt::play(system, "reference", &scenario, &thunderhead_sim::Source::Tape(thunderhead_sim::Tape::benign())).unwrap();
        println!("{}\n{:?} draws {}", run.trace, run.end, run.draws.len());
    }
    for variant in system.variants {
        if let Ok(v) = std::env::var("V") { if v != variant.name { continue; } }
        let mut broken: BTreeMap<&str, (u64, u64, String)> = BTreeMap::new();
        let start = std::time::Instant::now();
        let mut steps = 0u64;
        for seed in 0..n {
            let strategy = if seed % 4 == 0 { Strategy::Pct } else { Strategy::Random };
            let (scenario, source) = hunt::of_seed(system, seed, strategy, 3);
            let (run, v) = hunt::check(system, variant.name, &scenario, &source).unwrap();
            steps += u64::from(run.steps);
            for v in v {
                let e = broken.entry(v.invariant).or_insert((0, seed, v.finding.message.clone()));
                e.0 += 1;
            }
        }
        println!("{} {:?} steps/run {}", variant.name, start.elapsed(), steps / n);
        for (k, v) in broken { println!("   {k}: {v:?}"); }
    }
}
