//! A comparison runs, and then it ends, once.

use thunderhead_sim::Trace;

use super::contents::Statuses;
use super::facts::{Comparison, comparison, rows};
use crate::history::named;
use crate::promise::{Finding, Promise};

pub static ENDS_ONCE: Promise = Promise::always(
    "a comparison ends once",
    "running becomes completed with a result, or failed with an error; what has ended never changes",
    ends_once,
);

pub static NONE_FOR_EVER: Promise = Promise::eventually(
    "none runs for ever",
    "when all is quiet, every comparison that is still kept has completed or failed",
    none_for_ever,
);

fn ends_once(trace: &Trace) -> Result<(), Finding> {
    for (at, _, changes) in rows(trace) {
        for (before, after) in changes.iter().filter_map(comparison) {
            let Some(after) = after else { continue };
            let id = after.id;
            let allowed = match before {
                None => after.status == "running",
                Some(before) if before.status == "running" => {
                    let Comparison { id, ts, pair, .. } = before;
                    (id, ts, pair) == (after.id, after.ts, after.pair)
                }
                Some(before) => before == after,
            };
            if !allowed {
                let was = before.map_or("new", |before| before.status);
                return Err(Finding::at(
                    at,
                    format!("{id} was {was}, and now is {}", after.status),
                ));
            }
            if (after.status == "completed") != after.result.is_some() {
                let message = format!("{id} is {} with the wrong result", after.status);
                return Err(Finding::at(at, message));
            }
            if (after.status == "failed") != after.error.is_some() {
                let message = format!("{id} is {} with the wrong error", after.status);
                return Err(Finding::at(at, message));
            }
        }
    }
    Ok(())
}

fn none_for_ever(trace: &Trace) -> Result<(), Finding> {
    let mut statuses = Statuses::default();
    for (_, _, changes) in rows(trace) {
        changes.iter().for_each(|change| statuses.learn(change));
    }
    match statuses.running() {
        Some(id) => Err(Finding::missing(format!("{id} is still running")).about(named(trace, id))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::comparisons::mutants::{Story, id};

    #[test]
    fn both_ways_to_end_are_allowed() {
        let mut story = Story::default();
        story.created(&[1, 2]).completed(1).failed(2).turn(|turn| turn.delete(1));
        assert_eq!(ends_once(&story.trace()), Ok(()));
        assert_eq!(none_for_ever(&story.trace()), Ok(()));
    }

    #[test]
    fn an_end_that_is_taken_back_or_replaced_is_rejected() {
        for again in ["running", "failed", "completed"] {
            let mut story = Story::default();
            story.created(&[1]).completed(1).turn(|turn| turn.set(1, again));
            let finding = ends_once(&story.trace());
            let message = format!("{} was completed, and now is {again}", id(1));
            assert_eq!(finding.unwrap_err(), Finding::at(2, message));
        }
    }

    #[test]
    fn a_result_or_an_error_in_the_wrong_place_is_rejected() {
        let mut story = Story::default();
        story.created(&[1]).completed(1);
        story.turn(|turn| turn.set_with(1, "failed", |_, error| *error = Some("lost")));
        let message = ends_once(&story.trace()).unwrap_err().message;
        assert_eq!(message, format!("{} was completed, and now is failed", id(1)));
        type Spoil = fn(&mut Option<&'static str>, &mut Option<&'static str>);
        let spoils: [(&str, Spoil); 5] = [
            ("completed", |result, _| *result = None),
            ("completed", |_, error| *error = Some("no")),
            ("failed", |_, error| *error = None),
            ("failed", |result, _| *result = Some("{}")),
            ("running", |result, _| *result = Some("{}")),
        ];
        for (status, spoil) in spoils {
            let mut story = Story::default();
            story.created(&[1]).turn(|turn| turn.set_with(1, status, spoil));
            assert_eq!(ends_once(&story.trace()).unwrap_err().event, Some(1), "{status}");
        }
    }

    #[test]
    fn a_comparison_that_begins_with_its_end_or_changes_its_name_is_rejected() {
        let mut story = Story::default();
        story.turn(|turn| turn.create_as(1, "completed"));
        assert!(ends_once(&story.trace()).is_err());
        let mut story = Story::default();
        story.created(&[1]).turn(|turn| turn.retime(1));
        assert!(ends_once(&story.trace()).is_err());
    }

    #[test]
    fn one_that_is_left_running_is_rejected() {
        let mut story = Story::default();
        story.created(&[1, 2]).completed(2);
        let finding = none_for_ever(&story.trace()).unwrap_err();
        assert_eq!(finding.message, format!("{} is still running", id(1)));
        assert_eq!(none_for_ever(&story.turn(|turn| turn.delete(1)).trace()), Ok(()));
    }
}
