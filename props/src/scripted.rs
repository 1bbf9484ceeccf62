//! A failure as a script without a tape: the same requests, and faults that are asked for by name.

use thunderhead_sim::{
    Case, Deviation, EventKind, Filter, Piece, Place, Run, Scenario, ScriptedFault, Source, Tape,
    Trace, places, scripted,
};

use crate::promise::{Check, judge};
use crate::search;
use crate::system::{System, Variant};

/// How many runs are played to find faults that stand for what has none of its own.
const TRIES_MAX: usize = 2_000;
/// Nobody waits for longer than the seconds that so many steps take.
const STEPS_MAX: u64 = 10_000_000;
/// A target that is longer than this is no help to a reader.
const TARGET_MAX: usize = 60;

/// Why a failure cannot be told as a script without a tape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unscripted {
    /// The deviations that no fault of a script stands for, in words. All of them have one when this is empty, and
    /// yet the script keeps the promise.
    pub without: Vec<String>,
}

/// A scenario whose faults alone, with everything else going well, break the promise that the run of `case` breaks.
pub fn told(
    system: &System,
    variant: &Variant,
    case: &Case,
    violated: &str,
) -> Result<Scenario, Unscripted> {
    let mut trial = Trial { system, variant, violated, tries: 0, steps: 0 };
    let source = Source::Tape(case.tape.clone());
    let run = search::play(variant, &case.scenario, &source);
    let run = run.map_err(|_| Unscripted { without: Vec::new() })?;
    let places = places(&case.scenario, &run);
    let found = trial.first(case, &run, &places);
    let scenario = found.ok_or_else(|| Unscripted { without: open(case, &places) })?;
    Ok(trial.plainer(scenario))
}

/// The deviations for which there is nothing but guesses.
fn open(case: &Case, places: &[Place]) -> Vec<String> {
    let open = places.iter().filter(|place| place.options.len() != 1);
    let lines: Vec<Deviation> = open.map(|place| place.deviation.clone()).collect();
    Tape(lines).in_words(case.scenario.drawn_faults)
}

/// The plays of scenarios that might break the promise.
struct Trial<'a> {
    system: &'a System,
    variant: &'a Variant,
    violated: &'a str,
    tries: usize,
    steps: u64,
}

impl Trial<'_> {
    /// The run of a scenario in which all else goes well, if it breaks the promise.
    fn breaks(&mut self, scenario: &Scenario) -> Option<Run> {
        self.tries += 1;
        let source = Source::Tape(Tape::benign());
        let run = search::play(self.variant, scenario, &source).ok()?;
        self.steps += u64::from(run.steps);
        let promise = self.system.promise(self.violated)?;
        let violations = match promise.check {
            Check::Converges => self.system.judge(self.variant, scenario, &run),
            _ => judge([promise].into_iter(), &run),
        };
        violations.iter().any(|violation| violation.promise == self.violated).then_some(run)
    }

    fn may_go_on(&self) -> bool {
        self.tries < TRIES_MAX && self.steps < STEPS_MAX
    }

    /// The first choice of one option for each place that breaks the promise.
    fn first(&mut self, case: &Case, run: &Run, places: &[Place]) -> Option<Scenario> {
        if places.iter().any(|place| place.options.is_empty()) {
            return None;
        }
        let mut chosen = vec![0; places.len()];
        while self.may_go_on() {
            let pieces: Vec<&Piece> =
                places.iter().zip(&chosen).map(|(place, at)| &place.options[*at]).collect();
            let scenario = scripted(&case.scenario, run, &pieces);
            if self.breaks(&scenario).is_some() {
                return Some(scenario);
            }
            // Counts up, the last place first.
            let next =
                (0..places.len()).rev().find(|at| chosen[*at] + 1 < places[*at].options.len())?;
            chosen[next] += 1;
            chosen[next + 1..].fill(0);
        }
        None
    }

    /// The same failure with what a person would leave out left out, and calls told by what they are about instead of
    /// by their number.
    fn plainer(&mut self, mut scenario: Scenario) -> Scenario {
        let usual = Scenario::default();
        let mut attempts = vec![
            Scenario { storm_ends_at: usual.storm_ends_at, ..scenario.clone() },
            Scenario { max_steps: usual.max_steps, ..scenario.clone() },
        ];
        attempts.retain(|attempt| *attempt != scenario);
        for attempt in attempts {
            if self.breaks(&attempt).is_some() {
                scenario = attempt;
            }
        }
        for at in (0..scenario.faults.len()).rev() {
            let mut less = scenario.clone();
            less.faults.remove(at);
            if self.breaks(&less).is_some() {
                scenario = less;
            }
        }
        for at in 0..scenario.faults.len() {
            let counted = scenario.faults[at].skip > 0 && !scenario.faults[at].fault.on_host();
            if !counted {
                continue;
            }
            let Some(run) = self.breaks(&scenario) else { break };
            for rule in about(&run.trace, &scenario.faults[at]) {
                let mut named = scenario.clone();
                named.faults[at] = rule;
                if self.breaks(&named).is_some() {
                    scenario = named;
                    break;
                }
            }
        }
        scenario
    }
}

/// Rules that say of which target the call was that a rule struck, and count less.
fn about(trace: &Trace, rule: &ScriptedFault) -> Vec<ScriptedFault> {
    let struck = trace.events().iter().find_map(|event| match &event.kind {
        EventKind::Fault { fault, call: Some(call), .. }
        | EventKind::Crash { fault, call: Some(call) }
            if *fault == rule.fault && rule.on.about(trace.op(*call)) =>
        {
            Some(trace.op(*call).target().to_string())
        }
        _ => None,
    });
    let plain = |target: &String| !target.is_empty() && target.chars().count() <= TARGET_MAX;
    let Some(target) = struck.filter(plain) else { return Vec::new() };
    let caller = rule.on.caller().map_or(String::new(), |caller| format!("{caller}>"));
    let on = Filter::parse(&format!("{caller}{} {target}", rule.on.call()));
    let fewer = (0..rule.skip).map(|skip| ScriptedFault { on: on.clone(), skip, ..rule.clone() });
    fewer.take(8).collect()
}
