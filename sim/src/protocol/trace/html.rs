//! The trace as one page that needs nothing else, neither files nor a network.
//!
//! On the left is a lane for each actor (`html/lanes.rs`) beside the lines of the text. On the right is what is kept at
//! the event at which a slider stands (`html/durable.rs`) and what that event says in full (`html/data.rs`). A second
//! view has a run that holds beside this one (`html/beside.rs`).

mod beside;
mod data;
mod durable;
mod escaped;
mod lanes;

use std::fmt::Write;

use super::story::Story;
use super::text::{Length, Text};
use super::{Event, EventKind, Trace};
use crate::services::sqlite::TIED;
use crate::values::call::CallClass;
pub use escaped::Escaped;
use lanes::Lanes;

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// What a page shows besides the history.
#[derive(Clone, Copy, Debug, Default)]
pub struct Page<'a> {
    /// What the page is about, in a sentence.
    pub title: &'a str,
    /// The broken promises, the plainest first: the promise, and how it is broken.
    pub broken: &'a [(String, String)],
    /// What led to the failure; the rest is folded away at first.
    pub story: Option<&'a Story>,
    /// Why there is no run beside it, or how to play it again.
    pub notes: &'a [String],
    /// The nearest run that holds.
    pub beside: Option<Beside<'a>>,
    /// Where a link back to a list leads to.
    pub list: Option<&'a str>,
}

/// A run that keeps the promise which another breaks.
#[derive(Clone, Copy, Debug)]
pub struct Beside<'a> {
    /// Its history.
    pub trace: &'a Trace,
    /// What it is without, in words.
    pub without: &'a str,
    /// Where the runs part: see [`Trace::parting`].
    pub parting: (usize, usize),
}

impl Trace {
    /// A page with nothing but the history.
    pub fn to_html(&self, title: &str) -> String {
        self.to_page(&Page { title, ..Page::default() })
    }

    /// The page of this history.
    pub fn to_page(&self, page: &Page<'_>) -> String {
        let told = Text::new(self, Length::Short);
        let lanes = Lanes::new(self, &told);
        let title = Escaped(page.title);
        let mut text = format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n"
        );
        page.header(self, &mut text);
        let _ = writeln!(
            text,
            "<main id=\"history\">\n<div class=\"lines\" style=\"--head:{}px\">",
            lanes.head
        );
        lanes.draw(&mut text);
        let _ = writeln!(text, "<ol>");
        page.lines(&told, &mut text);
        let _ =
            writeln!(text, "</ol>\n</div>\n<aside aria-label=\"what is kept\"></aside>\n</main>");
        if let Some(beside) = &page.beside {
            beside.section(&told, &mut text);
        }
        let data = escaped::json(&data::of(self, page.story));
        let _ = write!(
            text,
            "<script type=\"application/json\" id=\"data\">{data}</script>\n<script>\n{SCRIPT}</script>\n</html>\n"
        );
        text
    }
}

