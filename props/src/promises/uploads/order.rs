//! R2's order decides: what the rows describe, and that they never go back.

use std::rc::Rc;

use thunderhead_sim::SortedMap;
use thunderhead_sim::queue::Fate;

use super::contents::{Contents, short, split};
use super::facts::{Fact, facts};
use crate::history::named;
use crate::promise::{Finding, Promise};
use crate::promises::Reading;

pub static LATEST_WINS: Promise = Promise::eventually_shared(
    "the latest upload wins",
    "when all is quiet, each name's row describes exactly the object that R2 holds, or is absent if R2 holds none",
    latest_wins,
);

pub static NEVER_BACK: Promise = Promise::always_shared(
    "no stale overwrite",
    "a row that describes a newer upload or deletion is never changed back to an older one, whatever their times and bytes, as far as bytes or R2's answers tell which one a row describes",
    never_back,
);

pub static STAYS_DELETED: Promise = Promise::always_shared(
    "deleted stays deleted",
    "once a deletion is acknowledged, the name has a row only for what was uploaded after it",
    stays_deleted,
);

fn latest_wins(trace: &Reading<'_>) -> Result<(), Finding> {
    let contents = Contents::at_the_end(trace);
    for key in contents.keys() {
        let held = contents.held(key).last().and_then(Option::as_deref);
        let row = contents.row(key).map(|row| row.event);
        if held != row {
            let etag = held.and(contents.etag(key)).map(short);
            let held = etag.map_or("nothing".into(), |etag| format!("etag={etag}…"));
            let row = match row {
                Some(event) => format!("the row describes {}", short(event)),
                None => "there is no row".into(),
            };
            let name = split(key).map_or(key, |(_, name)| name);
            let about = named(trace, key).into_iter().chain(named(trace, name));
            return Err(Finding::missing(format!("{key}: R2 holds {held}, {row}")).about(about));
        }
    }
    for (organisation, row) in contents.board.rows() {
        let key = format!("{organisation}/{}", row.name);
        if contents.held(&key).is_empty() {
            let message = format!("{key} has a row, and was never uploaded");
            return Err(Finding::missing(message).about(named(trace, row.name)));
        }
    }
    Ok(())
}

fn never_back(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    let mut looks = Looks::default();
    // How far each row has come in what its key has held; nothing yet at 0.
    let mut reached: SortedMap<(&str, &str), (usize, Option<&str>)> = SortedMap::new();
    for (at, fact) in facts(trace) {
        let touched = contents.step(&fact);
        if let Some((key, look)) = looks.step(&fact, &contents)
            && let Some(of) = split(key)
            && contents.row(key).map(|row| row.event) == look.event.as_deref()
        {
            // The row stays, and from now on it is about what R2 holds now, if the same bytes were there before.
            let (far, _) = reached.entry(of).or_default();
            *far = look.earliest.max(*far);
        }
        let Fact::Rows(..) = fact else { continue };
        for (organisation, name) in touched {
            let row = contents.board.get(organisation, name).map(|row| row.event);
            let (far, before) = reached.entry((organisation, name)).or_default();
            if row == *before {
                continue;
            }
            let key = format!("{organisation}/{name}");
            let held = contents.held(&key);
            let next = match looks.believed.get(&*key) {
                Some(look) if look.event.as_deref() == row => {
                    (look.latest >= *far).then_some(look.earliest.max(*far))
                }
                // The least advance that explains the row: the same bytes may have been there twice.
                _ => (*far..=held.len()).find(|place| match place.checked_sub(1) {
                    None => row.is_none(),
                    Some(change) => held[change].as_deref() == row,
                }),
            };
            let Some(next) = next else {
                let row = row.map_or("deleted", short);
                return Err(Finding::at(at, format!("{key} goes back to {row}")));
            };
            (*far, *before) = (next, row);
        }
    }
    Ok(())
}

