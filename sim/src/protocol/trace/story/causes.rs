//! Why each event happened: the earlier events that it follows from, as far as a history tells.
//!
//! A call follows from what its invocation did before, an invocation from the call that it handles, a delivery from
//! the message that was sent and from what became of it before, an alarm from the turn before it, an answer from the
//! effect, and an effect from those that wrote what it reads or overwrites. What a fault strikes follows from the
//! fault.

use super::super::subjects::Subjects;
use super::super::{Event, EventKind, Trace};
use super::rows::Rows;
use super::things::{Thing, Touch, object, touched};
use super::work::{Work, Working};
use crate::protocol::frame::Frame;
use crate::protocol::op::Op;
use crate::services::sqlite::RowChange;
use crate::values::sorted_map::SortedMap;

/// An event that another follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    pub event: usize,
    /// How far it is from there: the less, the more it says about why.
    pub far: u32,
}

/// Another event of the same call, or a fault that strikes it.
const SAME: u32 = 0;
/// What started it: a request, a message, an alarm, the creation of an instance.
const STARTED: u32 = 1;
/// What wrote the thing that it reads or overwrites.
const WROTE: u32 = 1;
/// What the same work did just before.
const BEFORE: u32 = 2;
/// The state that an object had, of which nobody knows whether it was read.
const STATE: u32 = 3;

/// The causes of every event.
pub(super) fn causes(trace: &Trace) -> Vec<Vec<Cause>> {
    let actors = trace.actors().len();
    let mut seen = Seen {
        trace,
        subjects: Subjects::new(trace),
        calls: SortedMap::new(),
        working: Working::new(actors),
        rows: Rows::default(),
        things: SortedMap::new(),
        last: vec![None; actors],
        asked: vec![false; actors],
        reborn: vec![None; actors],
        found: Vec::new(),
    };
    let events = trace.events().iter().enumerate();
    events.map(|(at, event)| seen.event(at, event)).collect()
}

/// What is known of a call.
#[derive(Clone, Copy, Default)]
struct Asked {
    call: Option<usize>,
    /// The beginning of the work that made it.
    by: Option<(u16, usize)>,
    fault: Option<usize>,
    /// The last effect or end of a handler, which is what is answered.
    answer: Option<usize>,
    /// The crash that ended its handler.
    killed: Option<usize>,
}

struct Seen<'a> {
    trace: &'a Trace,
    subjects: Subjects<'a>,
    calls: SortedMap<u32, Asked>,
    working: Working,
    rows: Rows<'a>,
    /// The last event that wrote each thing.
    things: SortedMap<Thing, usize>,
    /// The last event of every actor.
    last: Vec<Option<usize>>,
    /// Whether anybody has asked each actor for anything.
    asked: Vec<bool>,
    /// The last crash, restart or eviction of an actor that has not begun anything since; of queues, what was
    /// overtaken.
    reborn: Vec<Option<usize>>,
    found: Vec<Cause>,
}

