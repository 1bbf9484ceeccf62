//! Makes a failing case small: fewer requests, fewer deviations, milder and earlier ones, and requests that say less.
//!
//! The shrinker never runs anything. It is asked for a candidate and told what came of it, so that
//! the command line and proptest's own shrinking loop drive the same code.

mod contents;

use std::cmp::Ordering;
use std::collections::VecDeque;

use crate::choices::tape::{Deviation, Tape};
use crate::engine::run::Run;
use crate::scenario::{ClientRequest, Scenario, answers};
use crate::values::hash::StableHasher;
use crate::values::sorted_set::SortedSet;
use crate::values::time::Time;
use contents::Simpler;

/// A scenario with the choices that decide it: everything needed to play a run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The plan.
    pub scenario: Scenario,
    /// The choices.
    pub tape: Tape,
}

impl Case {
    /// What is made smaller: requests first, then deviations, then how strong and late they are,
    /// then how long the requests take to come.
    fn size(&self) -> (usize, usize, u64, u64, u64) {
        let strength = self.tape.0.iter().map(|deviation| u64::from(deviation.value)).sum();
        let lateness = self.tape.0.iter().map(|deviation| u64::from(deviation.nth)).sum();
        let waiting = self.scenario.requests.iter().map(|send| send.at.as_ms()).sum();
        (self.scenario.requests.len(), self.tape.len(), strength, lateness, waiting)
    }

    /// A hash of what an edit may change.
    fn hash(&self) -> u64 {
        StableHasher::of(&(&self.scenario.requests, &self.tape))
    }

    /// Whether it is smaller than another, or as small with requests that say less.
    fn is_smaller(&self, other: &Case) -> bool {
        match self.size().cmp(&other.size()) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => {
                contents::size(&self.scenario.requests) < contents::size(&other.scenario.requests)
            }
        }
    }
}

/// The search for a smaller case that still fails.
///
/// ```
/// use thunderhead_sim::{Case, Scenario, Shrinker, Tape};
///
/// let lines = ["crash web #3 = 1/2", "crash web #9 = 1/2"];
/// let tape = Tape(lines.iter().map(|line| line.parse().unwrap()).collect());
/// let mut shrinker = Shrinker::new(Case { scenario: Scenario::default(), tape });
/// while let Some(candidate) = shrinker.candidate() {
///     // Suppose that any crash at all is enough to fail.
///     let fails = !candidate.tape.is_empty();
///     shrinker.tell(fails.then_some(candidate.tape), 1);
/// }
/// assert_eq!(shrinker.best().tape.0[0].to_string(), "crash web #1 = 1/2");
/// ```
#[derive(Clone, Debug)]
pub struct Shrinker {
    best: Case,
    pending: Option<(Edit, Case)>,
    pass: usize,
    edits: VecDeque<Edit>,
    improved: bool,
    tried: u32,
    steps: u64,
    /// The hashes of what was tried. Two edits may come to the same case, and a round repeats those that were in vain.
    known: SortedSet<u64>,
}

/// A shrink that has not ended after so many runs has found what it will find.
const TRIES_MAX: u32 = 5_000;
/// Nobody waits for longer than the seconds that so many steps take. Runs of days have a hundred thousand steps each.
const STEPS_MAX: u64 = 20_000_000;
/// Turns are rearranged only when few deviations are left.
const FEW: usize = 6;
/// How many earlier turns of a deviation are tried, from the first on.
const TURNS: u32 = 40;

/// One way to make a case smaller.
#[derive(Clone, Debug)]
enum Edit {
    /// Leaves out `size` deviations from `at` on.
    Cut {
        at: usize,
        size: usize,
    },
    /// Leaves out a request.
    Unsend {
        send: usize,
    },
    /// Leaves out a request and moves one deviation to an earlier turn: what came before it at its
    /// site may have been that request's doing.
    UnsendAndMove {
        send: usize,
        deviation: usize,
        nth: u32,
    },
    /// Leaves out a request and moves every deviation forward.
    UnsendAndShift {
        send: usize,
        by: u32,
    },
    Weaken {
        deviation: usize,
        value: u32,
    },
    Move {
        deviation: usize,
        nth: u32,
    },
    /// Closes the gap before a request.
    Hurry {
        send: usize,
    },
    /// Makes what the requests say simpler.
    Say(Simpler),
}

