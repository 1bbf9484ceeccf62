//! The drawing of a history: a lane for each actor, and a line for every message. A line that crosses another has
//! overtaken it. The script of the page moves the rows of the drawing to those of the text.

use std::fmt::Write;

use crate::values::sorted_map::SortedMap;

use super::super::text::Text;
use super::super::{Event, EventKind, OutcomeId, Trace};
use super::escaped::Escaped;
use super::{call, hue, kind};

/// Pixels from one event to the next, and from one lane to the next.
const ROW: usize = 22;
const LANE: usize = 18;
/// Pixels for a letter of a name that is written upwards.
const LETTER: usize = 7;

pub(super) struct Lanes<'a, 't> {
    trace: &'a Trace,
    text: &'t Text<'a>,
    /// The actors to whom anything happened, in the order in which it first did.
    lanes: Vec<u16>,
    /// Where the lane of each actor is, if it has one.
    places: Vec<Option<usize>>,
    /// Room for the names above the lanes.
    pub head: usize,
}

impl<'a, 't> Lanes<'a, 't> {
    pub fn new(trace: &'a Trace, text: &'t Text<'a>) -> Lanes<'a, 't> {
        let mut lanes = Vec::new();
        let mut places = vec![None; trace.actors().len()];
        for event in trace.events() {
            places[usize::from(event.actor)].get_or_insert_with(|| {
                lanes.push(event.actor);
                lanes.len() - 1
            });
        }
        let longest = lanes.iter().map(|actor| text.names.of(*actor).chars().count()).max();
        Lanes { trace, text, lanes, places, head: longest.unwrap_or(0) * LETTER + ROW }
    }

    /// The whole drawing.
    pub fn draw(&self, text: &mut String) {
        let (width, height) =
            (LANE * (self.lanes.len() + 1), self.head + ROW * (self.trace.events().len() + 1));
        let _ = writeln!(
            text,
            "<svg width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"who called whom\">"
        );
        self.lanes(text);
        self.messages(text);
        self.dots(text);
        let _ = writeln!(text, "</svg>");
    }

    fn x(&self, actor: u16) -> usize {
        let lane = self.places[usize::from(actor)];
        LANE * (lane.expect("every actor of an event has a lane") + 1)
    }

    fn y(&self, row: usize) -> usize {
        self.head + ROW * row + ROW / 2
    }

    fn events(&self) -> impl Iterator<Item = (usize, &'a Event)> {
        self.trace.events().iter().enumerate()
    }

    /// Names, and lines that are broken while their host is dead.
    fn lanes(&self, text: &mut String) {
        let mut lives: Vec<Vec<(usize, &Event)>> = vec![Vec::new(); self.places.len()];
        for (at, event) in self.events() {
            lives[usize::from(event.actor)].push((at, event));
        }
        for actor in &self.lanes {
            let (x, hue) = (self.x(*actor), hue(*actor));
            let name = Escaped(self.text.names.of(*actor));
            let _ = writeln!(
                text,
                "<text class=\"name\" style=\"--hue:{hue}\" transform=\"translate({x},{}) rotate(-90)\">{name}</text>",
                self.head - 8
            );
            for pair in lives[usize::from(*actor)].windows(2) {
                let ((at, event), (next, _)) = (pair[0], pair[1]);
                let dead = matches!(event.kind, EventKind::Crash { .. } | EventKind::Abort { .. });
                let class = if dead { "lane dead" } else { "lane" };
                let (from, to) = (self.y(at), self.y(next));
                let _ = writeln!(
                    text,
                    "<line class=\"{class}\" data-rows=\"{at} {next}\" style=\"--hue:{hue}\" x1=\"{x}\" y1=\"{from}\" x2=\"{x}\" y2=\"{to}\"/>"
                );
            }
        }
    }

    /// A line for every request that arrived and for every answer that was heard.
    fn messages(&self, text: &mut String) {
        let mut asked: Vec<Option<(usize, u16)>> = Vec::new();
        // Who gave the answer of that number, and when.
        let mut answered: SortedMap<OutcomeId, (usize, u16)> = SortedMap::new();
        for (at, event) in self.events() {
            let mut line = |call: u32, class: &str, from: (usize, u16)| {
                let (x1, y1, x2, y2) =
                    (self.x(from.1), self.y(from.0), self.x(event.actor), self.y(at));
                let _ = writeln!(
                    text,
                    "<line class=\"{class}\" data-call=\"{call}\" data-rows=\"{} {at}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>",
                    from.0
                );
            };
            match event.kind {
                EventKind::Call { call } => {
                    asked.resize(asked.len().max(call as usize + 1), None);
                    asked[call as usize] = Some((at, event.actor));
                }
                EventKind::Begin { call } | EventKind::Effect { call, .. } => {
                    if let Some(from) = asked.get(call as usize).copied().flatten() {
                        line(call, "go", from);
                    }
                }
                EventKind::Return { call, outcome } => {
                    if let Some(from) = answered.get(&outcome) {
                        line(call, "back", *from);
                    }
                }
                _ => {}
            }
            if let EventKind::Effect { outcome, .. } | EventKind::End { outcome, .. } = event.kind {
                answered.insert(outcome, (at, event.actor));
            }
        }
    }

    fn dots(&self, text: &mut String) {
        for (at, event) in self.events() {
            let (x, y, kind) = (self.x(event.actor), self.y(at), kind(self.trace, event));
            let radius = if kind == "quiet" { 3 } else { 5 };
            let call = call(event).map_or(String::new(), |call| format!(" data-call=\"{call}\""));
            let _ = writeln!(
                text,
                "<circle class=\"{kind}\" data-rows=\"{at}\" style=\"--hue:{}\"{call} cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>",
                hue(event.actor)
            );
        }
    }
}
