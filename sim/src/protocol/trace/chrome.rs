//! The trace for Perfetto and `chrome://tracing`: the JSON format of trace events.

use serde_json::{Value, json};

use super::text::{Length, Text};
use super::{EventKind, Trace};
use crate::services::sqlite::TIED;
use crate::values::call::CallClass;
use crate::values::printable::printable_json;
use crate::values::sorted_map::SortedMap;

/// Microseconds in a millisecond, which is the finest time that a run has.
const MILLISECOND: u64 = 1_000;

impl Trace {
    /// One JSON document. Each actor is a process. What it handles and what it waits for are spans, which may overlap;
    /// effects, faults, crashes and row changes are moments. Events of one millisecond are a microsecond apart, so that
    /// their order can be seen.
    pub fn to_chrome(&self) -> String {
        let told = Text::new(self, Length::Short);
        let mut spans = Spans { told: &told, open: SortedMap::new(), events: Vec::new() };
        let (mut before, mut behind) = (None, 0);
        for (at, event) in self.events().iter().enumerate() {
            behind = if before == Some(event.at) { behind + 1 } else { 0 };
            before = Some(event.at);
            let ts = event.at.as_ms() * MILLISECOND + behind.min(MILLISECOND - 1);
            let actor = event.actor;
            match event.kind {
                EventKind::Call { call } => spans.begin(Kind::Waits, actor, call, ts),
                EventKind::Begin { call } => spans.begin(Kind::Handles, actor, call, ts),
                EventKind::Return { call, .. } => spans.end(Kind::Waits, actor, call, ts, at),
                EventKind::End { call, .. } => spans.end(Kind::Handles, actor, call, ts, at),
                // Nobody is told of the end of an event that a service sends.
                EventKind::Effect { call, .. } if self.op(call).class() == CallClass::Event => {
                    spans.moment(actor, ts, at);
                    spans.end_where(
                        |(_, kind, one)| (kind, one) == (Kind::Waits, call),
                        ts,
                        "sent",
                    );
                }
                EventKind::Crash { .. } => {
                    spans.moment(actor, ts, at);
                    spans.end_where(|(died, ..)| died == actor, ts, "with the host");
                }
                _ => spans.moment(actor, ts, at),
            }
        }
        let last = before.map_or(0, |at| (at.as_ms() + 1) * MILLISECOND);
        spans.end_where(|_| true, last, "never");
        let mut events = spans.events;
        for actor in 0..self.actors().len() as u16 {
            let args = json!({ "name": told.names.of(actor) });
            events.push(json!({ "ph": "M", "name": "process_name", "pid": pid(actor), "tid": 0, "args": args }));
            let args = json!({ "sort_index": actor });
            events.push(json!({ "ph": "M", "name": "process_sort_index", "pid": pid(actor), "tid": 0, "args": args }));
        }
        let document = json!({ "displayTimeUnit": "ms", "traceEvents": events });
        printable_json(&document.to_string()).into_owned() + "\n"
    }
}

/// The number of an actor. Zero is not a process.
fn pid(actor: u16) -> u32 {
    u32::from(actor) + 1
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Handles,
    Waits,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Handles => "handles",
            Kind::Waits => "waits",
        }
    }
}

struct Spans<'a> {
    told: &'a Text<'a>,
    /// The name of each span that has not ended.
    open: SortedMap<(u16, Kind, u32), String>,
    events: Vec<Value>,
}

impl Spans<'_> {
    fn begin(&mut self, kind: Kind, actor: u16, call: u32, ts: u64) {
        let name = format!("#{call} {}", self.told.asked(call)).replace(TIED, " ");
        // A call that arrives twice is handled twice, under one number.
        if let Some(earlier) = self.open.insert((actor, kind, call), name.clone()) {
            self.events.push(span("e", kind, actor, call, ts, &earlier, json!({})));
        }
        self.events.push(span("b", kind, actor, call, ts, &name, json!({})));
    }

    fn end(&mut self, kind: Kind, actor: u16, call: u32, ts: u64, at: usize) {
        if let Some(name) = self.open.remove(&(actor, kind, call)) {
            let args = json!({ "ends": self.told.describe(at, 1).replace(TIED, " ") });
            self.events.push(span("e", kind, actor, call, ts, &name, args));
        }
    }

    /// Ends the spans that `are` chosen, none of which has an answer.
    fn end_where(&mut self, are: impl Fn((u16, Kind, u32)) -> bool, ts: u64, how: &str) {
        let ended: Vec<_> = self.open.keys().copied().filter(|span| are(*span)).collect();
        for key in ended {
            let Some(name) = self.open.remove(&key) else { continue };
            let (actor, kind, call) = key;
            self.events.push(span("e", kind, actor, call, ts, &name, json!({ "ends": how })));
        }
    }

    fn moment(&mut self, actor: u16, ts: u64, at: usize) {
        let name = self.told.describe(at, 1).replace(TIED, " ");
        self.events.push(json!({
            "ph": "i", "s": "p", "name": name, "pid": pid(actor), "tid": 0, "ts": ts, "args": { "event": at + 1 },
        }));
    }
}

fn span(ph: &str, kind: Kind, actor: u16, call: u32, ts: u64, name: &str, args: Value) -> Value {
    json!({
        "ph": ph, "cat": kind.name(), "id": call, "name": name, "pid": pid(actor), "tid": 0, "ts": ts, "args": args,
    })
}
