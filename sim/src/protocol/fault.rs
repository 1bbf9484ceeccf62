//! The faults that a storm is made of: one entry each in the list of `faults!`.
//!
//! A new fault is an entry in the list, with the next free `id`, and its behaviour in
//! `engine/verdict.rs`. Everything else (scripts, `--faults`, `list`, swarms, hashes) follows from
//! the entry.

mod set;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use set::FaultSet;

use crate::services::ai;
use crate::values::call::CallClass;

/// What there is to know about a fault, apart from what it does.
#[derive(Debug)]
pub struct FaultKind {
    /// The fault that is described.
    pub fault: Fault,
    /// Its number for ever: it is hashed into traces, and swarms draw in this order. Neither may
    /// change when a fault is added, because failure files and seeds depend on them.
    pub id: u8,
    /// Its name in scripts, tapes and traces.
    pub name: &'static str,
    /// One line for `thunderhead list`.
    pub help: &'static str,
    /// The sentence that the header of a history has for it. `scenario/script/told.rs` fills its gaps.
    pub told: &'static str,
    /// The calls that it can strike.
    pub classes: &'static [CallClass],
    /// Whether `explore` draws it by default.
    pub explored: bool,
    /// Whether it ends a host, and so counts against `max_crashes`.
    pub crash: bool,
    /// Whether `on` in a script names a host instead of a call.
    pub on_host: bool,
    /// Whether a script may say `by`, a duration.
    pub by: bool,
    /// The numbers that a script may give as `code`.
    pub code: Codes,
}

/// The numbers that `code` can be in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Codes {
    /// The fault takes no code.
    None,
    /// The errors of the call's service.
    Errors,
    /// Any number in a range.
    In(RangeInclusive<u32>),
}

impl FaultKind {
    /// The fields that most entries share.
    const USUAL: FaultKind = FaultKind {
        fault: Fault::Delay,
        id: 0,
        name: "",
        help: "",
        told: "",
        classes: &[],
        explored: true,
        crash: false,
        on_host: false,
        by: false,
        code: Codes::None,
    };
}

/// Makes the enum and [`ALL`] from one list.
macro_rules! faults {
    ($($fault:ident {
        id: $id:literal, name: $name:literal, help: $help:literal, told: $told:literal
        $(, $field:ident: $value:expr)* $(,)?
    })*) => {
        /// One thing that can go wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Fault {
            $(#[doc = $help] $fault,)*
        }

        /// Every fault. Those that end a host come last, so that an exhausted crash budget shortens
        /// the table of verdicts without renumbering it.
        pub const ALL: &[FaultKind] = &[$(
            FaultKind {
                fault: Fault::$fault,
                id: $id,
                name: $name,
                help: $help,
                told: $told,
                $($field: $value,)*
                ..FaultKind::USUAL
            },
        )*];
    };
}

/// The calls whose caller waits for an answer from a service, a worker or an object.
const ANSWERED: &[CallClass] = &[
    CallClass::Service,
    CallClass::Fetch,
    CallClass::Delivery,
    CallClass::Rpc,
    CallClass::Ai,
    CallClass::Create,
    CallClass::Read,
];

/// The calls whose caller waits, and that nobody repeats for it: all that are answered but deliveries.
const ASKED: &[CallClass] = &[
    CallClass::Service,
    CallClass::Fetch,
    CallClass::Rpc,
    CallClass::Ai,
    CallClass::Create,
    CallClass::Read,
];

/// The calls on which a host can die.
const CRASHING: &[CallClass] = &[
    CallClass::Service,
    CallClass::Fetch,
    CallClass::Delivery,
    CallClass::Rpc,
    CallClass::Ai,
    CallClass::Create,
    CallClass::Journal,
    CallClass::Read,
];

