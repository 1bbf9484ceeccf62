//! The page of a played script: its history, what led to the failure, and the nearest run that holds beside it.

use thunderhead_props::divergence::{Nearest, nearest};
use thunderhead_props::{Violation, quietly};
use thunderhead_sim::{Beside, Page};

use crate::history::History;
use crate::playable::{Playable, Played};
use crate::story;

/// One HTML document. With a `list`, it has a link to that page.
pub fn page(playable: &Playable, played: &Played, program: &str, list: Option<&str>) -> String {
    let (script, trace) = (playable.script(), &played.run.trace);
    let history = History::new(playable, played);
    let plainest = history.plainest();
    let told = plainest.map(|violation| violation.story(trace));
    let nearest = plainest.map(|violation| {
        let Playable { system, variant, .. } = *playable;
        let case = history.case();
        quietly(|| nearest(system, variant, &case, &played.run, &violation.promise))
    });
    let mut notes: Vec<String> = Vec::new();
    let beside = match &nearest {
        None => None,
        Some(Nearest::NoFault) => {
            notes.push(story::NO_FAULT.into());
            None
        }
        Some(Nearest::NoneHolds) => {
            notes.push(story::NONE_HOLDS.into());
            None
        }
        Some(Nearest::Holds(parting)) => Some(Beside {
            trace: &parting.run.trace,
            without: &parting.without,
            parting: parting.events,
        }),
    };
    let command = if script.failure.is_some() { "replay" } else { "run" };
    notes.push(format!("Play it again: {program} {command} {}", playable.file.name()));
    let title = match &script.failure {
        None => script.story.clone(),
        Some(_) => {
            let (system, variant) = (playable.system, playable.variant);
            format!("{}, variant {}: {}", system.name, variant.name, variant.about)
        }
    };
    trace.to_page(&Page {
        title: &title,
        broken: &broken(playable, played, plainest),
        story: told.as_ref(),
        notes: &notes,
        beside,
        list,
    })
}

/// The broken promises, each with how it is broken; first the one whose story is told.
fn broken(
    playable: &Playable,
    played: &Played,
    plainest: Option<&Violation>,
) -> Vec<(String, String)> {
    let mut violations: Vec<&Violation> = played.violations.iter().collect();
    violations.sort_by_key(|one| plainest.is_none_or(|plainest| !std::ptr::eq(*one, plainest)));
    let told = |violation: &Violation| {
        let promise = playable.system.promise(&violation.promise);
        let promise = promise.map_or_else(|| violation.promise.to_string(), ToString::to_string);
        (promise, played.run.trace.abbreviated(&violation.finding.message))
    };
    violations.into_iter().map(told).collect()
}
