//! Where a failing run parts from the nearest run that holds: the same run without one of its faults.

use thunderhead_sim::{Case, Run, Source};

use crate::promise::{Check, judge};
use crate::search;
use crate::system::{System, Variant};

/// So many of the last deviations are left out, one at a time; a run that was made small has fewer.
const TRIED_MAX: usize = 8;

/// A run that keeps the promise, and how it differs from one that does not.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// What the failing run has and this one has not, in words.
    pub without: String,
    /// The indices of the first events that differ, faults apart: in the failing run and in this one.
    pub events: (usize, usize),
    /// The run that keeps the promise.
    pub run: Run,
}

/// What came of leaving out the faults of a failing run, one at a time.
#[derive(Clone, Debug)]
pub enum Nearest {
    /// There was none to leave out: these requests break the promise by themselves.
    NoFault,
    /// Every one of these runs breaks the promise too.
    NoneHolds,
    /// The run that holds and is like the failing one for longest.
    Holds(Box<Divergence>),
}

/// The nearest run to the one of `case`, which breaks the promise `violated`, that keeps it.
pub fn nearest(
    system: &System,
    variant: &Variant,
    case: &Case,
    run: &Run,
    violated: &str,
) -> Nearest {
    let mut all = without_one(case).peekable();
    if all.peek().is_none() {
        return Nearest::NoFault;
    }
    let partings = all.take(TRIED_MAX).filter_map(|(without, case)| {
        let source = Source::Tape(case.tape.clone());
        let other = search::play(variant, &case.scenario, &source).ok()?;
        let events = run.trace.parting(&other.trace)?;
        keeps(system, variant, &case, &other, violated).then_some(Divergence {
            without,
            events,
            run: other,
        })
    });
    match partings.max_by_key(|parting| parting.events) {
        None => Nearest::NoneHolds,
        Some(parting) => Nearest::Holds(Box::new(parting)),
    }
}

fn keeps(system: &System, variant: &Variant, case: &Case, run: &Run, violated: &str) -> bool {
    let Some(promise) = system.promise(violated) else { return false };
    let violations = match promise.check {
        Check::Converges => system.judge(variant, &case.scenario, run),
        _ => judge([promise].into_iter(), run),
    };
    violations.iter().all(|violation| violation.promise != violated)
}

/// The case without one line of its tape, one of its kills, or one of the faults of its script, the last one first;
/// each with what is left out, in words. They are made one at a time: a tape of days has tens of thousands of lines.
fn without_one(case: &Case) -> impl Iterator<Item = (String, Case)> {
    let scripted = case.scenario.faults_in_words();
    let (faults, before) = (case.scenario.faults.len(), scripted.len());
    let taped = case.tape.in_words(case.scenario.drawn_faults);
    let all = scripted.into_iter().chain(taped).collect::<Vec<_>>().into_iter().enumerate();
    all.rev().map(move |(at, said)| {
        let mut less = case.clone();
        match at {
            at if at < faults => drop(less.scenario.faults.remove(at)),
            at if at < before => drop(less.scenario.kills.remove(at - faults)),
            at => drop(less.tape.0.remove(at - before)),
        }
        (said, less)
    })
}

#[cfg(test)]
mod tests {
    use thunderhead_sim::{Deviation, Scenario, Tape};

    use super::*;

    #[test]
    fn a_long_tape_is_not_copied_for_every_one_of_its_lines() {
        let line = |nth: u32| -> Deviation {
            format!("order web>r2.put #{nth} = 1/2").parse().expect("it is a choice")
        };
        // So many copies of so many lines are more than a machine holds.
        let tape = Tape((1..=200_000).map(line).collect());
        let case = Case { scenario: Scenario::default(), tape };
        let left_out = |less: &Case| {
            let first = (1..).zip(&less.tape.0).find(|(nth, kept)| kept.nth != *nth);
            first.map_or(200_000, |(nth, _)| nth)
        };
        let last: Vec<u32> = without_one(&case).take(2).map(|(_, less)| left_out(&less)).collect();
        assert_eq!(last, [200_000, 199_999]);
    }
}
