//! What happens to one event: one workflow, one way through the statuses, its own label.

use std::rc::Rc;

use thunderhead_sim::{Body, SortedMap, SortedSet};

use super::contents::{event_id, short};
use super::facts::{Fact, facts};
use super::row::{Upload, tells_of_events};
use crate::history::{named, rows};
use crate::promise::{Finding, Promise};
use crate::promises::Reading;

pub static ONE_WORKFLOW: Promise = Promise::always_shared(
    "one workflow per event",
    "no upload of R2's has two workflow instances, by the key and the bytes that they are for, whatever is redelivered, retried, raced or crashed",
    one_workflow,
);

pub static STATUSES: Promise = Promise::always_shared(
    "statuses only go forward",
    "an event is queued, then running, then classified or failed, and nothing else, ever",
    statuses,
);

pub static OWN_LABEL: Promise = Promise::always_shared(
    "a label belongs to its bytes",
    "no row shows a label that was not computed from the bytes of its own event",
    own_label,
);

pub static TRACKED: Promise = Promise::eventually_shared(
    "no workflow is left untracked",
    "when all is quiet, every instance that ever ran has its row in the agent's tracking table",
    tracked,
);

pub static TRACKED_TO_ITS_END: Promise = Promise::eventually_shared(
    "a workflow is tracked to its end",
    "when all is quiet, the agent's tracking table says of every instance that has ended whether it is complete, errored or terminated, as the platform has it",
    tracked_to_its_end,
);

