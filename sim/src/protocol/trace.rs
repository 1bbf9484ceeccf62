//! What happened, in order. Events are plain data while the run goes; text, JSON and the hash are
//! made from them afterwards, so a run nobody looks at pays for none of that. What was asked and what
//! was answered is kept once and referred to by number: four events of one call share one question.

mod abbreviation;
mod chrome;
mod cycles;
mod folded;
mod html;
mod joins;
mod jsonl;
mod likeness;
mod mermaid;
mod names;
mod question;
mod story;
mod subjects;
mod text;
mod tokens;
mod truncate;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use html::{Beside, Escaped, Page};
pub use jsonl::{JsonlError, JsonlReader};
pub use story::Story;

use crate::protocol::fault::Fault;
use crate::protocol::op::Op;
use crate::protocol::outcome::Outcome;
use crate::services::queue::{Fate, MessageId};
use crate::services::sqlite::RowChange;
use crate::values::body::Body;
use crate::values::hash::StableHasher;
use crate::values::push_in_place::push_in_place;
use crate::values::time::Time;

/// The number of an answer in a trace: see [`Trace::outcome`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutcomeId(u32);

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Time,
    /// To whom: an index into [`Trace::actors`].
    pub actor: u16,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum EventKind {
    /// A host came up, for the first time or again.
    Boot {
        /// Which life this is, counting from 1.
        life: u32,
    },
    /// A host died.
    Crash {
        /// How.
        fault: Fault,
        /// On which call, when it was one.
        call: Option<u32>,
    },
    /// A call was made.
    Call {
        /// Its number; [`Trace::op`] tells what was asked.
        call: u32,
    },
    /// Something went wrong with a call, or with the order of things.
    Fault {
        /// The call, when it was one.
        call: Option<u32>,
        /// What went wrong.
        fault: Fault,
        /// For a delay, how long in milliseconds.
        by: Option<u64>,
    },
    /// A call took effect, or was refused, at the platform.
    Effect {
        /// The call.
        call: u32,
        /// What came of it.
        #[serde(skip)]
        outcome: OutcomeId,
    },
    /// A handler began to work on a call.
    Begin {
        /// The call.
        call: u32,
    },
    /// A handler finished.
    End {
        /// The call.
        call: u32,
        /// Its answer.
        #[serde(skip)]
        outcome: OutcomeId,
    },
    /// A caller learnt how its call ended.
    Return {
        /// The call.
        call: u32,
        /// What it learnt.
        #[serde(skip)]
        outcome: OutcomeId,
    },
    /// A queue decided what becomes of a message.
    Settle {
        /// The delivery, when one led to it.
        call: Option<u32>,
        /// The queue.
        queue: Arc<str>,
        /// The message.
        message: MessageId,
        /// The decision.
        fate: Fate,
    },
    /// Rows of an object or a database changed, and the change is kept.
    Rows {
        /// What changed, in order.
        changes: Arc<[RowChange]>,
    },
    /// An object reset itself.
    Abort {
        /// Why.
        reason: Arc<str>,
    },
    /// An alarm failed for the last time.
    AlarmDropped,
    /// The application said something.
    Log {
        /// What it said.
        text: Arc<str>,
    },
    /// The application panicked.
    Panic {
        /// With these words.
        message: Arc<str>,
    },
    /// The storm ended.
    Calm,
    /// Nothing was left to happen and this host was still waiting.
    Stuck {
        /// What it was doing.
        doing: Arc<str>,
        /// What it waits for.
        waits: Arc<str>,
    },
    /// The run was cut off because it did not come to rest; this host made most calls.
    Livelock {
        /// After so many polls and events.
        steps: u32,
    },
}

/// The history of a run.
///
/// Equal traces have equal text, equal JSON lines and equal hashes, in any process.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    actors: Vec<Arc<str>>,
    /// What was asked, by call; a trace that was read knows only of calls that left an event.
    ops: Vec<Option<Op>>,
    outcomes: Vec<Outcome>,
    events: Vec<Event>,
    /// How many calls and answers came before the first that is still kept. A simulation keeps them all.
    forgotten: Forgotten,
}

