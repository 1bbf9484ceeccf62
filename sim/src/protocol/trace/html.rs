//! The trace as one page: a lane for each actor on the left, with a line for every message, and the
//! text on the right. A line that crosses another has overtaken it.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

use super::story::Story;
use super::text::{Length, Text};
use super::{Event, EventKind, OutcomeId, Trace};
use crate::services::sqlite::TIED;
use crate::values::call::CallClass;
use crate::values::printable::printable;

/// Pixels from one event to the next, and from one lane to the next.
const ROW: usize = 22;
const LANE: usize = 20;
/// Room for the names above the lanes.
const HEAD: usize = 180;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

impl Trace {
    /// A page that needs nothing else, neither files nor a network.
    pub fn to_html(&self, title: &str) -> String {
        self.to_html_with(title, &[], None)
    }

    /// The page with remarks below its title. What a story does not tell of is folded away at first.
    pub fn to_html_with(&self, title: &str, remarks: &[String], story: Option<&Story>) -> String {
        let page = Page { story, ..Page::new(self) };
        let (width, height) =
            (LANE * (page.lanes.len() + 1), HEAD + ROW * (self.events().len() + 1));
        let mut text = format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
             <style>\n{STYLE}</style>\n<header><h1>{title}</h1>{remarks}{all}\
             <input type=\"search\" placeholder=\"only lines with…\" aria-label=\"only lines with\"></header>\n\
             <main>\n<svg width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"who called whom\">\n",
            title = Escaped(title),
            all = page.all(),
            remarks = remarks
                .iter()
                .map(|said| format!("<p class=\"wrong\">{}</p>", Escaped(said)))
                .collect::<String>(),
        );
        page.lanes(&mut text);
        page.messages(&mut text);
        page.dots(&mut text);
        let _ = writeln!(text, "</svg>\n<ol style=\"padding-top:{HEAD}px\">");
        page.lines(&mut text);
        let _ = write!(text, "</ol>\n</main>\n<script>\n{SCRIPT}</script>\n</html>\n");
        text
    }
}

struct Page<'a> {
    trace: &'a Trace,
    story: Option<&'a Story>,
    text: Text<'a>,
    /// The actors to whom anything happened, in the order in which it first did.
    lanes: Vec<u16>,
    /// Where the lane of each actor is, if it has one.
    places: Vec<Option<usize>>,
}

impl<'a> Page<'a> {
    fn new(trace: &'a Trace) -> Page<'a> {
        let mut lanes = Vec::new();
        let mut places = vec![None; trace.actors().len()];
        for event in trace.events() {
            places[usize::from(event.actor)].get_or_insert_with(|| {
                lanes.push(event.actor);
                lanes.len() - 1
            });
        }
        Page { trace, story: None, text: Text::new(trace, Length::Short), lanes, places }
    }

    /// What shows the events that the story does not tell of.
    fn all(&self) -> String {
        let Some(story) = self.story else { return String::new() };
        let (told, all) = (story.events.len(), self.trace.events().len());
        let faults = story.faults.iter().map(|(at, words)| {
            let number = at + 1;
            format!("<p>{}, <a href=\"#{number}\">event {number}</a></p>", Escaped(words))
        });
        let faults: String = faults.collect();
        format!(
            "{faults}<label><input type=\"checkbox\" id=\"all\"> all {all} events, not only the {told} that led to it</label>"
        )
    }

    /// Whether the story tells of an event, and whether the promise is broken there.
    fn told(&self, at: usize) -> &'static str {
        match self.story {
            Some(story) if story.marked.contains(&at) => " told broken",
            Some(story) if story.events.binary_search(&at).is_ok() => " told",
            _ => "",
        }
    }

