//! One benign run on a small cloud, with the faults that a test asks for.

use std::time::Duration;

use thunderhead_sim::*;

/// Plays `mount` with these rules; the storm lasts long enough for every retry.
pub fn raise(rules: Vec<Rule>, mount: &dyn Fn(&mut Cloud)) -> Run {
    raise_on(Tape::benign(), rules, mount)
}

/// The same, with choices that no rule names, such as in which turn an object loses its writes.
pub fn raise_on(tape: Tape, rules: Vec<Rule>, mount: &dyn Fn(&mut Cloud)) -> Run {
    let faults = FaultSet::crashes().iter().chain([Fault::Fail]).collect();
    let storm = Duration::from_secs(7_200);
    let scenario = Scenario { rules, faults, storm, ..Scenario::default() };
    let run = simulate(&scenario, &Source::Tape(tape), mount).expect("the scenario fits");
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    run
}

/// What the application said, in order.
pub fn log(run: &Run) -> Vec<String> {
    let said = run.trace.events().iter().filter_map(|event| match &event.what {
        What::Log { text } => Some(text.to_string()),
        _ => None,
    });
    said.collect()
}