#[derive(Clone, Copy, Debug, Default)]
struct Forgotten {
    ops: u32,
    outcomes: u32,
}

impl Trace {
    /// A trace without events.
    pub fn new(actors: Vec<Arc<str>>) -> Trace {
        Trace { actors, ..Trace::default() }
    }

    /// The number of the actor of that name, who is added when there is none.
    pub fn actor_named(&mut self, name: &str) -> u16 {
        let known = self.actors.iter().position(|actor| &**actor == name);
        let at = known.unwrap_or_else(|| {
            self.actors.push(name.into());
            self.actors.len() - 1
        });
        u16::try_from(at).expect("a trace has fewer than 65,536 actors")
    }

    /// Adds an event to the end.
    pub fn push(&mut self, event: Event) {
        assert!(usize::from(event.actor) < self.actors.len(), "unknown actor");
        self.events.push(event);
    }

    /// Says what was asked in `call`.
    pub fn set_op(&mut self, call: u32, op: Op) {
        let at = call as usize;
        if at >= self.ops.len() {
            self.ops.resize(at + 1, None);
        }
        self.ops[at] = Some(op);
    }

    /// Keeps an answer, for the events that tell of it.
    #[inline(always)]
    pub fn keep(&mut self, outcome: Outcome) -> OutcomeId {
        let id = OutcomeId(self.forgotten.outcomes + self.outcomes.len() as u32);
        push_in_place(&mut self.outcomes, outcome);
        id
    }

    /// What was asked in `call`.
    pub fn op(&self, call: u32) -> &Op {
        self.ops[(call - self.forgotten.ops) as usize]
            .as_ref()
            .expect("a call that is told of has its question")
    }

    /// An answer.
    pub fn outcome(&self, id: OutcomeId) -> &Outcome {
        &self.outcomes[(id.0 - self.forgotten.outcomes) as usize]
    }

    /// What `event` carries besides itself: the question, the answer, or both.
    pub fn carried(&self, event: &Event) -> (Option<&Op>, Option<&Outcome>) {
        match event.kind {
            EventKind::Call { call } | EventKind::Begin { call } => (Some(self.op(call)), None),
            EventKind::Effect { call, outcome } => {
                (Some(self.op(call)), Some(self.outcome(outcome)))
            }
            EventKind::End { outcome, .. } | EventKind::Return { outcome, .. } => {
                (None, Some(self.outcome(outcome)))
            }
            _ => (None, None),
        }
    }

    /// The names behind [`Event::actor`].
    pub fn actors(&self) -> &[Arc<str>] {
        &self.actors
    }

    /// What happened, in order.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Everything that took effect or was refused, in order: the index of the event, what was asked,
    /// what came of it.
    pub fn effects(&self) -> impl Iterator<Item = (usize, &Op, &Outcome)> {
        self.events.iter().enumerate().filter_map(|(at, event)| match event.kind {
            EventKind::Effect { call, outcome } => Some((at, self.op(call), self.outcome(outcome))),
            _ => None,
        })
    }

    /// The name of whom an event happened to.
    pub fn actor(&self, event: &Event) -> &str {
        &self.actors[usize::from(event.actor)]
    }

    /// A hash over all of it, the same in every process.
    pub fn hash(&self) -> TraceHash {
        let mut hasher = StableHasher::default();
        self.actors.hash(&mut hasher);
        for event in &self.events {
            (event.at, event.actor).hash(&mut hasher);
            // The number of an answer says nothing; the answer itself follows.
            event.kind.unnumbered().hash(&mut hasher);
            self.carried(event).hash(&mut hasher);
        }
        TraceHash(hasher.finish())
    }