impl<'a> Seen<'a> {
    fn event(&mut self, at: usize, event: &'a Event) -> Vec<Cause> {
        let actor = usize::from(event.actor);
        match &event.kind {
            EventKind::Call { call } => self.call(at, event, *call),
            EventKind::Fault { call, .. } => self.fault(at, event, *call),
            EventKind::Crash { call, .. } => self.crash(at, event, *call),
            EventKind::Boot { .. } => self.boot(at, event),
            EventKind::Effect { call, .. } => self.effect(at, event, *call),
            EventKind::Begin { call } => {
                self.of_call(*call);
                self.asked[actor] = true;
                let reborn = self.reborn[actor].take();
                self.because(reborn, STARTED);
                self.working.begin(event.actor, at, event, Some(*call));
            }
            EventKind::End { call, .. } => {
                let work = self.working.end(event.actor, *call);
                self.by(work.as_ref());
                self.because(self.rows.last(event.actor), STATE);
                self.calls.entry(*call).or_default().answer = Some(at);
            }
            EventKind::Return { call, .. } => self.returns(at, event, *call),
            EventKind::Settle { call, message, .. } => {
                let asked = call.map(|call| self.calls.entry(call).or_default());
                let answered = asked.and_then(|asked| asked.answer.or(asked.killed));
                self.because(answered, SAME);
                let before = self.things.insert(Thing::Message(*message), at);
                self.because(before, STARTED);
            }
            EventKind::Rows { changes } => self.changed(at, event, changes),
            EventKind::Abort { .. } => {
                let lost = self.working.lose(event.actor);
                lost.iter().for_each(|work| self.by(Some(work)));
                self.reborn[actor] = Some(at);
            }
            EventKind::Log { .. } | EventKind::Panic { .. } => {
                let work = self.working.acts(event.actor, at, event);
                self.by(work.as_ref());
                // A handler has answered, and goes on nevertheless.
                let before = self.last[actor].filter(|_| work.is_none());
                self.because(before, BEFORE);
            }
            EventKind::AlarmDropped | EventKind::Stuck { .. } | EventKind::Livelock { .. } => {
                self.because(self.last[actor], BEFORE);
            }
            EventKind::Calm => {}
        }
        self.last[actor] = Some(at);
        let subject = usize::from(self.subjects.of(event));
        self.last[subject] = Some(at);
        std::mem::take(&mut self.found)
    }

    fn because(&mut self, event: Option<usize>, far: u32) {
        self.found.extend(event.map(|event| Cause { event, far }));
    }

    /// The event is a part of this work.
    fn by(&mut self, work: Option<&Work>) {
        self.because(work.map(|work| work.begin), STARTED);
        self.because(work.map(|work| work.last), BEFORE);
    }

    /// The event is one of this call, after the one that made it.
    fn of_call(&mut self, call: u32) {
        let asked = self.calls.get(&call).copied().unwrap_or_default();
        self.because(asked.call, SAME);
        self.because(asked.fault, SAME);
    }

    fn call(&mut self, at: usize, event: &'a Event, call: u32) {
        let actor = usize::from(event.actor);
        match self.trace.op(call) {
            Op::Deliver { batch, .. } => {
                for delivery in &batch.messages {
                    let before = self.things.insert(Thing::Message(delivery.id), at);
                    self.because(before, STARTED);
                }
                let overtaken = self.reborn[actor].take();
                self.because(overtaken, SAME);
            }
            Op::Notify { event, .. } => {
                let stored = object(&event.bucket, &event.object.key);
                self.because(self.things.get(&stored).copied(), STARTED);
            }
            Op::Alarm { object, .. } => {
                let set = self.trace.actors().iter().position(|name| name == object);
                self.because(set.and_then(|object| self.last[object]), STARTED);
            }
            // The platform tells of it at once.
            Op::Frame { frame: Frame::Broken, .. } => self.because(at.checked_sub(1), BEFORE),
            _ => {
                let work = self.working.acts(event.actor, at, event);
                self.by(work.as_ref());
                self.because(self.rows.last(event.actor), STATE);
                if work.is_none() {
                    self.alone(event, call);
                }
                self.calls.entry(call).or_default().by = work.map(|work| (event.actor, work.begin));
            }
        }
        self.calls.entry(call).or_default().call = Some(at);
    }

    /// Nobody has asked the actor to make this call. A client that asks the same again does so because of how the
    /// first time ended, and one that asks at once because of the answer. Any other host goes on with its own work.
    fn alone(&mut self, event: &Event, call: u32) {
        let Some(last) = self.last[usize::from(event.actor)] else { return };
        let (before, op) = (&self.trace.events()[last], self.trace.op(call));
        let client = matches!(op, Op::Fetch { .. }) && !self.asked[usize::from(event.actor)];
        match before.kind {
            EventKind::Return { call: before, .. } if self.trace.op(before) == op => {
                self.because(Some(last), STARTED);
            }
            EventKind::Return { .. } if before.at == event.at => {
                self.because(Some(last), BEFORE);
            }
            EventKind::Effect { call: before, .. } if self.broke_off(before) => {
                self.because(Some(last), STARTED);
            }
            _ if !client => self.because(Some(last), BEFORE),
            _ => {}
        }
    }