impl Page<'_> {
    /// The broken promise on top, then what went wrong in the platform, then what moves through the history.
    fn header(&self, trace: &Trace, text: &mut String) {
        let _ = write!(text, "<header>");
        if let Some(list) = self.list {
            let _ = write!(text, "<a class=\"list\" href=\"{}\">all failures</a>", Escaped(list));
        }
        let _ = write!(text, "<h1>{}</h1>", Escaped(self.title));
        let one = |(promise, message): &(String, String)| {
            let (promise, message) = (Escaped(promise), Escaped(message));
            format!("<p class=\"wrong\"><strong>{promise}</strong> {message}</p>")
        };
        if let Some((first, others)) = self.broken.split_first() {
            *text += &one(first);
            if !others.is_empty() {
                let (count, others) = (others.len(), others.iter().map(one).collect::<String>());
                let _ = write!(
                    text,
                    "<details><summary>the same run breaks {count} more</summary>{others}</details>"
                );
            }
        }
        for (at, words) in self.story.iter().flat_map(|story| &story.faults) {
            let number = at + 1;
            let _ = write!(
                text,
                "<p class=\"fault\">{} <a href=\"#{number}\">event {number}</a></p>",
                Escaped(words)
            );
        }
        for note in self.notes {
            let _ = write!(text, "<p class=\"note\">{}</p>", Escaped(note));
        }
        let _ = writeln!(text, "</header>\n{}", self.controls(trace));
    }

    fn controls(&self, trace: &Trace) -> String {
        let all = trace.events().len();
        let fold = self.story.map_or(String::new(), |story| {
            let told = story.events.len();
            format!(
                "<label><input type=\"checkbox\" id=\"all\"> all {all} events, not only the {told} that led to it</label>"
            )
        });
        let compare = match self.beside {
            Some(_) => {
                "<span role=\"tablist\"><button role=\"tab\" id=\"tab-history\" aria-selected=\"true\" aria-controls=\"history\">\
                 History</button><button role=\"tab\" id=\"tab-beside\" aria-selected=\"false\" aria-controls=\"beside\">\
                 Beside a run that holds</button></span>"
            }
            None => "",
        };
        format!(
            "<nav>{compare}<span class=\"of-history\">\
             <span class=\"moment\"><button id=\"back\" title=\"one event back (\u{2190})\" aria-label=\"one event back\">\u{2039}</button>\
             <input type=\"range\" id=\"at\" min=\"0\" max=\"{all}\" value=\"{all}\" aria-label=\"the event after which things are shown\">\
             <button id=\"on\" title=\"one event on (\u{2192})\" aria-label=\"one event on\">\u{203a}</button>\
             <output for=\"at\"></output></span>\
             <input type=\"search\" placeholder=\"only lines with\u{2026}\" aria-label=\"only lines with\"><span id=\"found\"></span>{fold}\
             <details class=\"keys\"><summary>keys</summary><p>\u{2190} \u{2192} one event, \u{21e7}\u{2190} \u{21e7}\u{2192} to the next \
             change of what is kept, Home and End, <kbd>/</kbd> filter, <kbd>a</kbd> all events, <kbd>c</kbd> the other view</p></details>\
             </span></nav>"
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

    fn lines(&self, told: &Text<'_>, text: &mut String) {
        for (at, event) in told.trace.events().iter().enumerate() {
            let number = at + 1;
            let call = call(event).map_or(String::new(), |call| format!(" data-call=\"{call}\""));
            let _ = writeln!(
                text,
                "<li id=\"{number}\" class=\"{}{}\"{call}><a href=\"#{number}\">{number}</a><time>{}</time>\
                 <b style=\"--hue:{}\" title=\"{actor}\">{}</b><span>{}</span></li>",
                kind(told.trace, event),
                self.told(at),
                event.at,
                hue(event.actor),
                Escaped(told.names.of(told.subjects.of(event))),
                Escaped(self.said(told, at)),
                actor = Escaped(told.trace.actor(event)),
            );
        }
    }

    /// What happened; a fault in the words of the story.
    fn said(&self, told: &Text<'_>, at: usize) -> String {
        let faults = self.story.map_or(&[][..], |story| &story.faults);
        let words = faults.iter().find(|(fault, _)| *fault == at);
        words.map_or_else(
            || told.describe(at, 1).replace(TIED, " "),
            |(_, words)| format!("FAULT  {words}"),
        )
    }
}

/// How much it matters to whom is looking for what went wrong.
fn kind(trace: &Trace, event: &Event) -> &'static str {
    match event.kind {
        EventKind::Crash { .. }
        | EventKind::Fault { .. }
        | EventKind::Abort { .. }
        | EventKind::AlarmDropped
        | EventKind::Panic { .. }
        | EventKind::Stuck { .. }
        | EventKind::Livelock { .. } => "wrong",
        EventKind::Rows { .. } | EventKind::Settle { .. } => "kept",
        EventKind::Effect { call, .. } if trace.op(call).class() != CallClass::Journal => "kept",
        _ => "quiet",
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

/// Colours that neighbours do not share.
fn hue(actor: u16) -> u32 {
    u32::from(actor) * 137 % 360
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::fault::Fault;
    use crate::protocol::http::Request;
    use crate::protocol::op::Op;
    use crate::protocol::outcome::Error;
    use crate::protocol::outcome::Reply;
    use crate::protocol::trace::OutcomeId;
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