    /// An empty trace with room for an ordinary run: growing it would copy it again and again.
    pub(crate) fn with_room() -> Trace {
        Trace {
            actors: Vec::with_capacity(32),
            ops: Vec::with_capacity(256),
            outcomes: Vec::with_capacity(256),
            events: Vec::with_capacity(768),
            forgotten: Forgotten::default(),
        }
    }

    /// Gives the actor of that number its name; the number is that of a new actor, or of one that is gone.
    pub(crate) fn name_actor(&mut self, actor: u16, name: Arc<str>) {
        match self.actors.get_mut(usize::from(actor)) {
            Some(gone) => *gone = name,
            None => self.actors.push(name),
        }
    }

    /// A call is about to be made; its number.
    #[inline(always)]
    pub(crate) fn add_op(&mut self, op: Op) -> u32 {
        let call = self.forgotten.ops + self.ops.len() as u32;
        push_in_place(&mut self.ops, Some(op));
        call
    }

    #[inline(always)]
    pub(crate) fn record(&mut self, at: Time, actor: u16, kind: EventKind) {
        push_in_place(&mut self.events, Event { at, actor, kind });
    }
}

/// What a process needs that runs for long: it keeps of its history only what it still refers to.
impl Trace {
    /// Numbers the calls from here, because an earlier process made those before.
    pub(crate) fn begin_at(&mut self, call: u32) {
        self.forgotten.ops = call;
    }

    /// Forgets the events, which have been written down or are not wanted.
    pub(crate) fn forget_events(&mut self) {
        self.events.clear();
    }

    /// Lets go of the files that have the bodies of a call and of its answer, of which no event tells any more.
    pub(crate) fn let_go(&mut self, call: u32, outcome: Option<OutcomeId>) {
        let Forgotten { ops, outcomes } = self.forgotten;
        let asked = call.checked_sub(ops).and_then(|at| self.ops.get_mut(at as usize));
        let answered = outcome.and_then(|outcome| outcome.0.checked_sub(outcomes));
        let answered = answered.and_then(|at| self.outcomes.get_mut(at as usize));
        let asked = asked.and_then(|op| op.as_mut()?.body_mut());
        let answered = answered.and_then(|outcome| outcome.as_mut().ok()?.body_mut());
        for body in asked.into_iter().chain(answered).filter(|body| body.at_hand().is_none()) {
            *body = Body::empty();
        }
    }

    /// Forgets the calls before `call` and the answers before `outcome`.
    pub(crate) fn forget_before(&mut self, call: u32, outcome: Option<OutcomeId>) {
        self.ops.drain(..(call - self.forgotten.ops) as usize);
        self.forgotten.ops = call;
        let next = self.forgotten.outcomes + self.outcomes.len() as u32;
        let outcome = outcome.map_or(next, |outcome| outcome.0);
        self.outcomes.drain(..(outcome - self.forgotten.outcomes) as usize);
        self.forgotten.outcomes = outcome;
    }
}

/// A stable hash of a trace, or of many.
///
/// ```
/// use thunderhead_sim::TraceHash;
///
/// let hash: TraceHash = "00000000000000ff".parse().unwrap();
/// assert_eq!(hash.to_string(), "00000000000000ff");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TraceHash(u64);

impl TraceHash {
    pub(crate) fn of(hash: u64) -> TraceHash {
        TraceHash(hash)
    }

    /// The hash of a sequence of traces: this one, followed by `next`.
    pub fn then(self, next: TraceHash) -> TraceHash {
        TraceHash(StableHasher::of(&(self.0, next.0)))
    }
}

impl std::fmt::Display for TraceHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl std::str::FromStr for TraceHash {
    type Err = String;

    fn from_str(text: &str) -> Result<TraceHash, String> {
        let digits = (text.len() == 16).then(|| u64::from_str_radix(text, 16).ok()).flatten();
        digits
            .map(TraceHash)
            .ok_or_else(|| format!("`{text}` is not a trace hash of 16 hex digits"))
    }
}

impl Serialize for TraceHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TraceHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<TraceHash, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
