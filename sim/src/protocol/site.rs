//! Where a choice is made. A site has a name, so a tape stays readable and survives small changes.

use std::fmt;
use std::sync::Arc;

use crate::protocol::op::CALLS;
use crate::values::call::Call;
use crate::values::hash::{StableHasher, mix};

/// What is being chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChoiceKind {
    /// Which of the ready tasks is polled next.
    Ready,
    /// Which of the pending deliveries to one target arrives next.
    Order,
    /// How long a request or a reply travels.
    Latency,
    /// What happens to a call at the doorway.
    Verdict,
    /// How strong the fault just drawn is: how long a delay, which error.
    Amount,
    /// Whether a host dies after a poll.
    Crash,
    /// Whether an idle object has lost its memory.
    Evict,
    /// How late a retry of an alarm is.
    Jitter,
    /// How long a dead host stays down.
    Restart,
    /// Which waiting message joins a batch.
    Pick,
    /// The mood of something outside the cloud.
    Mood,
    /// The application's own randomness.
    Random,
}

impl ChoiceKind {
    /// Every kind, in the order of their discriminants.
    pub const ALL: [ChoiceKind; 12] = [
        ChoiceKind::Ready,
        ChoiceKind::Order,
        ChoiceKind::Latency,
        ChoiceKind::Verdict,
        ChoiceKind::Amount,
        ChoiceKind::Crash,
        ChoiceKind::Evict,
        ChoiceKind::Jitter,
        ChoiceKind::Restart,
        ChoiceKind::Pick,
        ChoiceKind::Mood,
        ChoiceKind::Random,
    ];

    /// The word that stands for it in a tape.
    pub fn name(self) -> &'static str {
        match self {
            ChoiceKind::Ready => "ready",
            ChoiceKind::Order => "order",
            ChoiceKind::Latency => "latency",
            ChoiceKind::Verdict => "verdict",
            ChoiceKind::Amount => "amount",
            ChoiceKind::Crash => "crash",
            ChoiceKind::Evict => "evict",
            ChoiceKind::Jitter => "jitter",
            ChoiceKind::Restart => "restart",
            ChoiceKind::Pick => "pick",
            ChoiceKind::Mood => "mood",
            ChoiceKind::Random => "random",
        }
    }
}

/// The number of slots that a host has in the counter tables.
pub(crate) const OPS_MAX: usize = 64;

/// The calls by number, taken from the lists of the services. Two calls with one number do not
/// compile.
const OPS: [Option<Call>; OPS_MAX] = {
    let mut ops: [Option<Call>; OPS_MAX] = [None; OPS_MAX];
    let mut service = 0;
    while service < CALLS.len() {
        let mut at = 0;
        while at < CALLS[service].len() {
            let call = CALLS[service][at];
            let slot = &mut ops[call.id as usize];
            assert!(call.id > 0 && slot.is_none(), "every call has a number of its own");
            *slot = Some(call);
            at += 1;
        }
        service += 1;
    }
    ops
};

/// A kind of call, as one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpCode(u8);

impl OpCode {
    /// For sites that belong to no call.
    pub const NONE: OpCode = OpCode(0);

    /// Every kind of call.
    pub fn all() -> impl Iterator<Item = OpCode> {
        OPS.iter().flatten().map(OpCode::of)
    }

    pub(crate) const fn of(call: &Call) -> OpCode {
        OpCode(call.id)
    }

    /// The code of `name`, if there is such a call.
    pub fn find(name: &str) -> Option<OpCode> {
        OpCode::all().find(|code| code.name() == name)
    }

    /// The name, for instance `r2.put`.
    pub fn name(self) -> &'static str {
        OPS[self.index()].map_or("-", |call| call.name)
    }

    /// The codes that a `fail` of this call can have in a script.
    pub fn failures(self) -> &'static [u32] {
        OPS[self.index()].map_or(&[], |call| call.codes)
    }

    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A place where choices are made: what is chosen, at which host, for which call.
///
/// ```
/// use thunderhead_sim::Site;
///
/// let site: Site = "verdict relay>r2.put".parse().unwrap();
/// assert_eq!(site.to_string(), "verdict relay>r2.put");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site {
    /// What is chosen.
    pub kind: ChoiceKind,
    /// The host that makes the call, or that is being scheduled.
    pub host: Arc<str>,
    /// The call, or [`OpCode::NONE`].
    pub op: OpCode,
}

impl Site {
    /// The key under which a tape finds this site.
    pub(crate) fn key(&self) -> u64 {
        key(self.kind, StableHasher::of(&*self.host), self.op)
    }
}

/// A site's key from its parts. Hosts hash their name once, so no string is built during a run.
pub(crate) fn key(kind: ChoiceKind, host_hash: u64, op: OpCode) -> u64 {
    mix(host_hash ^ mix(((kind as u64) << 8 | u64::from(op.0)) + 1))
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.name(), self.host)?;
        if self.op != OpCode::NONE {
            write!(f, ">{}", self.op.name())?;
        }
        Ok(())
    }
}

impl std::str::FromStr for Site {
    type Err = String;

    fn from_str(text: &str) -> Result<Site, String> {
        let (kind, rest) = text.split_once(' ').ok_or_else(|| {
            format!("`{text}` is not a site: expected `KIND HOST` or `KIND HOST>CALL`")
        })?;
        let kind =
            ChoiceKind::ALL.into_iter().find(|known| known.name() == kind).ok_or_else(|| {
                let known = ChoiceKind::ALL.map(ChoiceKind::name).join(", ");
                format!("`{kind}` is not a kind of choice: expected one of {known}")
            })?;
        let (host, op) = match rest.rsplit_once('>') {
            None => (rest, OpCode::NONE),
            Some((host, op)) => (
                host,
                OpCode::find(op).ok_or_else(|| {
                    let known: Vec<_> = OpCode::all().map(OpCode::name).collect();
                    format!("`{op}` is not a call: expected one of {}", known.join(", "))
                })?,
            ),
        };
        Ok(Site { kind, host: host.into(), op })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_numbers_are_pinned_because_seeds_depend_on_them() {
        let numbers = ["-", "ai.run", "d1.run", "fetch", "queue.send", "r2.notify", "r2.put"];
        let numbers = numbers.map(|name| OpCode::find(name).unwrap_or(OpCode::NONE).0);
        assert_eq!(numbers, [0, 1, 8, 9, 17, 28, 29]);
        assert_eq!(OpCode::find("workflow.waitForEvent"), Some(OpCode(48)));
    }

    #[test]
    fn every_call_has_a_name_of_its_own() {
        let names: crate::values::sorted_set::SortedSet<_> =
            OpCode::all().map(OpCode::name).collect();
        assert_eq!(names.len(), OpCode::all().count());
    }

    #[test]
    fn sites_that_differ_in_any_part_have_different_keys() {
        let mut keys = crate::values::sorted_set::SortedSet::new();
        for kind in ChoiceKind::ALL {
            for host in ["a", "b"] {
                for op in [OpCode::NONE, OpCode(1), OpCode(2)] {
                    assert!(keys.insert(Site { kind, host: host.into(), op }.key()));
                }
            }
        }
    }

    #[test]
    fn a_site_that_does_not_exist_is_refused_with_what_does() {
        let error = |text: &str| text.parse::<Site>().unwrap_err();
        assert!(error("verdict").contains("KIND HOST"));
        assert!(error("colour relay").contains("expected one of ready"));
        assert!(error("verdict relay>r2.paint").contains("r2.put"));
    }
}