/// An answer of R2 to an agent.
#[derive(Clone, Debug)]
struct Look {
    /// How many changes the key had seen: one number, unless the question reached R2 twice.
    earliest: usize,
    latest: usize,
    /// What it holds.
    event: Option<Rc<str>>,
}

/// What agents have asked R2.
#[derive(Debug, Default)]
struct Looks<'a> {
    answers: SortedMap<u32, (&'a str, Look)>,
    /// The last answer about each key with which an agent went on.
    believed: SortedMap<&'a str, Look>,
}

impl<'a> Looks<'a> {
    /// Applies a fact and returns the answer with which an agent goes on, and the key that it is about.
    fn step(&mut self, fact: &Fact<'a>, contents: &Contents<'a>) -> Option<(&'a str, Look)> {
        match fact {
            Fact::Looked(call, key, event) => {
                let place = contents.held(key).len();
                let look = Look { earliest: place, latest: place, event: event.clone() };
                let (_, known) = self.answers.entry(*call).or_insert((key, look));
                known.latest = place;
                None
            }
            Fact::Believed(call) => {
                let (key, look) = self.answers.get(call)?;
                self.believed.insert(key, look.clone());
                Some((key, look.clone()))
            }
            _ => None,
        }
    }
}

fn stays_deleted(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    // The last deletion of each key that was acknowledged.
    let mut gone: SortedMap<&str, usize> = SortedMap::new();
    for (at, fact) in facts(trace) {
        let touched = contents.step(&fact);
        let settled = match &fact {
            Fact::Settled(message, Fate::Acked) => contents.change(*message),
            _ => None,
        };
        if let Some((key, change)) = settled
            && contents.held(key).get(change).is_some_and(Option::is_none)
        {
            let last = gone.entry(key).or_default();
            *last = change.max(*last);
        }
        let acked = settled.and_then(|(key, _)| split(key));
        for (organisation, name) in touched.into_iter().chain(acked) {
            let key = format!("{organisation}/{name}");
            let Some(deleted) = gone.get(&*key) else { continue };
            let Some(row) = contents.board.get(organisation, name) else { continue };
            let later = &contents.held(&key)[deleted + 1..];
            if !later.iter().flatten().any(|event| **event == *row.event) {
                let event = short(row.event);
                return Err(Finding::at(at, format!("{event} of {key} was deleted and has a row")));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::uploads::mutants::Story;

    #[test]
    fn a_row_that_does_not_describe_what_r2_holds_is_rejected() {
        let mut two = Story::default();
        two.stored("one", 1).row("one", "queued", None).stored("two", 2);
        let message = latest_wins(&Reading::of(&two.trace())).unwrap_err().message;
        let start = "acme/cat.jpg: R2 holds etag=";
        assert!(message.starts_with(start) && message.contains("the row describes "), "{message}");
        assert_eq!(latest_wins(&Reading::of(&two.row("two", "queued", None).trace())), Ok(()));
        assert!(latest_wins(&Reading::of(&two.removed(3).trace())).is_err());
        assert_eq!(latest_wins(&Reading::of(&two.no_row().trace())), Ok(()));
        let mut none = Story::default();
        let message =
            latest_wins(&Reading::of(&none.stored("one", 1).trace())).unwrap_err().message;
        assert!(message.ends_with("…, there is no row"), "{message}");
    }

    #[test]
    fn a_row_without_an_upload_is_rejected() {
        let mut none = Story::default();
        none.row("one", "queued", None);
        let error = latest_wins(&Reading::of(&none.trace())).unwrap_err();
        assert_eq!(error.message, "acme/cat.jpg has a row, and was never uploaded");
    }

    #[test]
    fn a_row_that_goes_back_is_rejected_where_it_happens() {
        let mut back = Story::default();
        back.stored("one", 1).row("one", "queued", None).stored("two", 2);
        back.row("two", "queued", None);
        assert_eq!(never_back(&Reading::of(&back.trace())), Ok(()));
        let (trace, last) = back.row("one", "queued", None).ended();
        assert_eq!(never_back(&Reading::of(&trace)).unwrap_err().event, Some(last));
    }

    #[test]
    fn a_deletion_that_removes_a_later_upload_is_rejected_where_it_happens() {
        let mut late = Story::default();
        late.stored("one", 1).removed(2).stored("two", 3).row("two", "queued", None);
        assert_eq!(never_back(&Reading::of(&late.trace())), Ok(()));
        let (trace, last) = late.no_row().ended();
        assert_eq!(never_back(&Reading::of(&trace)).unwrap_err().event, Some(last));
    }

    #[test]
    fn the_same_bytes_may_come_back_if_they_were_uploaded_again() {
        let mut again = Story::default();
        again.stored("one", 1).row("one", "queued", None).stored("two", 2);
        again.row("two", "queued", None).stored("one", 3).row("one", "queued", None);
        assert_eq!(never_back(&Reading::of(&again.trace())), Ok(()));
        assert!(never_back(&Reading::of(&again.row("two", "queued", None).trace())).is_err());
    }

    #[test]
    fn bytes_that_came_back_do_not_excuse_a_row_that_r2_knows_to_be_older() {
        let mut twice = Story::default();
        twice.stored("one", 1).looks(1, "one").hears(1, "one").row("one", "queued", None);
        twice.stored("two", 2).looks(2, "two").stored("one", 3).looks(3, "one");
        // Without the third answer the row is about the first upload, and goes forward.
        let mut second = twice.clone();
        second.hears(2, "two").row("two", "queued", None);
        assert_eq!(never_back(&Reading::of(&second.trace())), Ok(()));
        // With it the row is about the third, and the second answer is stale.
        twice.hears(3, "one").hears(2, "two");
        let (trace, last) = twice.row("two", "queued", None).ended();
        assert_eq!(never_back(&Reading::of(&trace)).unwrap_err().event, Some(last));
    }

    #[test]
    fn an_answer_that_the_agent_did_not_go_on_with_is_no_reason() {
        let mut asked = Story::default();
        asked.stored("one", 1).looks(1, "one").hears(1, "one").row("one", "queued", None);
        asked.stored("two", 2).looks(2, "two").stored("one", 3).looks(3, "one");
        asked.hears_and_asks_again(3, "one").hears(2, "two").row("two", "queued", None);
        assert_eq!(never_back(&Reading::of(&asked.trace())), Ok(()));
    }

    #[test]
    fn a_row_that_is_moved_has_not_changed() {
        let mut moved = Story::default();
        moved.stored("one", 1).row("one", "queued", None).migrated();
        assert_eq!(never_back(&Reading::of(&moved.trace())), Ok(()));
        assert_eq!(latest_wins(&Reading::of(&moved.trace())), Ok(()));
    }

    #[test]
    fn a_row_that_comes_back_after_its_deletion_is_rejected_where_it_happens() {
        let mut gone = Story::default();
        gone.stored("one", 1).removed(2).acked(2);
        assert_eq!(stays_deleted(&Reading::of(&gone.trace())), Ok(()));
        let (trace, last) = gone.clone().row("one", "queued", None).ended();
        let finding = stays_deleted(&Reading::of(&trace)).unwrap_err();
        assert_eq!(finding.event, Some(last));
        assert!(
            finding.message.ends_with(" of acme/cat.jpg was deleted and has a row"),
            "{finding:?}"
        );
        gone.stored("one", 3).row("one", "queued", None);
        assert_eq!(stays_deleted(&Reading::of(&gone.trace())), Ok(()));
    }

    #[test]
    fn a_deletion_acknowledged_over_its_row_is_rejected_where_it_happens() {
        let mut gone = Story::default();
        let (trace, last) =
            gone.stored("one", 1).row("one", "queued", None).removed(2).acked(2).ended();
        assert_eq!(stays_deleted(&Reading::of(&trace)).unwrap_err().event, Some(last));
    }
}
