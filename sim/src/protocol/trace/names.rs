//! The short names of actors: at most [`WIDTH`] columns, and no two actors of a history share one.

use std::sync::Arc;

use super::cut::columns;
use super::tokens::tokens;
use super::{Event, EventKind, Trace};
use crate::protocol::op::Op;
use crate::services::workflow::Engine;

/// The width of the actor column.
pub(super) const WIDTH: usize = 20;

/// How actors are called in a history.
#[derive(Debug)]
pub(super) struct Names {
    short: Vec<String>,
    /// The long names that texts mention, the longest first, so that a name within another is not cut.
    replaced: Vec<(Arc<str>, String)>,
    /// The longest short name of an actor to whom something happened.
    pub(super) width: usize,
}

impl Names {
    pub(super) fn new(trace: &Trace) -> Names {
        let actors = trace.actors();
        let mut short = vec![String::new(); actors.len()];
        let mut taken: Vec<String> = Vec::new();
        // In the order in which things happened to them, which a trace that was read from a file shares.
        for event in trace.events() {
            for actor in [event.actor, trace.subject(event)] {
                let at = usize::from(actor);
                if short[at].is_empty() {
                    let name = unique(shorten(&actors[at]), &taken);
                    taken.push(name.clone());
                    short[at] = name;
                }
            }
        }
        let width = taken.iter().map(|name| columns(name)).max().unwrap_or(0);
        let both = actors
            .iter()
            .zip(&short)
            .filter(|(long, short)| !short.is_empty() && ***long != ***short);
        let mut replaced: Vec<_> =
            both.map(|(long, short)| (long.clone(), short.clone())).collect();
        replaced.sort_by(|one, two| two.0.len().cmp(&one.0.len()).then(one.0.cmp(&two.0)));
        Names { short, replaced, width }
    }

    /// The short name of an actor to whom something happened.
    pub(super) fn of(&self, actor: u16) -> &str {
        &self.short[usize::from(actor)]
    }

    /// `text` with every long name in its short form.
    pub(super) fn replace(&self, text: &str) -> String {
        let mut text = text.to_string();
        for (long, short) in &self.replaced {
            if text.contains(&**long) {
                text = text.replace(&**long, short);
            }
        }
        text
    }
}

impl Trace {
    /// The actor of whom the text form tells an event: when an engine writes its journal, its instance.
    pub fn subject(&self, event: &Event) -> u16 {
        let engine = match event.kind {
            EventKind::Effect { call, .. } => match self.op(call) {
                Op::Workflow(op) => op.engine(),
                _ => None,
            },
            _ => None,
        };
        engine.and_then(|engine| self.instance(engine)).unwrap_or(event.actor)
    }

    /// The actor that is the instance of an engine.
    pub(super) fn instance(&self, engine: &Engine) -> Option<u16> {
        let name = format!("{}/{}", engine.workflow, engine.id);
        self.actors().iter().position(|actor| **actor == *name).map(|at| at as u16)
    }
}

/// `OrganizationWorkflow/imgcls_875edc86ebb5…` is `…Workflow/875edc86`: the last word of a long class, or as much of
/// the beginning as fits, and the digits by which the texts call it.
fn shorten(name: &str) -> String {
    let short = tokens(name);
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

/// `name`, or the first of `name~2`, `name~3`, … that is not taken.
fn unique(name: String, taken: &[String]) -> String {
    let numbered = (2..).map(|number: usize| {
        let mark = format!("~{number}");
        let head: String = name.chars().take(WIDTH - mark.len()).collect();
        head + &mark
    });
    let found = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name));
    found.expect("there are more numbers than actors")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::time::Time;

    const HEX: &str = "875edc86ebb5c55f11c0e5f2e6fb5e4644269d6ceca06323fc6228f693d8c61e";

    fn names(actors: &[&str]) -> (Trace, Vec<String>) {
        let mut trace = Trace::new(actors.iter().map(|name| (*name).into()).collect());
        for actor in 0..actors.len() as u16 {
            trace.push(Event { at: Time::ZERO, actor, kind: EventKind::AlarmDropped });
        }
        let names = Names::new(&trace);
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
        assert_eq!(Names::new(&trace).replace(&text), "workflow.begin …Workflow/875edc86@1");
    }
}
