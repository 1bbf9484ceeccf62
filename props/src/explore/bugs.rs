//! One bug is told once: promises that one small run breaks together are broken by one mistake, as far as anybody can
//! tell before it is mended.

use super::Broken;

/// A broken promise, and those that its run breaks as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bug {
    /// The place in the list of the promise that is told: the one with the plainest failure.
    pub told: usize,
    /// The places of the others, in their order.
    pub others: Vec<usize>,
}

/// The broken promises, each in one group, the plainest failure first.
pub fn bugs(broken: &[&Broken]) -> Vec<Bug> {
    let mut left: Vec<usize> = (0..broken.len()).collect();
    left.sort_by_key(|at| plainness(broken[*at]));
    let mut bugs = Vec::new();
    while !left.is_empty() {
        let told = left.remove(0);
        let with = |at: &usize| broken[told].also.contains(&broken[*at].violation.promise);
        let (mut others, rest): (Vec<usize>, Vec<usize>) = left.into_iter().partition(with);
        others.sort_unstable();
        left = rest;
        bugs.push(Bug { told, others });
    }
    bugs
}

/// Fewer requests and deviations are plainer; so is an event that can be pointed at, and then a shorter run.
fn plainness(broken: &Broken) -> (usize, usize, bool, usize) {
    let (requests, deviations) = (broken.case.scenario.requests.len(), broken.case.tape.len());
    let nothing_to_see = broken.violation.finding.event.is_none();
    (requests, deviations, nothing_to_see, broken.run.trace.events().len())
}
