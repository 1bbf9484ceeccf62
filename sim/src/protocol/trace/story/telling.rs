//! How a story tells a line: a fault in words, and of many rows those that matter.

use super::super::folded::Line;
use super::super::text::{ROW_MAX, Text};
use super::super::{EventKind, Trace};
use super::words;
use crate::services::sqlite::{RowChange, Value};
use crate::values::sorted_map::SortedMap;

/// So many lines are shown of one event, and of one that breaks a promise.
const EVENT_MAX: usize = 3;
const BROKEN_MAX: usize = 6;

/// What a story tells of.
pub(super) struct Telling<'a> {
    text: &'a Text<'a>,
    /// Whether it tells of each event.
    told: Vec<bool>,
    /// How many of those events change each row.
    rows: SortedMap<(u16, &'a str, &'a [Value]), usize>,
}

impl<'a> Telling<'a> {
    pub fn new(text: &'a Text<'a>, events: &[usize]) -> Telling<'a> {
        let mut told = vec![false; text.trace.events().len()];
        let mut rows = SortedMap::new();
        for at in events {
            told[*at] = true;
            let actor = text.trace.events()[*at].actor;
            for row in changes(text.trace, *at) {
                *rows.entry((actor, &*row.table, &row.key[..])).or_default() += 1;
            }
        }
        Telling { text, told, rows }
    }

    /// A line with its fault in words, and no longer than it has to be.
    pub fn line(&self, line: &Line) -> Line {
        let mut line = line.clone();
        if let [at] = line.events[..]
            && let Some(said) = self.fault(at)
        {
            let crash = matches!(self.text.trace.events()[at].kind, EventKind::Crash { .. });
            let verb = if crash { "CRASH" } else { "FAULT" };
            line.text = self.text.broken(&format!("{verb}  {said}"), EVENT_MAX);
        }
        let most = if line.marked { BROKEN_MAX } else { EVENT_MAX };
        if line.text.len() > most {
            line.text = self.shortened(&line, most);
        }
        line
    }

    /// What a fault did, in words.
    pub fn fault(&self, at: usize) -> Option<String> {
        words::sentence(self.text, at, &self.told)
    }

    /// So many lines at most: first the rows that other events of the story change too.
    fn shortened(&self, line: &Line, most: usize) -> Vec<String> {
        let trace = self.text.trace;
        let mut rows: Vec<(bool, &RowChange)> = Vec::new();
        for at in &line.events {
            let actor = trace.events()[*at].actor;
            rows.extend(changes(trace, *at).iter().map(|row| {
                let times = self.rows.get(&(actor, &*row.table, &row.key[..]));
                (times.is_none_or(|times| *times < 2), row)
            }));
        }
        rows.sort_by_key(|(alone, _)| *alone);
        let mut lines = line.text[..line.head.min(most)].to_vec();
        let mut left = rows.len();
        for (_, row) in rows {
            // One line is kept for what is left out.
            let room = most.saturating_sub(lines.len() + usize::from(left > 1));
            if room == 0 {
                break;
            }
            lines.extend(self.text.row(&self.text.plain(&row.told(false)), room.min(ROW_MAX)));
            left -= 1;
        }
        if left > 0 {
            lines.truncate(most - 1);
            lines.push(format!("… and {left} more {}", if left == 1 { "row" } else { "rows" }));
        }
        if line.head == 0 {
            lines[0] = format!("rows   {}", lines[0]);
        }
        lines
    }
}

/// The rows that an event changes.
fn changes(trace: &Trace, at: usize) -> &[RowChange] {
    match &trace.events()[at].kind {
        EventKind::Rows { changes } => changes,
        _ => &[],
    }
}
