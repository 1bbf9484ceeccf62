//! Makes a failing case small: fewer requests, fewer deviations, milder and earlier ones.
//!
//! The shrinker never runs anything. It is asked for a candidate and told what came of it, so that
//! the command line and proptest's own shrinking loop drive the same code.

use crate::run::Run;
use crate::scenario::Scenario;
use crate::tape::Tape;

/// A scenario with the choices that decide it: everything needed to play a run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The plan.
    pub scenario: Scenario,
    /// The choices.
    pub tape: Tape,
}

impl Case {
    /// What is made smaller: requests first, then deviations, then how strong and late they are.
    fn size(&self) -> (usize, usize, u64, u64) {
        let strength = self.tape.0.iter().map(|deviation| u64::from(deviation.value)).sum();
        let lateness = self.tape.0.iter().map(|deviation| u64::from(deviation.nth)).sum();
        (self.scenario.sends.len(), self.tape.len(), strength, lateness)
    }
}

/// The search for a smaller case that still fails.
///
/// ```
/// use thunderhead_sim::{Case, Scenario, Shrinker, Tape};
///
/// let tape = Tape(vec!["crash web #3 = 1/2".parse().unwrap(), "crash web #9 = 1/2".parse().unwrap()]);
/// let mut shrinker = Shrinker::new(Case { scenario: Scenario::default(), tape });
/// while let Some(candidate) = shrinker.candidate() {
///     // Suppose that any crash at all is enough to fail.
///     let fails = !candidate.tape.is_empty();
///     shrinker.tell(fails.then_some(candidate.tape));
/// }
/// assert_eq!(shrinker.best().tape.0[0].to_string(), "crash web #1 = 1/2");
/// ```
#[derive(Clone, Debug)]
pub struct Shrinker {
    best: Case,
    pending: Option<Case>,
    pass: Pass,
    /// Where in the pass the next candidate is made.
    at: usize,
    /// How many deviations are removed at once, or how far one is lowered.
    step: usize,
    improved: bool,
    tried: u32,
}

/// A shrink that has not ended after so many runs has found what it will find.
const TRIES_MAX: u32 = 5_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    Sends,
    Deviations,
    Values,
    Turns,
    Done,
}

impl Shrinker {
    /// Begins with a case that fails.
    pub fn new(case: Case) -> Shrinker {
        let mut shrinker = Shrinker {
            best: case,
            pending: None,
            pass: Pass::Sends,
            at: 0,
            step: 1,
            improved: false,
            tried: 0,
        };
        shrinker.enter(Pass::Deviations);
        shrinker
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
        while self.pass != Pass::Done && self.tried < TRIES_MAX {
            let candidate = self.propose();
            if let Some(candidate) = candidate.filter(|case| case.size() < self.best.size()) {
                self.tried += 1;
                self.pending = Some(candidate.clone());
                return Some(candidate);
            }
            self.advance();
        }
        None
    }

    /// What came of the last candidate: the tape of its run if it still fails.
    pub fn tell(&mut self, failed: Option<Tape>) {
        let Some(candidate) = self.pending.take() else { return };
        let Some(tape) = failed else { return self.advance() };
        // What the run really consumed is often smaller: deviations it never reached are gone.
        let consumed = Case { scenario: candidate.scenario.clone(), tape };
        self.best = if consumed.size() < candidate.size() { consumed } else { candidate };
        self.improved = true;
        // The same place again: what moved up into it has not been tried there.
    }

    /// The candidate at the current place, or none when the place is past the end.
    fn propose(&self) -> Option<Case> {
        let mut case = self.best.clone();
        match self.pass {
            Pass::Sends => {
                (self.at < case.scenario.sends.len())
                    .then(|| case.scenario.sends.remove(self.at))?;
            }
            Pass::Deviations => {
                let end = (self.at + self.step).min(case.tape.len());
                (self.at < end).then(|| drop(case.tape.0.drain(self.at..end)))?;
            }
            Pass::Values => lower(&mut case.tape.0.get_mut(self.at)?.value, self.step)?,
            Pass::Turns => lower(&mut case.tape.0.get_mut(self.at)?.nth, self.step)?,
            Pass::Done => return None,
        }
        Some(case)
    }

