//! From a seed to a run: the one place that decides what a seed means.

use serde_json::Value;
use thunderhead_sim::{
    Case, End, FaultSet, Rng, Run, Scenario, SetupError, Shrinker, SortedSet, Source, Swarm, Tape,
    Time, Timing, limits, shrink, simulate,
};

use crate::promise::{Check, Violation, judge};
use crate::system::{System, Variant};

/// What a seed stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// A new workload and a new swarm for every seed.
    Random,
    /// Like `Random`, with deliveries ordered by changing priorities.
    Pct,
    /// Like `Random`, in storms of a minute to days.
    Weather,
}

/// How many times a priority changes in a run of [`Sampling::Pct`].
const PCT_DEPTH: u32 = 3;

/// How long a storm of [`Sampling::Weather`] can last, in minutes: while a client still tries again, beyond the pauses
/// between tries, beyond the budgets of retries, and beyond what a system keeps for a day.
const MINUTES: [u64; 4] = [1, 10, 6 * 60, 3 * 24 * 60];

/// The scenario and the source of choices that `seed` stands for.
pub fn of_seed(
    system: &System,
    seed: u64,
    sampling: Sampling,
    max_crashes: u32,
) -> (Scenario, Source) {
    of_seed_among(system, seed, sampling, max_crashes, FaultSet::explored())
}

/// Like [`of_seed`], with storms made of `faults` alone: a few to look at closely, or one that no system survives.
pub fn of_seed_among(
    system: &System,
    seed: u64,
    sampling: Sampling,
    max_crashes: u32,
    faults: FaultSet,
) -> (Scenario, Source) {
    let root = Rng::new(seed);
    let timing = match sampling {
        Sampling::Random | Sampling::Weather => Timing::Latency,
        Sampling::Pct => Timing::Order,
    };
    let requests = system.workload(&mut root.fork("workload"));
    let mut scenario =
        Scenario { requests, drawn_faults: faults, timing, max_crashes, ..Scenario::default() };
    if sampling == Sampling::Weather {
        lengthen(&mut scenario, &mut root.fork("weather"));
    }
    let swarm = Swarm::of_seed(seed, faults);
    let source = match sampling {
        Sampling::Random | Sampling::Weather => Source::Random { seed, swarm },
        Sampling::Pct => Source::Pct { seed, swarm, depth: PCT_DEPTH },
    };
    (scenario, source)
}

/// Draws how long the storm lasts, and whether the requests are spread over it or stay close together.
fn lengthen(scenario: &mut Scenario, rng: &mut Rng) {
    let minutes = MINUTES[rng.below(MINUTES.len() as u32) as usize];
    scenario.storm_ends_at = Time::from_ms(minutes * 60_000);
    // A client that asks every few seconds is busy for long without being lost.
    scenario.max_steps = limits::STEPS.most as u32;
    if rng.below(2) == 1 {
        for request in &mut scenario.requests {
            request.at = Time::from_ms(request.at.as_ms() * minutes);
        }
    }
}

/// The scenario whose runs are enumerated: the smallest workload, order instead of latency.
pub fn to_enumerate(system: &System, faults: FaultSet, max_crashes: u32) -> Scenario {
    let (requests, timing) = (system.smallest(), Timing::Order);
    Scenario { requests, drawn_faults: faults, timing, max_crashes, ..Scenario::default() }
}

/// Plays a scenario on a variant.
pub fn play(variant: &Variant, scenario: &Scenario, source: &Source) -> Result<Run, SetupError> {
    simulate(scenario, source, &|cloud| variant.mount(cloud))
}

/// Plays a scenario and judges it.
pub fn check(
    system: &System,
    variant: &Variant,
    scenario: &Scenario,
    source: &Source,
) -> Result<(Run, Vec<Violation>), SetupError> {
    checked(variant, scenario, source, |run| system.judge(variant, scenario, run))
}

/// Plays a scenario that is one of many and judges it; only a share of them is compared with calm runs.
pub fn check_drawn(
    system: &System,
    variant: &Variant,
    scenario: &Scenario,
    source: &Source,
) -> Result<(Run, Vec<Violation>), SetupError> {
    checked(variant, scenario, source, |run| system.judge_drawn(variant, scenario, run))
}

fn checked(
    variant: &Variant,
    scenario: &Scenario,
    source: &Source,
    judge: impl FnOnce(&Run) -> Vec<Violation>,
) -> Result<(Run, Vec<Violation>), SetupError> {
    let run = play(variant, scenario, source)?;
    let violations = judge(&run);
    assert!(run.end == End::Quiet || !violations.is_empty(), "an unquiet end is a violation");
    Ok((run, violations))
}

/// The smallest case that still breaks the same promise. If it takes a fault to break it, then requests that say less
/// and break it without one do so by themselves: a body without a member may be refused by a step of a workflow for
/// ever, and that is another story.
pub fn smallest(system: &System, variant: &Variant, case: Case, violated: &str) -> Shrinker {
    let promise = system.promise(violated);
    let converging = promise.is_some_and(|promise| matches!(promise.check, Check::Converges));
    let played = |case: &Case| {
        let run = play(variant, &case.scenario, &Source::Tape(case.tape.clone())).ok()?;
        // Calm runs take time, and what they say matters only if it is what is shrunk.
        let violations = match converging {
            true => system.judge(variant, &case.scenario, &run),
            false => judge(promise.into_iter(), &run),
        };
        let fails = violations.iter().any(|violation| violation.promise == violated);
        Some((run, fails))
    };
    let sent = shapes(&case.scenario);
    shrink(case, |candidate| {
        let (run, fails) = played(candidate)?;
        let says_less = !candidate.tape.is_empty() && !shapes(&candidate.scenario).is_subset(&sent);
        let by_themselves = || {
            let benign = Case { tape: Tape::benign(), ..candidate.clone() };
            played(&benign).is_some_and(|(_, fails)| fails)
        };
        Some((run, fails && !(says_less && by_themselves())))
    })
}

/// Which members the bodies of the requests have, and which of them are empty.
fn shapes(scenario: &Scenario) -> SortedSet<String> {
    let bodies = scenario.requests.iter().map(|sent| &sent.request.body);
    let shapes = bodies.map(|body| match serde_json::from_slice(body.bytes()) {
        Ok(value) => shape(value).to_string(),
        Err(_) => body.is_empty().to_string(),
    });
    shapes.collect()
}

/// A document without its values, and without the items of a list that are like others.
fn shape(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            members.into_iter().map(|(name, member)| (name, shape(member))).collect()
        }
        Value::Array(items) => {
            let mut shapes: Vec<Value> = Vec::new();
            for item in items.into_iter().map(shape) {
                if !shapes.contains(&item) {
                    shapes.push(item);
                }
            }
            Value::Array(shapes)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use thunderhead_sim::ClientRequest;

    use super::*;

    #[test]
    fn weather_draws_every_length_with_requests_spread_over_it_or_close_together() {
        let requests = vec![ClientRequest::new(Time::from_ms(250), "GET", "/", "")];
        let drawn: SortedSet<(u64, u64)> = (0..64)
            .map(|seed| {
                let requests = requests.clone();
                let mut scenario = Scenario { requests, ..Scenario::default() };
                lengthen(&mut scenario, &mut Rng::new(seed));
                let minutes = scenario.storm_ends_at.as_ms() / 60_000;
                (minutes, scenario.requests[0].at.as_ms() / 250)
            })
            .collect();
        let wanted = MINUTES.iter().flat_map(|minutes| [(*minutes, 1), (*minutes, *minutes)]);
        assert_eq!(drawn, wanted.collect());
    }
}