fn one_workflow(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut event_of: SortedMap<&str, String> = SortedMap::new();
    let mut stored = SortedSet::new();
    let mut made = SortedSet::new();
    let mut instance: SortedMap<String, &str> = SortedMap::new();
    for (at, fact) in facts(trace) {
        match fact {
            Fact::Stored(_, event) => drop(stored.insert(event)),
            Fact::Create { id, params, made: new, .. } => {
                if new && !made.insert(id) {
                    return Err(Finding::at(at, format!("{id} is created twice")));
                }
                event_of.entry(id).or_insert_with(|| event_in(params, &stored));
            }
            Fact::Runs(id) => {
                let event = event_of.get(id).cloned().unwrap_or_default();
                let first = *instance.entry(event.clone()).or_insert(id);
                if first != id {
                    let message = format!("{} has the instances {first} and {id}", short(&event));
                    return Err(Finding::at(at, message));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The event that a workflow is for: what R2 has stored under the key and the etag in its parameters. What the
/// application calls its event counts only if R2 knows nothing of those.
fn event_in(params: &Body, stored: &SortedSet<Rc<str>>) -> String {
    let params: serde_json::Value = params.read().unwrap_or_default();
    let text = |name: &str| params[name].as_str().unwrap_or_default();
    let event = event_id(text("key"), text("eTag"));
    if stored.contains(&*event) { event } else { text("eventId").into() }
}

fn statuses(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut known: SortedMap<(&str, &str), &str> = SortedMap::new();
    for (at, fact) in facts(trace) {
        let Fact::Rows(organisation, changes) = fact else { continue };
        for change in changes.iter().filter(|change| tells_of_events(&change.table)) {
            let Some(row) = Upload::after(change) else { continue };
            let before = known.insert((organisation, row.event), row.status);
            let fits = match (before, row.status) {
                (Some(before), now) if before == now => true,
                (None, now) => now == "queued",
                (Some("queued"), now) => now == "running",
                (Some("running"), _) => row.is_final(),
                _ => false,
            };
            if !fits {
                let (now, event) = (row.status, short(row.event));
                let how = match before {
                    None => format!("begins as {now}"),
                    Some("queued") => format!("queued becomes {now} without running in between"),
                    Some(before) => format!("{before} becomes {now}"),
                };
                let message = format!("{} {event}: {how}", row.name);
                return Err(Finding::at(at, message));
            }
        }
    }
    Ok(())
}

fn own_label(trace: &Reading<'_>) -> Result<(), Finding> {
    // The bytes of each event, and the labels that each picture was given.
    let mut bytes: SortedMap<Rc<str>, &Body> = SortedMap::new();
    let mut labels: SortedMap<&Body, (&str, String)> = SortedMap::new();
    for (at, fact) in facts(trace) {
        match fact {
            Fact::Read(_, event, body) => {
                bytes.insert(event, body);
            }
            Fact::Labelled(image, found) => {
                if let Some(top) = found.first() {
                    labels.insert(image, (&top.label, top.score.to_string()));
                }
            }
            Fact::Rows(_, changes) => {
                for change in changes.iter().filter(|change| tells_of_events(&change.table)) {
                    let Some(row) = Upload::after(change) else { continue };
                    let computed = bytes.get(row.event).and_then(|bytes| labels.get(bytes));
                    if !says_truth(&row, computed) {
                        let (label, event) = (row.label.unwrap_or("nothing"), short(row.event));
                        let message =
                            format!("{} says {label}, not the label of {event}", row.name);
                        return Err(Finding::at(at, message));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a row shows the label computed from its bytes, or none while it has none.
fn says_truth(row: &Upload, computed: Option<&(&str, String)>) -> bool {
    match (row.status, row.label, computed) {
        ("classified", Some(label), Some((truth, score))) => {
            let shown = row.score.and_then(|score| score.as_f64());
            label == *truth && shown == score.parse().ok()
        }
        ("classified", ..) => false,
        (_, label, _) => label.is_none() && row.score.is_none(),
    }
}

fn tracked(trace: &Reading<'_>) -> Result<(), Finding> {
    let kept = rows(trace);
    let known: SortedSet<&str> =
        kept.of("cf_agents_workflows").map(|row| row.text("workflow_id")).collect();
    for (_, fact) in facts(trace) {
        if let Fact::Runs(id) = fact
            && !known.contains(id)
        {
            let message = format!("{id} ran, and its agent does not know it");
            return Err(Finding::missing(message).about(named(trace, id)));
        }
    }
    Ok(())
}

fn tracked_to_its_end(trace: &Reading<'_>) -> Result<(), Finding> {
    // An instance that runs again has not ended.
    let mut ends: SortedMap<&str, Option<&str>> = SortedMap::new();
    for (_, fact) in facts(trace) {
        match fact {
            Fact::Runs(id) => drop(ends.insert(id, None)),
            Fact::Ended(id, how) => drop(ends.insert(id, Some(how))),
            _ => {}
        }
    }
    let kept = rows(trace);
    for row in kept.of("cf_agents_workflows") {
        let (id, status) = (row.text("workflow_id"), row.text("status"));
        if let Some(Some(how)) = ends.get(id)
            && *how != status
        {
            let message = format!("{id} is {how}, and its agent has it as {status}");
            return Err(Finding::missing(message).about(named(trace, id)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::uploads::mutants::Story;

    #[test]
    fn a_second_instance_of_an_event_is_rejected_where_it_happens() {
        let mut once = Story::default();
        once.created("one", None).created("two", None);
        assert_eq!(one_workflow(&Reading::of(&once.trace())), Ok(()));
        // Once created under the same id, once under another.
        let (trace, last) = once.clone().created("one", None).ended();
        assert_eq!(one_workflow(&Reading::of(&trace)).unwrap_err().event, Some(last - 1));
        let (trace, last) = once.created("one", Some("other")).ended();
        assert_eq!(one_workflow(&Reading::of(&trace)).unwrap_err().event, Some(last));
    }

    #[test]
    fn a_second_instance_is_rejected_whatever_the_application_calls_its_event() {
        let mut named = Story::default();
        named.stored("one", 1).created_as("one", "a").stored("two", 2).created_as("two", "b");
        assert_eq!(one_workflow(&Reading::of(&named.trace())), Ok(()));
        let (trace, last) = named.created_as("one", "c").ended();
        assert_eq!(one_workflow(&Reading::of(&trace)).unwrap_err().event, Some(last));
    }

    #[test]
    fn every_step_but_the_next_is_rejected_where_it_happens() {
        let mut good = Story::default();
        for status in ["queued", "running", "classified"] {
            good.row("one", status, None);
        }
        assert_eq!(statuses(&Reading::of(&good.trace())), Ok(()));
        for bad in [
            &["running", "begins as running"][..],
            &["queued", "classified", "queued becomes classified without running in between"],
            &["queued", "running", "queued", "running becomes queued"],
            &["queued", "running", "classified", "running", "classified becomes running"],
            &["queued", "running", "classified", "failed", "classified becomes failed"],
            &["queued", "running", "failed", "queued", "failed becomes queued"],
        ] {
            let mut history = Story::default();
            let (said, bad) = bad.split_last().unwrap();
            for status in bad {
                history.row("one", status, None);
            }
            let (trace, last) = history.ended();
            let finding = statuses(&Reading::of(&trace)).unwrap_err();
            assert_eq!(finding.event, Some(last), "{bad:?}");
            assert!(finding.message.ends_with(said), "{finding:?}");
        }
    }

    #[test]
    fn another_event_has_its_own_statuses() {
        let mut two = Story::default();
        two.row("one", "queued", None).row("one", "running", None).row("two", "queued", None);
        assert_eq!(statuses(&Reading::of(&two.trace())), Ok(()));
        // The first comes back: it must not begin again.
        assert_eq!(
            statuses(&Reading::of(&two.clone().row("one", "running", None).trace())),
            Ok(())
        );
        assert!(statuses(&Reading::of(&two.row("one", "queued", None).trace())).is_err());
    }

    #[test]
    fn a_label_of_other_bytes_is_rejected_where_it_happens() {
        let mut read = Story::default();
        read.read("one").labelled("one", "CAT").read("two").labelled("two", "DOG");
        assert_eq!(
            own_label(&Reading::of(&read.clone().row("one", "classified", Some("CAT")).trace())),
            Ok(())
        );
        for (bytes, status, label) in [
            ("one", "classified", Some("DOG")),
            ("one", "classified", None),
            ("three", "classified", Some("CAT")),
            ("one", "running", Some("CAT")),
        ] {
            let (trace, last) = read.clone().row(bytes, status, label).ended();
            assert_eq!(
                own_label(&Reading::of(&trace)).unwrap_err().event,
                Some(last),
                "{bytes} {label:?}"
            );
        }
    }

    #[test]
    fn an_instance_that_its_agent_does_not_know_is_rejected() {
        let mut ran = Story::default();
        assert!(tracked(&Reading::of(&ran.created("one", None).trace())).is_err());
        assert_eq!(tracked(&Reading::of(&ran.tracked("one", "queued").trace())), Ok(()));
        assert!(tracked(&Reading::of(&ran.created("two", None).trace())).is_err());
    }

    #[test]
    fn an_instance_whose_end_its_agent_has_not_written_down_is_rejected() {
        for how in ["complete", "errored", "terminated"] {
            let mut ended = Story::default();
            ended.created("one", None).tracked("one", "running");
            assert_eq!(
                tracked_to_its_end(&Reading::of(&ended.trace())),
                Ok(()),
                "it has not ended"
            );
            ended.ends("one", how);
            assert!(tracked_to_its_end(&Reading::of(&ended.trace())).is_err(), "{how}");
            for said in ["complete", "errored", "terminated", "queued", "paused"] {
                let trace = ended.clone().tracked("one", said).trace();
                assert_eq!(
                    tracked_to_its_end(&Reading::of(&trace)).is_ok(),
                    said == how,
                    "{how}, {said}"
                );
            }
        }
    }

    #[test]
    fn an_instance_that_runs_again_has_not_ended() {
        let mut again = Story::default();
        again.created("one", None).ends("one", "terminated").tracked("one", "queued");
        assert!(tracked_to_its_end(&Reading::of(&again.trace())).is_err());
        again.runs("one");
        assert_eq!(tracked_to_its_end(&Reading::of(&again.trace())), Ok(()));
    }
}
