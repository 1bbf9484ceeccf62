//! The short names of actors: at most [`WIDTH`] columns, and no two actors of a history share one.

use std::sync::Arc;

use super::Trace;
use super::abbreviation::middle;
use super::subjects::Subjects;
use super::tokens::tokens;
use super::truncate::columns;
use crate::values::printable::printable;
use crate::values::sorted_map::SortedMap;
use crate::values::sorted_set::SortedSet;

/// The width of the actor column.
pub(super) const WIDTH: usize = 20;

/// Of a longer name only the beginning and the end are looked at.
const LONGEST: usize = 512;

/// How actors are called in a history.
#[derive(Debug)]
pub(super) struct Names {
    short: Vec<String>,
    /// The long names that texts mention, in alphabetical order.
    replaced: Vec<(Arc<str>, String)>,
    /// The bytes with which one of them begins.
    begins: [bool; 256],
    /// The longest short name of an actor to whom something happened.
    pub(super) width: usize,
}

impl Names {
    pub(super) fn new(trace: &Trace, subjects: &Subjects<'_>) -> Names {
        let actors = trace.actors();
        let mut short = vec![String::new(); actors.len()];
        let mut taken = Taken::default();
        // In the order in which things happened to them, which a trace that was read from a file shares.
        for event in trace.events() {
            for actor in [event.actor, subjects.of(event)] {
                let at = usize::from(actor);
                if short[at].is_empty() {
                    short[at] = taken.take(shorten(&actors[at]));
                }
            }
        }
        let width = short.iter().map(|name| columns(name)).max().unwrap_or(0);
        let both = actors
            .iter()
            .zip(&short)
            .filter(|(long, short)| !short.is_empty() && ***long != ***short);
        let mut replaced: Vec<(Arc<str>, String)> =
            both.map(|(long, short)| (printable(long).into(), short.clone())).collect();
        replaced.sort_unstable();
        // An empty name is nowhere in a text.
        replaced.retain(|(long, _)| !long.is_empty());
        let mut begins = [false; 256];
        replaced.iter().for_each(|(long, _)| begins[usize::from(long.as_bytes()[0])] = true);
        Names { short, replaced, begins, width }
    }

    /// The short name of an actor to whom something happened.
    pub(super) fn of(&self, actor: u16) -> &str {
        &self.short[usize::from(actor)]
    }

