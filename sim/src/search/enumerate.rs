//! Every run within bounds: all tapes with at most so many deviations from the benign one.
//!
//! A run with a given tape shows where more could deviate. Adding one deviation behind the last
//! leaves everything before it unchanged, so each set of deviations is visited exactly once and
//! every place that is planned is reached. A reduced enumeration leaves out sets that show nothing new.

use std::vec::IntoIter;

use crate::choices::tape::{Deviation, Tape};
use crate::engine::run::Run;
use crate::scenario::Scenario;
use crate::search::reduce::{Choice, Reduction};

/// Visits every tape with at most `max_deviations` deviations, or of like ones only the first.
///
/// ```
/// use thunderhead_sim::*;
///
/// let scenario = Scenario {
///     requests: vec![ClientRequest::new(Time::ZERO, "GET", "/", "")],
///     drawn_faults: FaultSet::crashes(),
///     timing: Timing::Order,
///     ..Scenario::default()
/// };
/// let mut tapes = Enumerate::new(1);
/// while let Some(tape) = tapes.next_tape() {
///     let run = simulate(&scenario, &Source::Tape(tape), &|cloud| {
///         cloud.worker("web").fetch(|_env, _request| async { Ok(Response::new(200, "")) });
///     })
///     .unwrap();
///     tapes.tell(&run);
/// }
/// // Nothing, a crash before the handler, after it, and after its only poll.
/// assert_eq!(tapes.visited(), 4);
/// ```
#[derive(Debug)]
pub struct Enumerate {
    max_deviations: usize,
    reduction: Option<Reduction>,
    /// From the benign run down to the one being varied.
    frames: Vec<Frame>,
    /// The tape that was handed out and not yet told of, with the place behind its last deviation.
    pending: Option<(Tape, usize)>,
    visited: u64,
}

/// A run that is being varied.
#[derive(Debug)]
struct Frame {
    tape: Tape,
    /// The deviations that are still to be added, each with the place behind it.
    left: IntoIter<(Deviation, usize)>,
}

impl Enumerate {
    /// All tapes with at most `max_deviations` deviations, the benign one first.
    pub fn new(max_deviations: usize) -> Enumerate {
        let pending = Some((Tape::benign(), 0));
        Enumerate { max_deviations, reduction: None, frames: Vec::new(), pending, visited: 0 }
    }

    /// Tapes with at most `max_deviations` deviations, without those whose runs of `scenario` most likely show nothing
    /// that others do not show. `search/reduce.rs` says which these are, why, and what it misses.
    pub fn reduced(max_deviations: usize, scenario: &Scenario) -> Enumerate {
        let reduction = Some(Reduction::new(scenario));
        Enumerate { reduction, ..Enumerate::new(max_deviations) }
    }

    /// The next tape to play; none when all have been.
    pub fn next_tape(&mut self) -> Option<Tape> {
        if self.pending.is_none() {
            self.pending = self.vary();
        }
        self.pending.as_ref().map(|(tape, _)| tape.clone())
    }

    /// The run that the last tape gave.
    pub fn tell(&mut self, run: &Run) {
        let Some((tape, from)) = self.pending.take() else { return };
        self.visited += 1;
        if tape.len() < self.max_deviations {
            let choices = match &mut self.reduction {
                Some(reduction) => reduction.choices(run, tape.len(), from),
                None => every(run, from),
            };
            let hosts = run.trace.actors();
            let deviation = |(at, value): Choice| (run.draws[at].deviation(hosts, value), at + 1);
            let left: Vec<_> = choices.into_iter().map(deviation).collect();
            self.frames.push(Frame { tape, left: left.into_iter() });
        }
    }

    /// How many runs there were.
    pub fn visited(&self) -> u64 {
        self.visited
    }

    /// The next tape: the deepest frame with one more deviation.
    fn vary(&mut self) -> Option<(Tape, usize)> {
        while let Some(frame) = self.frames.last_mut() {
            if let Some((deviation, from)) = frame.left.next() {
                let mut tape = frame.tape.clone();
                tape.0.push(deviation);
                return Some((tape, from));
            }
            self.frames.pop();
        }
        None
    }
}

/// Every deviation behind draw `from`.
fn every(run: &Run, from: usize) -> Vec<Choice> {
    let draws = run.draws.iter().enumerate().skip(from);
    draws.flat_map(|(at, draw)| (1..draw.of).map(move |value| (at, value))).collect()
}