    /// Whether a call tells that the rest of a body is lost.
    fn broke_off(&self, call: u32) -> bool {
        matches!(self.trace.op(call), Op::Frame { frame: Frame::Broken, .. })
    }

    fn fault(&mut self, at: usize, event: &Event, call: Option<u32>) {
        match call {
            Some(call) => {
                self.of_call(call);
                self.calls.entry(call).or_default().fault = Some(at);
            }
            None => self.reborn[usize::from(event.actor)] = Some(at),
        }
    }

    fn crash(&mut self, at: usize, event: &Event, call: Option<u32>) {
        if let Some(call) = call {
            self.of_call(call);
            self.calls.entry(call).or_default().fault = Some(at);
        }
        for work in self.working.lose(event.actor) {
            self.because(Some(work.begin), STARTED);
            self.because(Some(work.last), BEFORE);
            if let Some(call) = work.call {
                self.calls.entry(call).or_default().killed = Some(at);
            }
        }
        self.reborn[usize::from(event.actor)] = Some(at);
    }

    /// A worker comes back after its crash. An instance of a workflow begins, for the first time or again.
    fn boot(&mut self, at: usize, event: &Event) {
        let actor = usize::from(event.actor);
        let made = Thing::Instance(self.trace.actors()[actor].to_string());
        let reborn = self.reborn[actor].take();
        self.because(reborn, SAME);
        match self.things.get(&made).copied() {
            Some(made) => {
                self.because(Some(made), STARTED);
                self.working.lose(event.actor);
                self.working.begin(event.actor, at, event, None);
            }
            None => self.reborn[actor] = Some(at),
        }
    }

    fn effect(&mut self, at: usize, event: &Event, call: u32) {
        self.of_call(call);
        let (op, outcome) = match self.trace.carried(event) {
            (Some(op), Some(outcome)) => (op, outcome),
            _ => return,
        };
        let subject = self.subjects.of(event);
        if subject != event.actor {
            // An engine writes its own journal, and goes on at once.
            let work = self.working.acts(subject, at, event);
            self.by(work.as_ref());
            if let Some(work) = work {
                self.working.wake(subject, work.begin, at, event);
            }
        }
        for (thing, touch) in touched(op, outcome) {
            let before = self.things.get(&thing).copied();
            self.because(before.filter(|_| touch != Touch::Adds), WROTE);
            if touch != Touch::Reads {
                self.things.insert(thing, at);
            }
        }
        if let Op::D1(op) = op {
            let own = at.checked_sub(1).filter(|before| leads(self.trace, *before));
            self.because(own, SAME);
            for wrote in self.rows.read(event.actor, op) {
                self.because(Some(wrote), WROTE);
            }
        }
        self.calls.entry(call).or_default().answer = Some(at);
    }

    fn returns(&mut self, at: usize, event: &Event, call: u32) {
        self.of_call(call);
        let asked = self.calls.entry(call).or_default();
        let (by, answer, killed) = (asked.by, asked.answer, asked.killed);
        self.because(answer, SAME);
        self.because(killed, SAME);
        if let Some((actor, begin)) = by {
            self.working.wake(actor, begin, at, event);
        }
    }

    fn changed(&mut self, at: usize, event: &'a Event, changes: &'a [RowChange]) {
        if leads(self.trace, at) {
            if let EventKind::Effect { call, .. } = self.trace.events()[at + 1].kind {
                self.of_call(call);
            }
        } else {
            let work = self.working.acts(event.actor, at, event);
            self.by(work.as_ref());
        }
        for before in self.rows.change(event.actor, at, changes) {
            self.because(Some(before), WROTE);
        }
    }
}

/// Whether the event at `at` are rows of a database, which the effect after it has changed.
fn leads(trace: &Trace, at: usize) -> bool {
    let (event, next) = (&trace.events()[at], trace.events().get(at + 1));
    let statement = |call: u32| matches!(trace.op(call), Op::D1(_));
    matches!(event.kind, EventKind::Rows { .. })
        && next.is_some_and(|next| match next.kind {
            EventKind::Effect { call, .. } => next.actor == event.actor && statement(call),
            _ => false,
        })
}
