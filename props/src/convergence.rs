//! Convergence: what a storm leaves behind is what some calm leaves behind.
//!
//! A run at rest is compared with runs of the same requests without faults, one request after the other and far
//! apart: rows of databases and objects, and what buckets hold. `serial` says which orders of the requests the clients
//! could have seen. Names and times that are made anew in every run are matched, not compared: see `likeness`. Columns
//! that differ between two calm runs of the same order, which have other random numbers, other names and other
//! latencies, are not decided by the requests, and so they are not compared either.

mod calendar;
mod calm;
mod columns;
mod connections;
mod difference;
mod likeness;
mod remains;
mod serial;

use thunderhead_sim::{ChoiceKind, EventKind, Fault, FaultSet, Run, Scenario};

use crate::promise::{Finding, Name};
use crate::system::Variant;
use calm::{Calm, GAPS, Gap, Weather};
use columns::Columns;
use connections::Played;
use difference::{Difference, differences};
use likeness::Likeness;
use remains::{Record, remains};
use serial::{Part, orders};

/// Whether `run`, which is at rest, leaves behind what some calm run of the same requests leaves behind. `triggers` are
/// the paths of the cron triggers that the system has, `ignored` the columns that need not be alike; `remedy` says what
/// to write to make others such.
pub fn converges<'a>(
    variant: &Variant,
    scenario: &Scenario,
    run: &Run,
    triggers: &[Name],
    ignored: impl Iterator<Item = &'a str>,
    remedy: fn(&[String]) -> String,
) -> Result<(), Finding> {
    if !comparable(run) {
        return Ok(());
    }
    let orders = orders(&run.trace, scenario, triggers);
    if !orders.complete {
        return Ok(());
    }
    let calm = Calm { variant, played: &orders.played };
    let mut ignored = Columns::of(ignored);
    let storm = remains(&run.trace);
    let tries = || orders.found.iter().flat_map(|order| GAPS.map(|gap| (order, gap)));
    // All orders ten minutes apart come first: other runs of the search have the same ones, so they are known.
    let known_first =
        || GAPS.into_iter().flat_map(|gap| orders.found.iter().map(move |order| (order, gap)));
    let like = |ignored: &Columns| {
        let storm = Likeness::of(&storm, ignored);
        known_first().any(|(order, gap)| {
            let left = calm.leaves(order, gap, Weather::Benign);
            left.is_some_and(|left| Likeness::of(&left, ignored) == storm)
        })
    };
    if like(&ignored) {
        return Ok(());
    }
    let by_requests = ignored.clone();
    for gap in GAPS {
        ignored.extend(&undecided(&calm, &orders.found[0], gap, &by_requests));
    }
    if ignored != by_requests && like(&ignored) {
        return Ok(());
    }
    let storm = Likeness::of(&storm, &ignored);
    // What counts in windows of time depends on when each request was handled.
    let as_run = orders.as_run().any(|times| {
        let left = calm.leaves_at(&times);
        left.is_some_and(|left| Likeness::of(&left, &ignored) == storm)
    });
    if as_run {
        return Ok(());
    }
    // The nearest calm run is the one to be told of.
    let played = tries().filter(|(order, gap)| calm.leaves(order, *gap, Weather::Benign).is_some());
    let count = played.count();
    let told = tries().filter_map(|(order, gap)| {
        let left = calm.leaves(order, gap, Weather::Benign)?;
        let differing = differences(&storm, &Likeness::of(&left, &ignored), &ignored);
        let (what, columns) = told(&differing)?;
        let played = sequence(&orders.played, order, gap);
        let nearest = format!("The calm run, the nearest of {count}, plays {played}");
        let message = format!("{what}. {nearest}. If this may be so, {}", remedy(&columns));
        let left = differing.first().and_then(Difference::left_by_the_storm);
        let about = left.map_or(Vec::new(), |record| record.written(&run.trace));
        Some((differing.len(), Finding::missing(message).about(about)))
    });
    match told.min_by_key(|(size, _)| *size) {
        None => Ok(()),
        Some((_, finding)) => Err(finding),
    }
}

/// What differs, in words, and what would have to be ignored for the first difference.
fn told(differing: &[Difference<'_>]) -> Option<(String, Vec<String>)> {
    let (first, rest) = differing.split_first()?;
    let rest = match rest.len() {
        0 => String::new(),
        1 => "; 1 other record differs".into(),
        more => format!("; {more} other records differ"),
    };
    Some((first.told() + &rest, first.remedies()))
}

/// The columns that differ between calm runs of one order.
fn undecided(calm: &Calm, order: &[Part], gap: Gap, ignored: &Columns) -> Columns {
    let mut undecided = ignored.clone();
    let Some(one) = calm.leaves(order, gap, Weather::Benign) else { return undecided };
    for seed in Weather::OTHERS {
        let Some(two) = calm.leaves(order, gap, Weather::Drawn(seed)) else { continue };
        widen(&one, &two, &mut undecided);
    }
    undecided
}

/// Adds columns until the two heaps are alike without them.
fn widen(one: &[Record], two: &[Record], columns: &mut Columns) {
    loop {
        let (first, second) = (Likeness::of(one, columns), Likeness::of(two, columns));
        let mut grown = false;
        for difference in differences(&first, &second, columns) {
            for name in difference.columns() {
                grown |= columns.add(name);
            }
        }
        if !grown {
            return;
        }
    }
}

/// Whether the outcome depends on the requests alone: not if the world outside was in a mood, a model was, or a script
/// asked for what no search draws because no system can survive it.
fn comparable(run: &Run) -> bool {
    let mood = run.draws.iter().any(|draw| draw.value > 0 && draw.kind == ChoiceKind::Mood);
    let explored = FaultSet::explored();
    let survivable = |fault| fault != Fault::FewLabels && explored.contains(fault);
    !mood
        && run.trace.events().iter().all(|event| match event.kind {
            EventKind::Fault { fault, .. } => survivable(fault),
            _ => true,
        })
}

/// The requests by their numbers, in words. What is said on the connection of request 2 is 2/1, 2/2 and so on.
fn sequence(played: &[Played], order: &[Part], gap: Gap) -> String {
    let number = |part: &Part| match (played[part.request].of + 1, part.step) {
        (request, 0) => request.to_string(),
        (request, step) => format!("{request}/{step}"),
    };
    let numbers: Vec<String> = order.iter().map(number).collect();
    match &numbers[..] {
        [] => "no request".into(),
        [one] => format!("request {one} alone"),
        many => format!("the requests {} one after the other, {gap}", many.join(", ")),
    }
}
