//! Every run within bounds: all tapes with at most so many deviations from the benign one.
//!
//! A run with a given tape shows where more could deviate. Adding one deviation behind the last
//! leaves everything before it unchanged, so each set of deviations is visited exactly once and
//! every place that is planned is reached.

use std::sync::Arc;

use crate::choices::Draw;
use crate::choices::tape::Tape;
use crate::engine::run::Run;

/// Visits every tape with at most `max_deviations` deviations.
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
    /// From the benign run down to the one being varied.
    frames: Vec<Frame>,
    /// The tape that was handed out and not yet told of, with the place of its last deviation.
    pending: Option<(Tape, usize)>,
    visited: u64,
}

#[derive(Debug)]
struct Frame {
    tape: Tape,
    draws: Vec<Draw>,
    actors: Vec<Arc<str>>,
    at: usize,
    value: u32,
}

impl Enumerate {
    /// All tapes with at most `max_deviations` deviations, the benign one first.
    pub fn new(max_deviations: usize) -> Enumerate {
        let pending = Some((Tape::benign(), 0));
        Enumerate { max_deviations, frames: Vec::new(), pending, visited: 0 }
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
            let (draws, actors) = (run.draws.clone(), run.trace.actors().to_vec());
            self.frames.push(Frame { tape, draws, actors, at: from, value: 0 });
        }
    }

    /// How many runs there were.
    pub fn visited(&self) -> u64 {
        self.visited
    }

    /// The next tape: the deepest frame with one more deviation.
    fn vary(&mut self) -> Option<(Tape, usize)> {
        while let Some(frame) = self.frames.last_mut() {
            match frame.draws.get(frame.at) {
                None => drop(self.frames.pop()),
                Some(draw) if frame.value + 1 < draw.of => {
                    frame.value += 1;
                    let mut tape = frame.tape.clone();
                    tape.0.push(draw.deviation(&frame.actors, frame.value));
                    return Some((tape, frame.at + 1));
                }
                Some(_) => (frame.at, frame.value) = (frame.at + 1, 0),
            }
        }
        None
    }
}