faults! {
    Delay {
        id: 0,
        name: "delay",
        help: "the request arrives late, perhaps after its caller has given up (by = \"30s\")",
        told: "{calls} {is} late{by}",
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
        by: true,
    }
    Fail {
        id: 1,
        name: "fail",
        help: "the platform answers a transient error and does nothing (code = 10001, or which of its list)",
        told: "{calls} {is} refused with a transient error{code}",
        classes: &[
            CallClass::Service,
            CallClass::Rpc,
            CallClass::Ai,
            CallClass::Create,
            CallClass::Read,
        ],
        code: Codes::Errors,
    }
    LoseRequest {
        id: 2,
        name: "lose_request",
        help: "the request never arrives; its caller gives up",
        told: "{calls} {is} lost on the way",
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
    }
    LoseReply {
        id: 3,
        name: "lose_reply",
        help: "the request takes effect, its reply never arrives",
        told: "the repl{y} to {calls} {is} lost",
        classes: ANSWERED,
    }
    Duplicate {
        id: 4,
        name: "duplicate",
        help: "the request takes effect twice; a batch reaches two invocations at once",
        told: "{calls} happen{s} twice",
        classes: &[
            CallClass::Service,
            CallClass::Fetch,
            CallClass::Delivery,
            CallClass::Event,
            CallClass::Read,
        ],
    }
    Reorder {
        id: 5,
        name: "reorder",
        help: "ready tasks, deliveries and queued messages overtake each other",
        told: "{calls} {is} overtaken",
    }
    LoseEvent {
        id: 6,
        name: "lose_event",
        help: "a notification never reaches its queue (no guarantee is published for that hop)",
        told: "{calls} {is} lost",
        classes: &[CallClass::Event],
        explored: false,
    }
    FewLabels {
        id: 7,
        name: "few_labels",
        help: "the model answers with fewer labels than usual, or none (code = how many)",
        told: "{calls} {is} answered with few labels{code}",
        classes: &[CallClass::Ai],
        code: Codes::In(0..=ai::LABELS as u32 - 1),
    }
    Mood {
        id: 8,
        name: "mood",
        help: "a provider, a website or a text model outside the cloud is slow, refuses or fails",
        told: "{calls} {is} slow or refused by the outside{code}",
    }
    FalseExists {
        id: 9,
        name: "false_exists",
        help: "create says the instance exists: though it does not (code = 0), or as it is made (1)",
        told: "{calls} {is} told that the instance exists",
        classes: &[CallClass::Create],
        code: Codes::In(0..=1),
    }
    StaleRead {
        id: 14,
        name: "stale_read",
        help: "a replica, or a location of KV, answers a read without the latest writes (code = how many)",
        told: "{calls} {is} answered by a replica that lags{code}",
        classes: &[CallClass::Read],
        // A replica that lags behind by no writes is the primary.
        code: Codes::In(1..=u32::MAX),
    }
    LateReply {
        id: 15,
        name: "late_reply",
        help: "the request takes effect at once, its reply arrives late, perhaps too late (by = \"30s\")",
        told: "the repl{y} to {calls} {is} late{by}",
        classes: ASKED,
        explored: false,
        by: true,
    }
    Outage {
        id: 16,
        name: "outage",
        help: "from this call on its target, a service, a worker or an object, refuses every call (by = \"10m\")",
        told: "from {calls} on, its target is down{for}",
        classes: ASKED,
        explored: false,
        by: true,
    }
    Evict {
        id: 10,
        name: "evict",
        help: "an object that was idle for ten seconds has lost its memory (on = \"ROOM:all\")",
        told: "{on} loses its memory while idle",
        on_host: true,
    }
    CrashBefore {
        id: 11,
        name: "crash_before",
        help: "the worker dies on this call before the effect",
        told: "{who} dies on {calls}, before the effect",
        classes: CRASHING,
        crash: true,
    }
    CrashAfter {
        id: 12,
        name: "crash_after",
        help: "the worker dies on this call after the effect, before the reply",
        told: "{who} dies on {calls}, after the effect",
        classes: CRASHING,
        crash: true,
    }
    Crash {
        id: 13,
        name: "crash",
        help: "a host dies after a poll (on = \"relay\"), or at a time (at = \"3s\"); code = 1: an object, \
               and the writes of its turn are lost",
        told: "{on} dies{down}",
        crash: true,
        on_host: true,
        code: Codes::In(1..=1),
    }
    Blackout {
        id: 17,
        name: "blackout",
        help: "every host dies at once, after the effect of this call and before its reply",
        told: "every host dies on {calls}, after the effect",
        classes: &[CallClass::Service, CallClass::Ai, CallClass::Create, CallClass::Read],
        explored: false,
        crash: true,
    }
}

impl Fault {
    /// The number of faults.
    pub const COUNT: usize = ALL.len();

    /// The entry of this fault in [`ALL`].
    pub fn kind(self) -> &'static FaultKind {
        &ALL[self as usize]
    }

    /// Whether a rule for it names a host, and not a call.
    pub fn on_host(self) -> bool {
        self.kind().on_host
    }

    /// Whether it ends a host.
    pub fn is_crash(self) -> bool {
        self.kind().crash
    }
}

impl Hash for Fault {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_isize(isize::from(self.kind().id));
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
    fn ids_are_the_numbers_from_zero_each_once() {
        let ids: Vec<usize> = ALL
            .iter()
            .map(|kind| kind.fault)
            .collect::<FaultSet>()
            .by_id()
            .iter()
            .map(|fault| fault.kind().id.into())
            .collect();
        assert_eq!(ids, Vec::from_iter(0..Fault::COUNT));
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
}