/// The passes over a case, repeated until none helps.
const PASSES: [fn(&Case) -> VecDeque<Edit>; 7] = [
    |case| cuts(case, case.tape.len().div_ceil(2), 0),
    |case| (0..case.scenario.requests.len()).map(|send| Edit::Unsend { send }).collect(),
    unsends,
    |case| per_deviation(case, |d| d.value, |deviation, value| Edit::Weaken { deviation, value }),
    |case| per_deviation(case, |d| d.nth, |deviation, nth| Edit::Move { deviation, nth }),
    |case| (0..case.scenario.requests.len()).map(|send| Edit::Hurry { send }).collect(),
    |case| contents::edits(case).into_iter().map(Edit::Say).collect(),
];

/// Leaves out a request, and those that use its answer.
fn unsend(requests: &mut Vec<ClientRequest>, send: usize) {
    let Some(name) = requests.remove(send).name else { return };
    while let Some(user) = requests
        .iter()
        .position(|sent| answers::names(&sent.request).iter().any(|used| **used == *name))
    {
        unsend(requests, user);
    }
}

/// Cuts of `size` from `from` on, then of half that size over the whole tape, and so on.
fn cuts(case: &Case, size: usize, from: usize) -> VecDeque<Edit> {
    let sizes = std::iter::successors(Some(size), |size| Some(size / 2)).take_while(|s| *s > 0);
    let mut from = Some(from);
    let places = sizes.flat_map(|size| {
        let start = from.take().unwrap_or(0);
        (start..case.tape.len()).step_by(size).map(move |at| Edit::Cut { at, size })
    });
    places.collect()
}

fn unsends(case: &Case) -> VecDeque<Edit> {
    let (requests, tape) = (case.scenario.requests.len(), &case.tape.0);
    if tape.len() > FEW {
        return VecDeque::new();
    }
    let moves = (0..requests).flat_map(|send| {
        let turns = tape.iter().enumerate().flat_map(move |(deviation, line)| {
            let earlier = 1..line.nth.min(TURNS);
            earlier.map(move |nth| Edit::UnsendAndMove { send, deviation, nth })
        });
        turns.chain((1..=TURNS / 4).map(move |by| Edit::UnsendAndShift { send, by }))
    });
    moves.collect()
}

/// For each deviation the smaller values of one of its numbers, smallest first.
fn per_deviation(
    case: &Case,
    number: fn(&Deviation) -> u32,
    edit: fn(usize, u32) -> Edit,
) -> VecDeque<Edit> {
    let lines = case.tape.0.iter().enumerate();
    let smaller = |(at, line)| (1..number(line).min(TURNS)).map(move |value| edit(at, value));
    lines.flat_map(smaller).collect()
}

impl Edit {
    fn apply(&self, case: &mut Case) {
        let (requests, tape) = (&mut case.scenario.requests, &mut case.tape.0);
        match *self {
            Edit::Cut { at, size } => drop(tape.drain(at..(at + size).min(tape.len()))),
            Edit::Unsend { send } => unsend(requests, send),
            Edit::UnsendAndMove { send, deviation, nth } => {
                unsend(requests, send);
                tape[deviation].nth = nth;
            }
            Edit::UnsendAndShift { send, by } => {
                unsend(requests, send);
                tape.iter_mut().for_each(|line| line.nth = line.nth.saturating_sub(by).max(1));
            }
            Edit::Weaken { deviation, value } => tape[deviation].value = value,
            Edit::Move { deviation, nth } => tape[deviation].nth = nth,
            Edit::Hurry { send } => {
                let before = send.checked_sub(1).map_or(Time::ZERO, |before| requests[before].at);
                let gap = requests[send].at - before;
                // Sends need not be in order of time: one that is earlier than the gap is long
                // stops at zero.
                for later in &mut requests[send..] {
                    later.at = Time::ZERO + (later.at - (Time::ZERO + gap));
                }
            }
            Edit::Say(ref simpler) => simpler.apply(case),
        }
    }
}