    /// Moves to the next place, step or pass.
    fn advance(&mut self) {
        let places = match self.pass {
            Pass::Sends => self.best.scenario.sends.len(),
            _ => self.best.tape.len(),
        };
        match self.pass {
            Pass::Sends => self.at += 1,
            Pass::Deviations => self.at += self.step,
            // The same deviation in smaller steps, then the next one.
            Pass::Values | Pass::Turns if self.step > 1 => self.step /= 2,
            Pass::Values | Pass::Turns => (self.at, self.step) = (self.at + 1, FARTHEST),
            Pass::Done => return,
        }
        if self.at < places {
            return;
        }
        match self.pass {
            Pass::Deviations if self.step > 1 => (self.at, self.step) = (0, self.step / 2),
            Pass::Deviations => self.enter(Pass::Sends),
            Pass::Sends => self.enter(Pass::Values),
            Pass::Values => self.enter(Pass::Turns),
            Pass::Turns if self.improved => {
                self.improved = false;
                self.enter(Pass::Deviations);
            }
            Pass::Turns | Pass::Done => self.pass = Pass::Done,
        }
    }

    fn enter(&mut self, pass: Pass) {
        self.pass = pass;
        self.at = 0;
        self.step = match pass {
            Pass::Deviations => self.best.tape.len().div_ceil(2).max(1),
            Pass::Values | Pass::Turns => FARTHEST,
            Pass::Sends | Pass::Done => 1,
        };
    }
}

/// The first step by which a number is lowered; a power of two beyond which few sites go.
const FARTHEST: usize = 64;

/// Lowers `number`, which stays at least 1; none when this step would not change it.
fn lower(number: &mut u32, step: usize) -> Option<()> {
    let lowered = number.saturating_sub(step as u32).max(1);
    (lowered < *number).then(|| *number = lowered)
}

/// Shrinks a failing case with `run`, which plays a case and says whether it still fails.
pub fn shrink(case: Case, mut run: impl FnMut(&Case) -> Option<Run>) -> Shrinker {
    let mut shrinker = Shrinker::new(case);
    while let Some(candidate) = shrinker.candidate() {
        shrinker.tell(run(&candidate).map(|run| run.tape()));
    }
    shrinker
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Send, Time};

    fn case(sends: u64, lines: &[&str]) -> Case {
        let sends = (0..sends).map(|at| Send::new(Time::from_ms(at), "PUT", "/a", "")).collect();
        let tape = Tape(lines.iter().map(|line| line.parse().unwrap()).collect());
        Case { scenario: Scenario { sends, ..Scenario::default() }, tape }
    }

    fn minimal(start: Case, fails: impl Fn(&Case) -> bool) -> Case {
        let mut shrinker = Shrinker::new(start);
        while let Some(candidate) = shrinker.candidate() {
            shrinker.tell(fails(&candidate).then_some(candidate.tape));
        }
        shrinker.best().clone()
    }

    #[test]
    fn what_does_not_matter_goes_and_what_matters_gets_mild_and_early() {
        let noise: Vec<String> = (1..40).map(|n| format!("latency web>fetch #{n} = 5/6")).collect();
        let mut lines: Vec<&str> = noise.iter().map(String::as_str).collect();
        lines.insert(20, "verdict web>r2.put #7 = 4/8");
        let needs = |case: &Case| {
            case.scenario.sends.len() >= 2
                && case.tape.0.iter().any(|d| d.to_string().contains("r2.put") && d.value >= 3)
        };
        let small = minimal(case(5, &lines), needs);
        assert_eq!(small.scenario.sends.len(), 2);
        assert_eq!(small.tape.0.len(), 1);
        assert_eq!(small.tape.0[0].to_string(), "verdict web>r2.put #1 = 3/8");
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
