//! A pair keeps its newest comparisons, and no more than it should.

use thunderhead_sim::{SortedMap, SortedSet, Trace};

use super::contents::Keeps;
use super::facts::{comparison, key_of, rows};
use crate::promise::{Finding, Promise};

pub static NEWEST: Promise = Promise::always(
    "a pair keeps its newest",
    "at any instant a pair has its newest N comparisons and none besides, also when many share a millisecond",
    newest,
);

/// The comparisons of one pair.
#[derive(Default)]
struct Ring<'a> {
    /// All that were ever created, in their order.
    created: Vec<&'a str>,
    kept: SortedSet<&'a str>,
    key: &'a str,
}

fn newest(trace: &Trace) -> Result<(), Finding> {
    let mut rings: SortedMap<(&str, &str), Ring> = SortedMap::new();
    let mut keeps = Keeps::default();
    for (at, store, changes) in rows(trace) {
        for change in changes {
            keeps.learn(store, change);
            match comparison(change) {
                Some((None, Some(created))) => {
                    let ring = rings.entry(created.pair).or_default();
                    ring.key = key_of(created.id);
                    ring.created.push(created.id);
                    ring.kept.insert(created.id);
                }
                Some((Some(gone), None)) => {
                    let ring = rings.entry(gone.pair).or_default();
                    ring.kept.remove(gone.id);
                }
                _ => {}
            }
        }
        for ring in rings.values() {
            let keep = keeps.of(ring.key);
            if ring.kept.len() > keep {
                let message =
                    format!("{} comparisons of a pair that keeps {keep}", ring.kept.len());
                return Err(Finding::at(at, message));
            }
            // Those kept are the last ones created: as many as there are, or as may be kept.
            let newest = ring.created.iter().rev().take(ring.kept.len());
            if let Some(gone) = newest.into_iter().find(|id| !ring.kept.contains(*id)) {
                let message = format!("{gone} is gone, and an older one is kept");
                return Err(Finding::at(at, message));
            }
        }
    }
    too_few(trace)
}

/// Nothing goes unless there are enough newer ones.
fn too_few(trace: &Trace) -> Result<(), Finding> {
    let mut created: SortedMap<(&str, &str), Vec<&str>> = SortedMap::new();
    let mut keeps = Keeps::default();
    for (at, store, changes) in rows(trace) {
        for change in changes {
            keeps.learn(store, change);
            if let Some((None, Some(new))) = comparison(change) {
                created.entry(new.pair).or_default().push(new.id);
            }
        }
        for (gone, _) in changes.iter().filter_map(comparison).filter(|(_, now)| now.is_none()) {
            let Some(gone) = gone else { continue };
            let of_pair = created.get(&gone.pair).map_or(&[][..], Vec::as_slice);
            let newer = of_pair.iter().rev().take_while(|id| **id != gone.id).count();
            let keep = keeps.of(key_of(gone.id));
            if newer < keep {
                let newer = match newer {
                    0 => "none is newer".into(),
                    1 => "only 1 is newer".into(),
                    newer => format!("only {newer} are newer"),
                };
                let message =
                    format!("{} was deleted, though {keep} are kept and {newer}", gone.id);
                return Err(Finding::at(at, message));
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
    fn one_comparison_more_than_are_kept_is_rejected_where_it_comes() {
        let mut story = Story::default();
        story.keep(2).created(&[1]).created(&[2]).turn(|turn| turn.create(3).delete(1));
        assert_eq!(newest(&story.trace()), Ok(()));
        story.created(&[4]);
        let finding = newest(&story.trace()).unwrap_err();
        assert_eq!(finding.message, "3 comparisons of a pair that keeps 2");
        assert_eq!(finding.event, Some(4));
    }

    #[test]
    fn a_turn_counts_when_it_is_over() {
        let mut story = Story::default();
        story.keep(1).created(&[1]).turn(|turn| turn.create(2).delete(1));
        assert_eq!(newest(&story.trace()), Ok(()));
    }

    #[test]
    fn keeping_an_older_one_is_rejected() {
        let mut story = Story::default();
        story.keep(2).created(&[1]).created(&[2]).turn(|turn| turn.create(3).delete(2));
        let finding = newest(&story.trace()).unwrap_err();
        assert_eq!(finding.message, format!("{} is gone, and an older one is kept", id(2)));
    }

    #[test]
    fn letting_go_too_soon_is_rejected() {
        let mut story = Story::default();
        story.keep(3).created(&[1]).turn(|turn| turn.create(2).delete(1));
        let finding = newest(&story.trace()).unwrap_err();
        assert_eq!(
            finding.message,
            format!("{} was deleted, though 3 are kept and only 1 is newer", id(1))
        );
        let mut story = Story::default();
        story.created(&[1]).turn(|turn| turn.delete(1));
        assert!(newest(&story.trace()).is_err(), "the only one is gone");
    }

    #[test]
    fn fifty_are_kept_when_nobody_has_said_otherwise() {
        let mut story = Story::default();
        for n in 0..50 {
            story.created(&[n]);
        }
        assert_eq!(newest(&story.trace()), Ok(()));
        assert!(newest(&story.created(&[50]).trace()).is_err());
    }
}