impl Shrinker {
    /// Begins with a case that fails.
    pub fn new(case: Case) -> Shrinker {
        let edits = PASSES[0](&case);
        Shrinker {
            best: case,
            pending: None,
            pass: 0,
            edits,
            improved: false,
            tried: 0,
            steps: 0,
            known: SortedSet::new(),
        }
    }

    /// The smallest failing case so far.
    pub fn best(&self) -> &Case {
        &self.best
    }

    /// How many candidates were tried.
    pub fn tried(&self) -> u32 {
        self.tried
    }

    /// A smaller case to try; none when no smaller one is left.
    pub fn candidate(&mut self) -> Option<Case> {
        while self.tried < TRIES_MAX && self.steps < STEPS_MAX {
            let Some(edit) = self.edits.pop_front() else {
                if !self.next_pass() {
                    return None;
                }
                continue;
            };
            let mut case = self.best.clone();
            edit.apply(&mut case);
            if case.is_smaller(&self.best) && self.known.insert(case.hash()) {
                self.tried += 1;
                self.pending = Some((edit, case.clone()));
                return Some(case);
            }
        }
        None
    }

    /// What came of the last candidate: the tape of its run if it still fails, and how many steps the run took.
    pub fn tell(&mut self, failed: Option<Tape>, steps: u32) {
        self.steps += u64::from(steps);
        let Some((edit, candidate)) = self.pending.take() else { return };
        let Some(tape) = failed else { return };
        // What the run really consumed is often smaller: deviations it never reached are gone.
        let consumed = Case { scenario: candidate.scenario.clone(), tape };
        self.best = if consumed.size() < candidate.size() { consumed } else { candidate };
        self.improved = true;
        self.edits = match edit {
            // The same place again: what moved up into it has not been tried there.
            Edit::Cut { at, size } => cuts(&self.best, size, at),
            // The other edits still mean the same, and the next round tries them again. Those of a body are made of it.
            Edit::Say(simpler) if !matches!(simpler, Simpler::Body { .. }) => return,
            _ => PASSES[self.pass](&self.best),
        };
    }

    /// Goes on to the next pass, or round again if this round helped.
    fn next_pass(&mut self) -> bool {
        self.pass += 1;
        if self.pass == PASSES.len() {
            self.pass = 0;
            if !std::mem::take(&mut self.improved) {
                return false;
            }
        }
        self.edits = PASSES[self.pass](&self.best);
        true
    }
}

