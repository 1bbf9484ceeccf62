//! The faults a storm is made of: one line each in [`ALL`].

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One thing that can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The request arrives late, perhaps after its caller has given up.
    Delay,
    /// The platform answers with one of its transient errors, and does nothing.
    Fail,
    /// The request never arrives.
    LoseRequest,
    /// The request takes effect and its reply never arrives.
    LoseReply,
    /// The request takes effect twice.
    Duplicate,
    /// Tasks, deliveries and messages overtake each other.
    Reorder,
    /// A notification never reaches its queue.
    LoseEvent,
    /// The model answers with fewer labels than usual, or none.
    FewLabels,
    /// Something outside the cloud is slow, refuses, or fails.
    Mood,
    /// `create` says that an instance exists, though there is none, or though it has just made it.
    FalseExists,
    /// A read in a session is answered by a replica that has not heard of the latest writes.
    StaleRead,
    /// An idle object loses its memory.
    Evict,
    /// A host dies on a call, before the effect.
    CrashBefore,
    /// A host dies on a call, after the effect and before the reply.
    CrashAfter,
    /// A host dies after any poll, with its requests still in flight.
    Crash,
}

/// The sort of crossing a call is; it decides which faults make sense there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallClass {
    /// A host calls a platform service.
    Service,
    /// A host or a client calls a worker.
    Fetch,
    /// The platform hands work to a worker.
    Delivery,
    /// One service tells another.
    Event,
    /// A host calls a durable object.
    Rpc,
    /// A message on an open connection.
    Socket,
    /// A host asks a model.
    Ai,
    /// A host creates a workflow instance.
    Create,
    /// The engine of a workflow writes its own journal.
    Journal,
    /// A host reads a database in a session that lets a replica answer.
    Read,
}

impl CallClass {
    /// Every class, in the order of their discriminants.
    pub const ALL: [CallClass; 10] = [
        CallClass::Service,
        CallClass::Fetch,
        CallClass::Delivery,
        CallClass::Event,
        CallClass::Rpc,
        CallClass::Socket,
        CallClass::Ai,
        CallClass::Create,
        CallClass::Journal,
        CallClass::Read,
    ];
}

/// What `list` and the scripts know of a fault.
#[derive(Debug)]
pub struct FaultKind {
    /// The fault.
    pub fault: Fault,
    /// Its name in scripts, tapes and traces.
    pub name: &'static str,
    /// One line for `thunderhead list`.
    pub help: &'static str,
    /// The calls at whose doorway it can be drawn.
    pub classes: &'static [CallClass],
    /// Whether exploration draws it unasked.
    pub explored: bool,
}

/// The calls on which a host can die.
const CRASHING: [CallClass; 8] = [
    CallClass::Service,
    CallClass::Fetch,
    CallClass::Delivery,
    CallClass::Rpc,
    CallClass::Ai,
    CallClass::Create,
    CallClass::Journal,
    CallClass::Read,
];

/// Every fault. Those that end a host come last, so that an exhausted crash budget shortens the
/// table of verdicts without renumbering it.
pub const ALL: &[FaultKind] = &[
    FaultKind {
        fault: Fault::Delay,
        name: "delay",
        help: "the request arrives late, perhaps after its caller has given up (by = \"30s\")",
        classes: &[
            CallClass::Event,
            CallClass::Socket,
            CallClass::Service,
            CallClass::Fetch,
            CallClass::Delivery,
            CallClass::Rpc,
            CallClass::Ai,
            CallClass::Create,
            CallClass::Read,
        ],
        explored: true,
    },
    FaultKind {
        fault: Fault::Fail,
        name: "fail",
        help: "the platform answers a transient error and does nothing (code = 10001, or which of its list)",
        classes: &[
            CallClass::Service,
            CallClass::Rpc,
            CallClass::Ai,
            CallClass::Create,
            CallClass::Read,
        ],
        explored: true,
    },
    FaultKind {
        fault: Fault::LoseRequest,
        name: "lose_request",
        help: "the request never arrives; its caller gives up",
        classes: &[
            CallClass::Socket,
            CallClass::Service,
            CallClass::Fetch,
            CallClass::Delivery,
            CallClass::Rpc,
            CallClass::Ai,
            CallClass::Create,
            CallClass::Read,
        ],
        explored: true,
    },
    FaultKind {
        fault: Fault::LoseReply,
        name: "lose_reply",
        help: "the request takes effect, its reply never arrives",
        classes: &[
            CallClass::Service,
            CallClass::Fetch,
            CallClass::Delivery,
            CallClass::Rpc,
            CallClass::Ai,
            CallClass::Create,
            CallClass::Read,
        ],
        explored: true,
    },
    FaultKind {
        fault: Fault::Duplicate,
        name: "duplicate",
        help: "the request takes effect twice; a batch reaches two invocations at once",
        classes: &[
            CallClass::Service,
            CallClass::Fetch,
            CallClass::Delivery,
            CallClass::Event,
            CallClass::Read,
        ],
        explored: true,
    },
    FaultKind {
        fault: Fault::Reorder,
        name: "reorder",
        help: "ready tasks, deliveries and queued messages overtake each other",
        classes: &[],
        explored: true,
    },
    FaultKind {
        fault: Fault::LoseEvent,
        name: "lose_event",
        help: "a notification never reaches its queue (no guarantee is published for that hop)",
        classes: &[CallClass::Event],
        explored: false,
    },
    FaultKind {
        fault: Fault::FewLabels,
        name: "few_labels",
        help: "the model answers with fewer labels than usual, or none (code = how many)",
        classes: &[CallClass::Ai],
        explored: true,
    },
    FaultKind {
        fault: Fault::Mood,
        name: "mood",
        help: "a provider, a website or a text model outside the cloud is slow, refuses or fails",
        classes: &[],
        explored: true,
    },
    FaultKind {
        fault: Fault::FalseExists,
        name: "false_exists",
        help: "create says the instance exists: though it does not (code = 0), or as it is made (1)",
        classes: &[CallClass::Create],
        explored: true,
    },
    FaultKind {
        fault: Fault::StaleRead,
        name: "stale_read",
        help: "a replica answers a read in a session without the latest writes (code = how many)",
        classes: &[CallClass::Read],
        explored: true,
    },
    FaultKind {
        fault: Fault::Evict,
        name: "evict",
        help: "an object that was idle for ten seconds has lost its memory (on = \"ROOM:all\")",
        classes: &[],
        explored: true,
    },
    FaultKind {
        fault: Fault::CrashBefore,
        name: "crash_before",
        help: "the worker dies on this call before the effect",
        classes: &CRASHING,
        explored: true,
    },
    FaultKind {
        fault: Fault::CrashAfter,
        name: "crash_after",
        help: "the worker dies on this call after the effect, before the reply",
        classes: &CRASHING,
        explored: true,
    },
    FaultKind {
        fault: Fault::Crash,
        name: "crash",
        help: "a host dies after a poll (on = \"relay\"), or at a time (at = \"3s\"); code = 1: an object, \
               and the writes of its turn are lost",
        classes: &[],
        explored: true,
    },
];