    /// `text` with every long name in its short form; of two that begin at the same place, the longer.
    pub(super) fn replace(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let begins = self.begins[usize::from(rest.as_bytes()[0])];
            match if begins { self.longest(rest) } else { None } {
                Some((long, short)) => {
                    out += short;
                    rest = &rest[long.len()..];
                }
                None => {
                    out.push(first);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        out
    }

    /// The longest of the long names with which `text` begins.
    fn longest(&self, text: &str) -> Option<&(Arc<str>, String)> {
        let mut limit = text;
        loop {
            // Of the names up to `limit`, the last shares most with it. If it is no beginning of the text,
            // then only what both share can be.
            let at = self.replaced.partition_point(|(long, _)| **long <= *limit);
            let known = &self.replaced[at.checked_sub(1)?];
            if text.starts_with(&*known.0) {
                return Some(known);
            }
            let both = known.0.chars().zip(limit.chars()).take_while(|(one, two)| one == two);
            let shared: usize = both.map(|(c, _)| c.len_utf8()).sum();
            if shared == 0 {
                return None;
            }
            limit = &limit[..shared];
        }
    }
}

/// `OrganizationWorkflow/imgcls_875edc86ebb5…` is `…Workflow/875edc86`: the last word of a long class, or as much of
/// the beginning as fits, and the digits by which the texts call it.
fn shorten(name: &str) -> String {
    let short = tokens(&printable(&middle(name, LONGEST)));
    if columns(&short) <= WIDTH {
        return short;
    }
    let ends: Vec<char> = short.trim_end_matches('…').chars().collect();
    let tail: String = ends[ends.len().saturating_sub(8)..].iter().collect();
    let room = WIDTH - 1 - columns(&tail);
    let class = short.split_once('/').map_or("", |(class, _)| class);
    if columns(class) > room - 1
        && let Some(word) = last_word(class, room - 1)
    {
        return format!("…{word}/{tail}");
    }
    let head: String = short.chars().take(room).collect();
    format!("{head}…{tail}")
}

/// The longest end of a class in camel case that begins with a capital and has at most `width` columns.
fn last_word(class: &str, width: usize) -> Option<&str> {
    let capitals = class.char_indices().skip(1).filter(|(_, c)| c.is_uppercase());
    capitals.map(|(at, _)| &class[at..]).find(|word| columns(word) <= width)
}

/// The short names that are given out.
#[derive(Default)]
struct Taken {
    names: SortedSet<String>,
    /// The number that is tried next for a name that is taken.
    next: SortedMap<String, usize>,
}

impl Taken {
    /// `name`, or the first of `name~2`, `name~3`, … that is not taken.
    fn take(&mut self, name: String) -> String {
        if self.names.insert(name.clone()) {
            return name;
        }
        let number = self.next.entry(name.clone()).or_insert(2);
        loop {
            let mark = format!("~{number}");
            let head: String = name.chars().take(WIDTH - mark.len()).collect();
            *number += 1;
            if self.names.insert(head.clone() + &mark) {
                return head + &mark;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Event, EventKind};
    use super::*;
    use crate::values::time::Time;

    impl Names {
        fn of_all(trace: &Trace) -> Names {
            Names::new(trace, &Subjects::new(trace))
        }
    }

    const HEX: &str = "875edc86ebb5c55f11c0e5f2e6fb5e4644269d6ceca06323fc6228f693d8c61e";

    fn names(actors: &[&str]) -> (Trace, Vec<String>) {
        let mut trace = Trace::new(actors.iter().map(|name| (*name).into()).collect());
        for actor in 0..actors.len() as u16 {
            trace.push(Event { at: Time::ZERO, actor, kind: EventKind::AlarmDropped });
        }
        let names = Names::of_all(&trace);
        let all = (0..actors.len() as u16).map(|actor| names.of(actor).to_string()).collect();
        (trace, all)
    }

    #[test]
    fn a_name_that_fits_stays_and_a_long_one_keeps_its_beginning_and_its_digits() {
        let workflow = format!("OrganizationWorkflow/imgcls_{HEX}");
        let (_, short) =
            names(&["r2", "GENERATION:019b76da-a802-7569-a161-e52fa3730902", &workflow]);
        assert_eq!(short, ["r2", "GENERATION:…a3730902", "…Workflow/875edc86"]);
    }

    #[test]
    fn names_are_at_most_the_column_wide_and_no_two_are_equal() {
        let other = format!("OrganizationWorkflow/other_{HEX}");
        let workflow = format!("OrganizationWorkflow/imgcls_{HEX}");
        let (_, short) = names(&[&workflow, &other, "é".repeat(40).as_str()]);
        assert_eq!(short[1], "…Workflow/875edc86~2");
        assert!(short.iter().all(|name| columns(name) <= WIDTH), "{short:?}");
    }

    #[test]
    fn texts_call_an_actor_as_its_column_does() {
        let workflow = format!("OrganizationWorkflow/imgcls_{HEX}");
        let (trace, _) = names(&[&workflow]);
        let text = format!("workflow.begin {workflow}@1");
        assert_eq!(Names::of_all(&trace).replace(&text), "workflow.begin …Workflow/875edc86@1");
    }

    #[test]
    fn a_name_within_another_is_not_cut_and_many_names_are_told_apart() {
        let long = |n: usize| format!("OrganizationWorkflow/number-{n}");
        let more = |n: usize| format!("OrganizationWorkflow/number-{n}-of-many");
        let actors: Vec<String> = (0..400).map(long).chain((0..400).map(more)).collect();
        let (trace, short) = names(&actors.iter().map(String::as_str).collect::<Vec<_>>());
        let known = Names::of_all(&trace);
        for (long, short) in actors.iter().zip(&short) {
            assert_eq!(known.replace(&format!("<{long}> {long}")), format!("<{short}> {short}"));
        }
        assert_eq!(known.replace("OrganizationWorkflow/number-"), "OrganizationWorkflow/number-");
        let distinct: SortedSet<_> = short.iter().collect();
        assert_eq!(distinct.len(), 800);
    }

    #[test]
    fn a_name_with_a_line_break_or_an_escape_is_shown_without() {
        let (_, short) = names(&["a\n0.000s  1  r2\u{1b}[2J"]);
        assert!(!short[0].contains(['\n', '\u{1b}']), "{short:?}");
    }
}
