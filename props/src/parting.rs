//! Where a failing run parts from the nearest run that holds: the same run without one of its faults.

use thunderhead_sim::{Case, Run, Source};

use crate::promise::{Check, judge};
use crate::search;
use crate::system::{System, Variant};

/// So many of the last deviations are left out, one at a time; a run that was made small has fewer.
const TRIED_MAX: usize = 8;

/// A run that keeps the promise, and how it differs from one that does not.
#[derive(Clone, Debug)]
pub struct Parting {
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
    Holds(Box<Parting>),
}

/// The nearest run to the one of `case`, which breaks the promise `violated`, that keeps it.
pub fn nearest(
    system: &System,
    variant: &Variant,
    case: &Case,
    run: &Run,
    violated: &str,
) -> Nearest {
    let all = without_one(case);
    if all.is_empty() {
        return Nearest::NoFault;
    }
    let tried = all.into_iter().rev().take(TRIED_MAX);
    let partings = tried.filter_map(|(without, case)| {
        let source = Source::Tape(case.tape.clone());
        let other = search::play(variant, &case.scenario, &source).ok()?;
        let events = run.trace.parting(&other.trace)?;
        keeps(system, variant, &case, &other, violated).then_some(Parting {
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

/// The case without one of the faults of its script, one of its kills, or one line of its tape; each with what is
/// left out, in words.
fn without_one(case: &Case) -> Vec<(String, Case)> {
    let scripted = case.scenario.faults_in_words();
    let faults = case.scenario.faults.len();
    let mut cases = Vec::new();
    for (at, said) in scripted.into_iter().enumerate() {
        let mut less = case.clone();
        match at < faults {
            true => drop(less.scenario.faults.remove(at)),
            false => drop(less.scenario.kills.remove(at - faults)),
        }
        cases.push((said, less));
    }
    let taped = case.tape.in_words(case.scenario.drawn_faults);
    for (at, said) in taped.into_iter().enumerate() {
        let mut less = case.clone();
        less.tape.0.remove(at);
        cases.push((said, less));
    }
    cases
}
