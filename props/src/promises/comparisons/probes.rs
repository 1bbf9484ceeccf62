//! Each side of a comparison has its probe.

use thunderhead_sim::{SortedMap, Trace};

use super::contents::Statuses;
use super::facts::{comparison, probe, rows};
use crate::promise::{Finding, Promise};

pub static ONE_PER_SIDE: Promise = Promise::always(
    "one probe per side",
    "a comparison has at most one probe of each side, both when it completes, and no probe is without its comparison",
    one_per_side,
);

fn one_per_side(trace: &Trace) -> Result<(), Finding> {
    let mut statuses = Statuses::default();
    let mut probes: SortedMap<(&str, &str), usize> = SortedMap::new();
    for (at, _, changes) in rows(trace) {
        let mut completed = Vec::new();
        for change in changes {
            statuses.learn(change);
            if let Some((_, Some(after))) = comparison(change) {
                completed.extend((after.status == "completed").then_some(after.id));
            }
            let Some((before, after)) = probe(change) else { continue };
            if let Some(gone) = before {
                *probes.entry((gone.comparison, gone.side)).or_default() -= 1;
            }
            if let Some(new) = after {
                *probes.entry((new.comparison, new.side)).or_default() += 1;
            }
        }
        for ((id, side), count) in &probes {
            if *count > 1 {
                return Err(Finding::at(at, format!("{id} has {count} probes of its {side}")));
            }
            if *count > 0 && statuses.of(id).is_none() {
                return Err(Finding::at(
                    at,
                    format!("the {side} probe of {id} is all that is left"),
                ));
            }
        }
        for id in completed.into_iter().filter(|id| statuses.of(id).is_some()) {
            let has = |side| probes.get(&(id, side)) == Some(&1);
            if !has("left") || !has("right") {
                return Err(Finding::at(at, format!("{id} is completed without both probes")));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::comparisons::mutants::{Story, id};

    #[test]
    fn both_sides_once_are_as_it_should_be() {
        let mut story = Story::default();
        story.created(&[1]).probed(1).completed(1);
        assert_eq!(one_per_side(&story.trace()), Ok(()));
        story.turn(|turn| turn.delete_probes(1).delete(1));
        assert_eq!(one_per_side(&story.trace()), Ok(()));
    }

    #[test]
    fn a_second_probe_of_a_side_is_rejected() {
        let mut story = Story::default();
        story.created(&[1]).probed(1).turn(|turn| turn.probe(1, "left", 9));
        let finding = one_per_side(&story.trace()).unwrap_err();
        assert_eq!(finding.message, format!("{} has 2 probes of its left", id(1)));
    }

    #[test]
    fn a_probe_that_outlives_its_comparison_is_rejected() {
        let mut story = Story::default();
        story.created(&[1]).probed(1).turn(|turn| turn.delete(1));
        assert!(one_per_side(&story.trace()).is_err());
        let mut story = Story::default();
        story.turn(|turn| turn.probe(1, "left", 9));
        assert!(one_per_side(&story.trace()).is_err(), "it never had one");
    }

    #[test]
    fn completion_without_a_probe_is_rejected() {
        let mut story = Story::default();
        story.created(&[1]).turn(|turn| turn.probe(1, "left", 9)).completed(1);
        let finding = one_per_side(&story.trace()).unwrap_err();
        assert_eq!(finding.message, format!("{} is completed without both probes", id(1)));
    }
}