impl Fault {
    /// How many there are.
    pub const COUNT: usize = ALL.len();

    /// Its line in [`ALL`].
    pub fn kind(self) -> &'static FaultKind {
        &ALL[self as usize]
    }

    /// Whether a rule for it names a host, and not a call.
    pub fn on_host(self) -> bool {
        matches!(self, Fault::Crash | Fault::Evict)
    }

    /// Whether it ends a host.
    pub fn is_crash(self) -> bool {
        matches!(self, Fault::CrashBefore | Fault::CrashAfter | Fault::Crash)
    }
}

/// Failure files carry hashes, so a fault that came later does not renumber those after it.
impl Hash for Fault {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let number = match self {
            Fault::StaleRead => 14,
            early if *early < Fault::StaleRead => *early as isize,
            late => *late as isize - 1,
        };
        state.write_isize(number);
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind().name)
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(name: &str) -> Result<Fault, String> {
        ALL.iter().find(|kind| kind.name == name).map(|kind| kind.fault).ok_or_else(|| {
            let known: Vec<_> = ALL.iter().map(|kind| kind.name).collect();
            format!("unknown fault `{name}`: expected one of {}", known.join(", "))
        })
    }
}

impl Serialize for Fault {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.kind().name)
    }
}

impl<'de> Deserialize<'de> for Fault {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Fault, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A set of faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FaultSet(u16);

impl FaultSet {
    /// No faults: the weather of an emulator.
    pub const NONE: FaultSet = FaultSet(0);

    /// Those that exploration draws unasked.
    pub fn explored() -> FaultSet {
        ALL.iter().filter(|kind| kind.explored).map(|kind| kind.fault).collect()
    }

    /// Crashes at every boundary and after every poll, and nothing else.
    pub fn crashes() -> FaultSet {
        ALL.iter().map(|kind| kind.fault).filter(|fault| fault.is_crash()).collect()
    }

    /// Whether `fault` is in it.
    pub fn contains(self, fault: Fault) -> bool {
        self.0 & 1 << fault as u16 != 0
    }

    /// Those in it, in the order of [`ALL`].
    pub fn iter(self) -> impl Iterator<Item = Fault> {
        ALL.iter().map(|kind| kind.fault).filter(move |fault| self.contains(*fault))
    }
}

impl FromIterator<Fault> for FaultSet {
    fn from_iter<I: IntoIterator<Item = Fault>>(faults: I) -> FaultSet {
        FaultSet(faults.into_iter().fold(0, |set, fault| set | 1 << fault as u16))
    }
}

impl Serialize for FaultSet {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for FaultSet {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<FaultSet, D::Error> {
        Ok(Vec::<Fault>::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_is_in_the_order_of_the_enum_with_crashes_last() {
        for (at, kind) in ALL.iter().enumerate() {
            assert_eq!(kind.fault as usize, at, "{}", kind.name);
            assert_eq!(kind.name.parse::<Fault>().unwrap(), kind.fault);
        }
        let first_crash = ALL.iter().position(|kind| kind.fault.is_crash()).unwrap();
        assert!(ALL[first_crash..].iter().all(|kind| kind.fault.is_crash()));
    }

    #[test]
    fn hashes_are_pinned_because_failure_files_carry_them() {
        let of = |fault: Fault| crate::values::hash::StableHasher::of(&fault);
        let number = |number: isize| crate::values::hash::StableHasher::of(&number);
        assert_eq!(of(Fault::Delay), number(0));
        assert_eq!(of(Fault::FalseExists), number(9));
        assert_eq!(of(Fault::Evict), number(10));
        assert_eq!(of(Fault::Crash), number(13));
        assert_eq!(of(Fault::StaleRead), number(14));
    }

    #[test]
    fn an_unknown_fault_is_refused_with_the_known_ones() {
        let error = "lose_mind".parse::<Fault>().unwrap_err();
        assert!(error.contains("`lose_mind`") && error.contains("lose_reply"), "{error}");
    }

    #[test]
    fn a_set_survives_json() {
        let json = serde_json::to_string(&FaultSet::crashes()).unwrap();
        assert_eq!(json, r#"["crash_before","crash_after","crash"]"#);
        assert_eq!(serde_json::from_str::<FaultSet>(&json).unwrap(), FaultSet::crashes());
    }
}
