//! Two runs side by side: one that breaks a promise, and the nearest that keeps it. Events that both have stand on one
//! line, and those are folded away unless they are near to a difference.

mod pairs;

use std::fmt::Write;
use std::ops::Range;

use super::super::text::{Length, Text};
use super::Beside;
use super::escaped::Escaped;
use super::hue;
use crate::services::sqlite::TIED;
use pairs::{Pair, pairs};

/// So many lines that both runs have are shown before and after a difference.
const NEAR: usize = 2;

/// Both runs, as their texts tell them.
struct Both<'a, 't> {
    mine: &'t Text<'a>,
    theirs: &'t Text<'a>,
}

impl Beside<'_> {
    /// The part of the page that has both runs.
    pub(super) fn section(&self, mine: &Text<'_>, text: &mut String) {
        let theirs = Text::new(self.trace, Length::Short);
        let pairs = pairs(mine.trace, self.trace, self.parting);
        let parting = pairs.iter().position(|pair| self.parts(*pair)).unwrap_or(pairs.len());
        let both = Both { mine, theirs: &theirs };
        let same: Vec<bool> = pairs.iter().map(|pair| both.same(*pair)).collect();
        let _ = writeln!(
            text,
            "<section id=\"beside\" hidden>\n<p>Without \u{201c}{}\u{201d} the promise holds.</p>\n\
             <div class=\"pair head\"><div class=\"mine\">breaks the promise</div><div class=\"theirs\">keeps it</div></div>",
            Escaped(mine.plain(self.without))
        );
        let mut at = 0;
        while at < pairs.len() {
            let alike = same[at..].iter().take_while(|same| **same).count();
            let end = at + alike.max(1);
            let from = if at == 0 { 0 } else { at + NEAR.min(alike) };
            let to = if end == pairs.len() { end } else { end.saturating_sub(NEAR) };
            let folded = if alike > 0 && to > from + 1 { from..to } else { end..end };
            both.lines(&pairs, at..folded.start, parting, text);
            if !folded.is_empty() {
                let _ = writeln!(
                    text,
                    "<details><summary>{} events that both have</summary>",
                    folded.len()
                );
                both.lines(&pairs, folded.clone(), parting, text);
                let _ = writeln!(text, "</details>");
                both.lines(&pairs, folded.end..end, parting, text);
            }
            at = end;
        }
        let _ = writeln!(text, "</section>");
    }

    /// Whether the runs part at these lines.
    fn parts(&self, (mine, theirs): Pair) -> bool {
        mine.is_some_and(|at| at >= self.parting.0) || theirs.is_some_and(|at| at >= self.parting.1)
    }
}

impl Both<'_, '_> {
    /// Whether both runs have this event, at the same time and with the same words.
    fn same(&self, (mine, theirs): Pair) -> bool {
        let Some((mine, theirs)) = mine.zip(theirs) else { return false };
        self.mine.trace.events()[mine].at == self.theirs.trace.events()[theirs].at
            && said(self.mine, mine) == said(self.theirs, theirs)
    }

    fn lines(&self, pairs: &[Pair], of: Range<usize>, parting: usize, text: &mut String) {
        for at in of {
            if at == parting {
                let _ = writeln!(text, "<p class=\"parting\">here the runs part</p>");
            }
            let (mine, theirs) = pairs[at];
            let class = match (self.same(pairs[at]), mine, theirs) {
                (true, ..) => "pair same",
                (false, Some(_), Some(_)) => "pair other",
                _ => "pair alone",
            };
            let _ = write!(text, "<div class=\"{class}\">");
            for (one, side, at) in [(self.mine, "mine", mine), (self.theirs, "theirs", theirs)] {
                match at {
                    None => text.push_str("<div class=\"none\"></div>"),
                    Some(at) => line(one, side, at, text),
                }
            }
            let _ = writeln!(text, "</div>");
        }
    }
}

/// One event. Those of the failing run lead to where they stand in its history.
fn line(told: &Text<'_>, side: &str, at: usize, text: &mut String) {
    let (event, number) = (&told.trace.events()[at], at + 1);
    let number = match side {
        "mine" => format!("<a href=\"#{number}\">{number}</a>"),
        _ => format!("<a>{number}</a>"),
    };
    let _ = write!(
        text,
        "<div class=\"{side} {}\">{number}<time>{}</time><b style=\"--hue:{}\">{}</b><span>{}</span></div>",
        super::kind(told.trace, event),
        event.at,
        hue(event.actor),
        Escaped(told.names.of(told.subjects.of(event))),
        Escaped(said(told, at)),
    );
}

/// What happened, without the number of the call, which differs between runs for no other reason than its place.
fn said(told: &Text<'_>, at: usize) -> String {
    let said = told.describe(at, 1).replace(TIED, " ");
    match super::call(&told.trace.events()[at]) {
        Some(call) => {
            said.replacen(&format!("#{call} "), "", 1).replacen(&format!(" on #{call}"), "", 1)
        }
        None => said,
    }
}