    fn x(&self, actor: u16) -> usize {
        let lane = self.places[usize::from(actor)];
        LANE * (lane.expect("every actor of an event has a lane") + 1)
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
                "<text class=\"name\" style=\"--hue:{hue}\" transform=\"translate({x},{}) rotate(-60)\">{name}</text>",
                HEAD - 10
            );
            for pair in lives[usize::from(*actor)].windows(2) {
                let ((at, event), (next, _)) = (pair[0], pair[1]);
                let dead = matches!(event.kind, EventKind::Crash { .. } | EventKind::Abort { .. });
                let class = if dead { "lane dead" } else { "lane" };
                let (from, to) = (y(at), y(next));
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
        let mut answered: BTreeMap<OutcomeId, (usize, u16)> = BTreeMap::new();
        for (at, event) in self.events() {
            let mut line = |call: u32, class: &str, from: (usize, u16)| {
                let (x1, y1, x2, y2) = (self.x(from.1), y(from.0), self.x(event.actor), y(at));
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
            let (x, y, kind) = (self.x(event.actor), y(at), self.kind(event));
            let radius = if kind == "quiet" { 3 } else { 5 };
            let call = call(event).map_or(String::new(), |call| format!(" data-call=\"{call}\""));
            let _ = writeln!(
                text,
                "<circle class=\"{kind}\" data-rows=\"{at}\" style=\"--hue:{}\"{call} cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>",
                hue(event.actor)
            );
        }
    }

    fn lines(&self, text: &mut String) {
        for (at, event) in self.events() {
            let number = at + 1;
            let call = call(event).map_or(String::new(), |call| format!(" data-call=\"{call}\""));
            let _ = writeln!(
                text,
                "<li id=\"{number}\" class=\"{}{}\"{call}><a href=\"#{number}\">{number}</a> <time>{}</time> \
                 <b style=\"--hue:{}\" title=\"{actor}\">{}</b>{}</li>",
                self.kind(event),
                self.told(at),
                event.at,
                hue(event.actor),
                Escaped(self.text.names.of(self.text.subjects.of(event))),
                Escaped(self.said(at)),
                actor = Escaped(self.trace.actor(event)),
            );
        }
    }

    /// What happened; a fault in the words of the story.
    fn said(&self, at: usize) -> String {
        let faults = self.story.map_or(&[][..], |story| &story.faults);
        let words = faults.iter().find(|(fault, _)| *fault == at);
        words.map_or_else(
            || self.text.describe(at, 1).replace(TIED, " "),
            |(_, words)| format!("FAULT  {words}"),
        )
    }

    /// How much it matters to whom is looking for what went wrong.
    fn kind(&self, event: &Event) -> &'static str {
        match event.kind {
            EventKind::Crash { .. }
            | EventKind::Fault { .. }
            | EventKind::Abort { .. }
            | EventKind::AlarmDropped
            | EventKind::Panic { .. }
            | EventKind::Stuck { .. }
            | EventKind::Livelock { .. } => "wrong",
            EventKind::Rows { .. } | EventKind::Settle { .. } => "kept",
            EventKind::Effect { call, .. } if self.trace.op(call).class() != CallClass::Journal => {
                "kept"
            }
            _ => "quiet",
        }
    }
}

/// The call that an event is about.
fn call(event: &Event) -> Option<u32> {
    match event.kind {
        EventKind::Call { call }
        | EventKind::Begin { call }
        | EventKind::Effect { call, .. }
        | EventKind::End { call, .. }
        | EventKind::Return { call, .. } => Some(call),
        EventKind::Crash { call, .. }
        | EventKind::Fault { call, .. }
        | EventKind::Settle { call, .. } => call,
        _ => None,
    }
}

fn y(row: usize) -> usize {
    HEAD + ROW * row + ROW / 2
}

/// Colours that neighbours do not share.
fn hue(actor: u16) -> u32 {
    u32::from(actor) * 137 % 360
}

/// Text that is no markup.
struct Escaped<T>(T);

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for c in printable(&self.0.to_string()).chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::fault::Fault;
    use crate::protocol::http::Request;
    use crate::protocol::op::Op;
    use crate::protocol::outcome::Error;
    use crate::protocol::outcome::Reply;
    use crate::values::time::Time;

    fn trace(events: &[(u16, EventKind)], outcomes: &[crate::protocol::outcome::Outcome]) -> Trace {
        let mut trace = Trace::new(["alice", "web", "idle"].map(Into::into).into());
        let request = Request::new("GET", "/<b>", "\"&");
        trace.set_op(0, Op::Fetch { to: "web".into(), request });
        outcomes.iter().for_each(|outcome| _ = trace.keep(outcome.clone()));
        for (actor, what) in events {
            trace.push(Event { at: Time::ZERO, actor: *actor, kind: what.clone() });
        }
        trace
    }

    #[test]
    fn a_line_is_drawn_for_what_arrived_and_none_for_what_was_lost() {
        let (heard, lost) = (OutcomeId(0), OutcomeId(1));
        let outcomes = [Ok(Reply::Done), Err(Error::NetworkLost)];
        let asked = [(0, EventKind::Call { call: 0 }), (1, EventKind::Begin { call: 0 })];
        let ended = (1, EventKind::End { call: 0, outcome: heard });
        let returned = |outcome| (0, EventKind::Return { call: 0, outcome });
        let drawn = |events: &[(u16, EventKind)]| {
            let page = trace(events, &outcomes).to_html("a story");
            (page.matches("class=\"go\"").count(), page.matches("class=\"back\"").count())
        };
        let [call, begin] = asked;
        assert_eq!(drawn(&[call.clone(), begin.clone(), ended.clone(), returned(heard)]), (1, 1));
        assert_eq!(drawn(&[call.clone(), begin.clone(), ended, returned(lost)]), (1, 0));
        assert_eq!(drawn(&[call.clone(), returned(lost)]), (0, 0));
        assert_eq!(drawn(&[call, begin.clone(), begin]), (2, 0), "twice");
    }

    #[test]
    fn text_is_no_markup_who_did_nothing_has_no_lane_and_a_dead_host_shows() {
        let crash = EventKind::Crash { fault: Fault::Crash, call: None };
        let events =
            [(1, EventKind::Begin { call: 0 }), (1, crash), (1, EventKind::Boot { life: 2 })];
        let page = trace(&events, &[]).to_html("1 < 2");
        assert!(page.contains("<title>1 &lt; 2</title>") && page.contains("GET /&lt;b&gt; &quot;"));
        assert_eq!(page.matches("class=\"name\"").count(), 1);
        assert_eq!(page.matches("class=\"lane dead\"").count(), 1);
    }
}
