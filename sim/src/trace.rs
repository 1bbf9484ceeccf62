//! What happened, in order. Events are plain data while the run goes; text, JSON and the hash are
//! made from them afterwards, so a run nobody looks at pays for none of that.

mod jsonl;
mod mermaid;
mod text;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use jsonl::JsonlError;

use crate::call::{Op, Outcome};
use crate::error::Error;
use crate::fault::Fault;
use crate::hash::StableHasher;
use crate::queue::{Fate, MessageId};
use crate::sqlite::RowChange;
use crate::time::Time;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// When.
    pub at: Time,
    /// To whom: an index into [`Trace::actors`].
    pub actor: u16,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "what")]
pub enum What {
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
        /// Its number.
        call: u32,
        /// What was asked.
        op: Arc<Op>,
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
        /// What was asked.
        op: Arc<Op>,
        /// What came of it.
        outcome: Arc<Outcome>,
    },
    /// A handler began to work on a call.
    Begin {
        /// The call.
        call: u32,
        /// What was asked.
        op: Arc<Op>,
    },
    /// A handler finished.
    End {
        /// The call.
        call: u32,
        /// Its answer.
        outcome: Arc<Outcome>,
    },
    /// A caller learnt how its call ended.
    Return {
        /// The call.
        call: u32,
        /// What it learnt.
        outcome: Arc<Outcome>,
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    actors: Vec<Arc<str>>,
    events: Vec<Event>,
}

impl Trace {
    /// A trace from its parts; every event's actor must be one of `actors`.
    pub fn new(actors: Vec<Arc<str>>, events: Vec<Event>) -> Trace {
        let known = actors.len();
        assert!(events.iter().all(|event| usize::from(event.actor) < known), "unknown actor");
        Trace { actors, events }
    }

    /// The names behind [`Event::actor`].
    pub fn actors(&self) -> &[Arc<str>] {
        &self.actors
    }

    /// What happened, in order.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The name of whom an event happened to.
    pub fn actor(&self, event: &Event) -> &str {
        &self.actors[usize::from(event.actor)]
    }

    /// A hash over all of it, the same in every process.
    pub fn hash(&self) -> TraceHash {
        let mut hasher = StableHasher::default();
        self.actors.hash(&mut hasher);
        self.events.hash(&mut hasher);
        TraceHash(hasher.finish())
    }

    /// An empty trace with room for an ordinary run: growing it would copy it again and again.
    pub(crate) fn with_room() -> Trace {
        Trace { actors: Vec::new(), events: Vec::with_capacity(512) }
    }

    pub(crate) fn add_actor(&mut self, name: Arc<str>) {
        self.actors.push(name);
    }

    pub(crate) fn record(&mut self, at: Time, actor: u16, what: What) {
        self.events.push(Event { at, actor, what });
    }
}

impl What {
    /// The error that a caller learnt of, if this is such an event.
    pub fn returned_error(&self) -> Option<&Error> {
        match self {
            What::Return { outcome, .. } => outcome.as_ref().as_ref().err(),
            _ => None,
        }
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
