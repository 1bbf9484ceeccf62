//! One benign run on a small cloud, with the faults that a test asks for.

use thunderhead_sim::*;

/// Plays `mount` with these rules; the storm lasts long enough for every retry.
pub fn raise(rules: Vec<ScriptedFault>, mount: &dyn Fn(&mut Cloud)) -> Run {
    raise_on(Tape::benign(), rules, mount)
}

/// Like [`raise`], with choices that no rule names, such as in which turn an object loses its writes.
pub fn raise_on(tape: Tape, rules: Vec<ScriptedFault>, mount: &dyn Fn(&mut Cloud)) -> Run {
    let faults = FaultSet::crashes().iter().chain([Fault::Fail]).collect();
    let storm_ends_at = Time::from_ms(7_200_000);
    let scenario =
        Scenario { faults: rules, drawn_faults: faults, storm_ends_at, ..Scenario::default() };
    let run = simulate(&scenario, &Source::Tape(tape), mount).expect("the scenario fits");
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    run
}

/// What the application said, in order.
pub fn log(run: &Run) -> Vec<String> {
    let said = run.trace.events().iter().filter_map(|event| match &event.kind {
        EventKind::Log { text } => Some(text.to_string()),
        _ => None,
    });
    said.collect()
}
