//! A step that is done again leaves no trace of that, and a diff depends on nothing but its envelopes.

use serde_json::Value;
use thunderhead_sim::{SortedMap, Trace};

use super::facts::{comparison, probe, rows};
use crate::promise::{Finding, Promise};

pub static UNSEEN: Promise = Promise::always(
    "a retried step changes nothing",
    "a probe that was saved stays as it is, to the millisecond, for as long as its comparison is kept",
    unseen,
);

pub static PURE: Promise = Promise::always(
    "the diff follows from the envelopes",
    "equal envelopes have equal diffs; a diff tells of no fact in which the envelopes agree, of each in its own words, and of every difference in status, place, encryption and content",
    pure,
);

fn unseen(trace: &Trace) -> Result<(), Finding> {
    let mut first = SortedMap::new();
    for (at, _, changes) in rows(trace) {
        for change in changes {
            if let Some((Some(gone), None)) = comparison(change) {
                first.retain(|(id, _): &(&str, &str), _| *id != gone.id);
            }
            let Some((_, Some(saved))) = probe(change) else { continue };
            let known = first.entry((saved.comparison, saved.side)).or_insert(saved);
            if *known != saved {
                let message =
                    format!("the {} probe of {} was saved anew", saved.side, saved.comparison);
                return Err(Finding::at(at, message));
            }
        }
    }
    Ok(())
}

fn pure(trace: &Trace) -> Result<(), Finding> {
    let mut envelopes: SortedMap<(&str, &str), &str> = SortedMap::new();
    let mut diffs: SortedMap<(&str, &str), Value> = SortedMap::new();
    for (at, _, changes) in rows(trace) {
        for change in changes {
            if let Some((_, Some(saved))) = probe(change) {
                envelopes.insert((saved.comparison, saved.side), saved.envelope);
            }
            let Some((_, Some(after))) = comparison(change) else { continue };
            let Some(result) = after.result else { continue };
            let side = |side| envelopes.get(&(after.id, side)).copied().unwrap_or("null");
            let (left, right) = (side("left"), side("right"));
            let result: Value = serde_json::from_str(result).unwrap_or_default();
            let known = diffs.entry((left, right)).or_insert_with(|| result["diff"].clone());
            if *known != result["diff"] {
                let message = format!("{} has another diff of the same envelopes", after.id);
                return Err(Finding::at(at, message));
            }
            if let Some(wrong) = wrong_change(left, right, &result["diff"]) {
                return Err(Finding::at(at, format!("{} {wrong}", after.id)));
            }
        }
    }
    Ok(())
}

/// What every difference in has to be told. Which headers matter is the application's to say.
const TOLD: [&str; 4] = ["status", "landing", "secure", "body"];

/// What is wrong with a diff of two envelopes: a change that is none, one that quotes an envelope wrongly, or a
/// difference of which nothing is told.
fn wrong_change(left: &str, right: &str, diff: &Value) -> Option<String> {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let (left, right) = (read(left), read(right));
    let changes = diff["changes"].as_array().map_or(&[][..], Vec::as_slice);
    let wrong = changes.iter().find_map(|change| {
        let what = change["what"].as_str()?;
        let place = place(what);
        let (left, right) = (left.pointer(&place), right.pointer(&place));
        if left == right {
            return Some(format!("reports {what}, in which both sides agree"));
        }
        let quotes = |told: &Value, fact: Option<&Value>| match fact {
            // Quoted as they are. Others are told in words of their own.
            Some(Value::String(text)) => told.as_str() == Some(text),
            Some(Value::Number(number)) => told.as_str() == Some(&number.to_string()),
            Some(Value::Bool(yes)) => told.as_str() == Some(&yes.to_string()),
            _ => true,
        };
        let right_way = quotes(&change["left"], left) && quotes(&change["right"], right);
        (!right_way).then(|| format!("tells of {what} what no side has there"))
    });
    wrong.or_else(|| {
        let told = |what: &str| changes.iter().any(|change| change["what"] == what);
        let differs = |what: &str| left.pointer(&place(what)) != right.pointer(&place(what));
        let untold = TOLD.into_iter().find(|what| differs(what) && !told(what))?;
        Some(format!("says nothing of {untold}, in which the sides differ"))
    })
}

/// Where an envelope states the fact that a change is about.
fn place(what: &str) -> String {
    match what.split_once(' ') {
        Some(("header", name)) => format!("/headers/{name}"),
        _ if matches!(what, "landing" | "secure") => format!("/routing/{what}"),
        _ => format!("/{what}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::comparisons::mutants::{Story, id};

    #[test]
    fn a_probe_that_is_saved_again_as_it_was_is_not_noticed() {
        let mut story = Story::default();
        story.created(&[1]).turn(|turn| turn.probe(1, "left", 5));
        story.turn(|turn| turn.delete_probes(1).probe(1, "left", 5));
        assert_eq!(unseen(&story.trace()), Ok(()));
    }

    #[test]
    fn a_probe_that_is_replaced_by_another_is_rejected() {
        let mut story = Story::default();
        story.created(&[1]).turn(|turn| turn.probe(1, "left", 5));
        story.turn(|turn| turn.delete_probes(1).probe(1, "left", 6));
        let message = format!("the left probe of {} was saved anew", id(1));
        assert_eq!(unseen(&story.trace()).unwrap_err(), Finding::at(2, message));
    }

    #[test]
    fn different_diffs_of_equal_envelopes_are_rejected() {
        let mut story = Story::default();
        story.created(&[1, 2]).probed(1).probed(2);
        story.completed_with(1, r#"{"changes":[]}"#).completed_with(2, r#"{"changes":[]}"#);
        assert_eq!(pure(&story.trace()), Ok(()));
        let mut story = Story::default();
        story.created(&[1, 2]).probed(1).probed(2);
        story.completed_with(1, r#"{"changes":[]}"#).completed_with(2, r#"{"severity":"minor"}"#);
        assert!(pure(&story.trace()).unwrap_err().message.contains("another diff"));
    }

    #[test]
    fn a_change_of_what_did_not_change_is_rejected() {
        for what in ["status", "landing", "header server", "body"] {
            let mut story = Story::default();
            let diff = format!(r#"{{"changes":[{{"what":"{what}"}}]}}"#);
            story.created(&[1]).probed(1).completed_with(1, &diff);
            let message = pure(&story.trace()).unwrap_err().message;
            assert_eq!(message, format!("{} reports {what}, in which both sides agree", id(1)));
        }
    }

    #[test]
    fn a_diff_that_quotes_wrongly_or_leaves_something_out_is_rejected() {
        let (left, right) = (r#"{"status":200,"body":1}"#, r#"{"status":404,"body":1}"#);
        let wrong = |changes: &str| {
            wrong_change(left, right, &serde_json::from_str(changes).unwrap_or_default())
        };
        let status = r#"{"changes":[{"what":"status","left":"200","right":"404"}]}"#;
        assert_eq!(wrong(status), None);
        let swapped = r#"{"changes":[{"what":"status","left":"404","right":"200"}]}"#;
        assert_eq!(wrong(swapped), Some("tells of status what no side has there".into()));
        let nothing = r#"{"changes":[]}"#;
        assert_eq!(
            wrong(nothing),
            Some("says nothing of status, in which the sides differ".into())
        );
    }
}