/// Shrinks a failing case with `run`, which plays a case, unless it cannot be played, and says whether it still fails.
pub fn shrink(case: Case, mut run: impl FnMut(&Case) -> Option<(Run, bool)>) -> Shrinker {
    let mut shrinker = Shrinker::new(case);
    while let Some(candidate) = shrinker.candidate() {
        match run(&candidate) {
            Some((run, fails)) => shrinker.tell(fails.then(|| run.tape()), run.steps),
            None => shrinker.tell(None, 0),
        }
    }
    shrinker
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(requests: u64, lines: &[&str]) -> Case {
        let requests = (0..requests)
            .map(|at| ClientRequest::new(Time::from_ms(at), "PUT", "/a", ""))
            .collect();
        let tape = Tape(lines.iter().map(|line| line.parse().unwrap()).collect());
        Case { scenario: Scenario { requests, ..Scenario::default() }, tape }
    }

    fn minimal(start: Case, fails: impl Fn(&Case) -> bool) -> Case {
        let mut shrinker = Shrinker::new(start);
        while let Some(candidate) = shrinker.candidate() {
            shrinker.tell(fails(&candidate).then_some(candidate.tape), 1);
        }
        shrinker.best().clone()
    }

    #[test]
    fn who_uses_an_answer_is_left_out_with_the_request_that_it_is_to() {
        let at = |path: &str| ClientRequest::new(Time::ZERO, "PUT", path, "");
        let chain =
            [at("/").named("a"), at("/{{a.response.body}}").named("b"), at("/{{b.response.body}}")];
        let mut requests = [&chain[..], &[at("/c")]].concat();
        unsend(&mut requests, 0);
        assert_eq!(requests, [at("/c")]);
    }

    #[test]
    fn no_case_is_tried_twice() {
        let mut shrinker = Shrinker::new(case(3, &["crash web #2 = 1/3", "crash web #3 = 2/3"]));
        let mut tried: Vec<Case> = Vec::new();
        while let Some(candidate) = shrinker.candidate() {
            assert!(!tried.contains(&candidate), "{candidate:?}");
            tried.push(candidate.clone());
            let fails = candidate.scenario.requests.len() == 3 && candidate.tape.len() == 2;
            shrinker.tell(fails.then_some(candidate.tape), 1);
        }
        assert!(shrinker.best().tape.0.iter().all(|line| (line.value, line.nth) == (1, 1)));
    }

    #[test]
    fn long_runs_are_tried_less_often() {
        let lines: Vec<String> = (1..=400).map(|n| format!("crash h{n} #1 = 1/2")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let tried = |steps| {
            let mut shrinker = Shrinker::new(case(0, &lines));
            while shrinker.candidate().is_some() {
                shrinker.tell(None, steps);
            }
            shrinker.tried()
        };
        assert_eq!(tried(200_000), 100);
        assert!(tried(200) > 400);
    }

    #[test]
    fn what_does_not_matter_goes_and_what_matters_gets_mild_and_early() {
        let noise: Vec<String> = (1..40).map(|n| format!("latency web>fetch #{n} = 5/6")).collect();
        let mut lines: Vec<&str> = noise.iter().map(String::as_str).collect();
        lines.insert(20, "verdict web>r2.put #7 = 4/8");
        let needs = |case: &Case| {
            case.scenario.requests.len() >= 2
                && case.tape.0.iter().any(|d| d.to_string().contains("r2.put") && d.value >= 3)
        };
        let small = minimal(case(5, &lines), needs);
        assert_eq!(small.scenario.requests.len(), 2);
        assert_eq!(small.tape.0.len(), 1);
        assert_eq!(small.tape.0[0].to_string(), "verdict web>r2.put #1 = 3/8");
    }

    #[test]
    fn a_deviation_moves_forward_with_the_requests_that_were_before_it() {
        // The third put of the run is lost, and it is the last request that matters.
        let start = case(3, &["verdict web>r2.put #3 = 1/2"]);
        let fails = |case: &Case| {
            case.tape.0.first().map(|d| d.nth as usize) == Some(case.scenario.requests.len())
        };
        let small = minimal(start, fails);
        assert_eq!(small.scenario.requests.len(), 1);
        assert_eq!(small.tape.0[0].nth, 1);
    }

    #[test]
    fn requests_that_are_not_in_order_of_time_are_hurried_too() {
        let mut start = case(3, &[]);
        start.scenario.requests[1].at = Time::from_ms(9_000);
        start.scenario.requests[2].at = Time::from_ms(10);
        let small = minimal(start, |case| case.scenario.requests.len() == 3);
        assert!(small.scenario.requests.iter().all(|send| send.at == Time::ZERO));
    }

    #[test]
    fn a_case_that_cannot_be_smaller_stays() {
        let start = case(1, &["crash web #2 = 1/2", "crash web #3 = 1/2"]);
        assert_eq!(minimal(start.clone(), |case| *case == start), start);
    }

    #[test]
    fn two_deviations_that_need_each_other_are_kept() {
        let lines: Vec<String> = (1..=16).map(|n| format!("crash h{n} #1 = 1/2")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let has = |case: &Case, host: &str| case.tape.0.iter().any(|d| &*d.site.host == host);
        let small = minimal(case(0, &lines), |case| has(case, "h3") && has(case, "h14"));
        assert_eq!(small.tape.len(), 2);
    }
}
