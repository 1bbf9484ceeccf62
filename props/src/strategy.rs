//! A proptest strategy whose value is a scenario and a tape, and whose shrinking is the engine's own.
//!
//! So `cargo test` has proptest's case counts, environment variables and regression files together
//! with shrinking that knows what a deviation is.

use std::cell::RefCell;
use std::rc::Rc;

use proptest::prelude::{ProptestConfig, Rng as _};
use proptest::strategy::{NewTree, Strategy as Generates, ValueTree};
use proptest::test_runner::TestRunner;
use thunderhead_sim::{Case, Run, Scenario, SetupError, Shrinker, Source, Tape};

use crate::promise::Violation;
use crate::search::{self, Sampling};
use crate::system::{System, Variant};

/// All storms over one variant of a system.
///
/// ```
/// use proptest::prelude::*;
/// use thunderhead_props::{System, storm};
///
/// fn the_reference_holds(system: &System) {
///     proptest!(|(storm in storm(system, system.reference()))| {
///         prop_assert_eq!(storm.violations(), vec![], "{}", storm);
///     });
/// }
/// ```
pub fn storm(system: &System, variant: &Variant) -> Storms {
    Storms(Rc::new((system.clone(), variant.clone())))
}

/// Proptest's settings with so many cases, unless `PROPTEST_CASES` asks for another number.
pub fn cases(cases: u32) -> ProptestConfig {
    let asked = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_some() {
        return asked;
    }
    ProptestConfig { cases, ..asked }
}

/// The strategy that [`storm`] returns.
#[derive(Clone, Debug)]
pub struct Storms(Rc<(System, Variant)>);

impl Generates for Storms {
    type Tree = StormTree;
    type Value = Storm;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Storms> {
        let seed = runner.rng().next_u64();
        let sampling = if seed.is_multiple_of(4) { Sampling::Pct } else { Sampling::Random };
        let (scenario, source) = search::of_seed(&self.0.0, seed, sampling, 3);
        Ok(StormTree { storms: self.clone(), drawn: self.with(scenario, source), shrinking: None })
    }
}

impl Storms {
    fn with(&self, scenario: Scenario, source: Source) -> Storm {
        let consumed = Rc::default();
        Storm { of: self.0.clone(), scenario, source, consumed }
    }

    fn case(&self, case: &Case) -> Storm {
        self.with(case.scenario.clone(), Source::Tape(case.tape.clone()))
    }
}

/// One storm: a scenario and the source of its choices.
#[derive(Clone)]
pub struct Storm {
    of: Rc<(System, Variant)>,
    scenario: Scenario,
    source: Source,
    /// The tape that the last run consumed and the steps that it took, for the shrinker.
    consumed: Rc<RefCell<Option<(Tape, u32)>>>,
}

impl Storm {
    /// The system that it is played on.
    pub fn system(&self) -> &System {
        &self.of.0
    }

    /// The variant that it is played on.
    pub fn variant(&self) -> &Variant {
        &self.of.1
    }

    /// Plays the storm and remembers its tape for the shrinker.
    pub fn run(&self) -> Result<Run, SetupError> {
        let run = search::play(&self.of.1, &self.scenario, &self.source)?;
        *self.consumed.borrow_mut() = Some((run.tape(), run.steps));
        Ok(run)
    }

    /// Plays the storm; the promises that the run broke.
    pub fn violations(&self) -> Vec<Violation> {
        match self.run() {
            Ok(run) => self.judge(&run),
            Err(misfit) => panic!("a generated workload does not fit its own system: {misfit}"),
        }
    }

    /// Judges its run: like any other of a search, and closely when it is being shrunk.
    pub fn judge(&self, run: &Run) -> Vec<Violation> {
        let (system, variant) = (&self.of.0, &self.of.1);
        match self.source {
            Source::Tape(_) => system.judge(variant, &self.scenario, run),
            _ => system.judge_drawn(variant, &self.scenario, run),
        }
    }

    /// The scenario and the tape; none before the storm has been played.
    pub fn case(&self) -> Option<Case> {
        let (tape, _) = self.consumed.borrow().clone()?;
        Some(Case { scenario: self.scenario.clone(), tape })
    }
}

impl std::fmt::Display for Storm {
    /// What went wrong, and when: the requests and the deviations.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{} {}", self.of.0.name, self.of.1.name)?;
        for send in &self.scenario.requests {
            writeln!(f, "  at {} {}", send.at, send.request)?;
        }
        let tape = match (&self.source, self.case()) {
            (_, Some(case)) => case.tape,
            (Source::Tape(tape), None) => tape.clone(),
            (Source::Random { seed, swarm } | Source::Pct { seed, swarm, .. }, None) => {
                return writeln!(f, "  seed {seed}: {swarm}");
            }
        };
        let mut lines = tape.in_words(self.scenario.drawn_faults).into_iter();
        lines.try_for_each(|line| writeln!(f, "  {line}"))
    }
}

impl std::fmt::Debug for Storm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// A storm that can become smaller.
pub struct StormTree {
    storms: Storms,
    drawn: Storm,
    shrinking: Option<Shrinking>,
}

struct Shrinking {
    shrinker: Shrinker,
    candidate: Storm,
}

impl Shrinking {
    /// Tells the shrinker whether the candidate, which was played unless it did not fit, still fails.
    fn tell(&mut self, fails: bool) {
        match self.candidate.consumed.borrow().clone() {
            Some((tape, steps)) => self.shrinker.tell(fails.then_some(tape), steps),
            None => self.shrinker.tell(None, 0),
        }
    }
}

impl ValueTree for StormTree {
    type Value = Storm;

    fn current(&self) -> Storm {
        match &self.shrinking {
            None => self.drawn.clone(),
            Some(shrinking) => shrinking.candidate.clone(),
        }
    }

    /// The current storm fails: try a smaller one.
    fn simplify(&mut self) -> bool {
        let shrinker = match self.shrinking.take() {
            Some(mut shrinking) => {
                shrinking.tell(true);
                shrinking.shrinker
            }
            None => match self.drawn.case() {
                Some(case) => Shrinker::new(case),
                None => return false,
            },
        };
        self.offer(shrinker)
    }

    /// The current storm does not fail: go back and try another way.
    fn complicate(&mut self) -> bool {
        match self.shrinking.take() {
            None => false,
            Some(mut shrinking) => {
                shrinking.tell(false);
                self.offer(shrinking.shrinker)
            }
        }
    }
}

impl StormTree {
    /// Makes the shrinker's next candidate the current storm, or its best when there is none.
    fn offer(&mut self, mut shrinker: Shrinker) -> bool {
        let candidate = shrinker.candidate();
        let more = candidate.is_some();
        let case = candidate.unwrap_or_else(|| shrinker.best().clone());
        self.shrinking = Some(Shrinking { shrinker, candidate: self.storms.case(&case) });
        more
    }
}

impl std::fmt::Debug for StormTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.current().fmt(f)
    }
}
